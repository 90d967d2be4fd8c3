"""ReAct: features are clipped from above."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, recorded, rowwise_product, valid_percentile
from helpers.scores.energy import log_sum_exp


@recorded("react")
class ReAct(BlockwiseScore):
    """Energy of the logits for features clipped from above.

    The threshold is a percentile of all features of all training images; negative features stay.
    Source: Sun et al. 2021, whose code computes it on test images.  They choose it for each network
    on Gaussian noise; 90 is their usual value, and on DenseNets 95 to 99 is much better.

    Parameters
    ----------
    percentile : float
        In [0, 100).
    """

    def __init__(self, percentile: float = 90.0):
        self.percentile = valid_percentile(percentile)

    def _learn(self, train_outputs, head):
        features = train_outputs.features
        self.threshold = np.percentile(features, self.percentile, method="inverted_cdf")
        self.head = head

    def _scores(self, block):
        clipped = np.minimum(block.features, self.threshold)
        return log_sum_exp(rowwise_product(clipped, self.head.weight.T) + self.head.bias)
