"""Activation scaling, SCALE."""

from __future__ import annotations

from helpers.scores.ash import shaping
from helpers.scores.base import BlockwiseScore, recorded, valid_percentile
from helpers.scores.energy import log_sum_exp


@recorded("scale")
class Scale(BlockwiseScore):
    """Energy of the logits for features enlarged by ASH's factor, without removing any.

    Source: Xu et al. 2024, without their training.  Their code uses the 85th percentile first for
    ImageNet, and chooses another one on validation images.  For negative features see
    `helpers.scores.ash.shaping`.

    Parameters
    ----------
    percentile : float
        Share of each image's features that are not among the largest, in [0, 100).
    """

    def __init__(self, percentile: float = 85.0):
        self.percentile = valid_percentile(percentile)

    def _learn(self, train_outputs, head):
        self.bias = head.bias

    def _scores(self, block):
        _, factor = shaping(block.features, self.percentile)
        return log_sum_exp(factor[:, None] * (block.logits - self.bias) + self.bias)
