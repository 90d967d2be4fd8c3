"""The maximum softmax probability, MSP."""

from __future__ import annotations

from helpers.scores.base import RowwiseScore, recorded
from helpers.scores.calibration import confidences


@recorded("msp")
class MaximumSoftmaxProbability(RowwiseScore):
    """Largest class probability, of the mean over members; in [1/K, 1]."""

    def _scores(self, block):
        if block.members is None:
            return confidences(block.logits)
        return block.probabilities.max(axis=1)
