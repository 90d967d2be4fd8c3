"""DICE: the energy of a head that kept its largest weights only."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, parts, register, rowwise_product, valid_percentile
from helpers.scores.energy import log_sum_exp
from helpers.scores.info import Info


@register
class DICE(BlockwiseScore):
    """The energy of the logits that a sparse head gives.

    A weight stays where its contribution, itself times the mean of its feature over the
    training images, is above a percentile of all contributions, those of all classes together.

    Parameters
    ----------
    percentile : float
        In [0, 100): about that share of the weights becomes 0.

    Notes
    -----
    Sun and Li 2022, with the percentiles of their scripts: 90 on CIFAR, 70 on ImageNet.
    """

    info = Info(
        name="dice",
        title="DICE",
        paper="DICE: Leveraging Sparsification for Out-of-Distribution Detection",
        authors="Yiyou Sun, Yixuan Li",
        year=2022,
        key="sunli2022",
        equation=r"s = \log \sum_k e^{z_k}, \quad z = (W \odot M) h + b, \quad"
        r" M_{kj} = \bigl[ W_{kj} \bar h_j > q \bigr]",
        needs=("features", "head", "training outputs"),
        summary="The energy once the head lost the weights that matter little for training "
        "images and carry noise for unknown ones.",
        hyper_parameters={"percentile": "of the contributions, below which weights are dropped"},
        published={
            "CIFAR-10": {"percentile": 90},
            "CIFAR-100": {"percentile": 90},
            "ImageNet": {"percentile": 70},
        },
    )

    def __init__(self, percentile: float = 90.0):
        self.percentile = valid_percentile(percentile)

    def _learn(self, train_outputs, head):
        sums = sum(part.features.sum(axis=0, dtype=np.float64) for part in parts(train_outputs))
        contributions = head.weight * (sums / len(train_outputs))
        kept = contributions > np.percentile(contributions, self.percentile)
        self.weight = np.where(kept, head.weight, 0).T
        self.bias = head.bias

    def _scores(self, part):
        return log_sum_exp(rowwise_product(part.features, self.weight) + self.bias)
