"""The maximum softmax probability, MSP."""

from __future__ import annotations

from helpers.scores.base import BlockwiseScore, recorded


@recorded("msp")
class MaximumSoftmaxProbability(BlockwiseScore):
    """Largest class probability, of the mean over members; in [1/K, 1]."""

    def _scores(self, block):
        return block.probabilities.max(axis=1)
