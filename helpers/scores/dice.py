"""DICE: a sparse head."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import (
    BlockwiseScore,
    mean_features,
    recorded,
    rowwise_product,
    valid_percentile,
)
from helpers.scores.energy import log_sum_exp


@recorded("dice")
class DICE(BlockwiseScore):
    """Energy of the logits of a sparse head.

    A weight stays if its contribution, itself times the mean of its feature over the training
    images, is above a percentile of all contributions. Source: Sun and Li 2022, with the
    percentiles of their scripts: 90 on CIFAR, 70 on ImageNet.

    Parameters
    ----------
    percentile : float
        In [0, 100): about this share of the weights becomes 0.
    """

    def __init__(self, percentile: float = 90.0):
        self.percentile = valid_percentile(percentile)

    def _learn(self, train_outputs, head):
        contributions = head.weight * mean_features(train_outputs)
        stays = contributions > np.percentile(contributions, self.percentile)
        self.weight = np.where(stays, head.weight, 0).T
        self.bias = head.bias

    def _scores(self, block):
        return log_sum_exp(rowwise_product(block.features, self.weight) + self.bias)
