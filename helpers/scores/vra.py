"""Variational rectified activation, VRA."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, recorded, rowwise_product
from helpers.scores.energy import log_sum_exp


@recorded("vra")
class VariationalRectifiedActivation(BlockwiseScore):
    """Energy of the logits for features without the small ones, clipped from above.

    A feature below its lower threshold becomes 0, above its upper threshold it becomes that
    threshold. Both are percentiles of this feature over the training images. Source: Xu et al.
    2023, their variant VRA-P.  Their code has percentiles of each feature on CIFAR, as here,
    interpolated between two images, and two numbers for all features of an architecture on
    ImageNet. For CIFAR-100 they chose them for ODIN's score.  OpenOOD has one pair of percentiles
    for all features, and raises small features to the lower threshold.

    Parameters
    ----------
    low, high : float
        Percentiles: 0 ≤ low < high ≤ 100.
    """

    def __init__(self, low: float = 60.0, high: float = 95.0):
        if not 0 <= low < high <= 100:
            raise ValueError(f"low, high: 0 ≤ low < high ≤ 100 expected, got {low} and {high}")
        self.low = low
        self.high = high

    def _learn(self, train_outputs, head):
        both = [self.low, self.high]
        self.thresholds = np.percentile(train_outputs.features, both, 0, method="inverted_cdf")
        self.head = head

    def _scores(self, block):
        low, high = self.thresholds
        rectified = np.where(block.features < low, 0, np.minimum(block.features, high))
        return log_sum_exp(rowwise_product(rectified, self.head.weight.T) + self.head.bias)
