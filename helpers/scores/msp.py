"""Maximum softmax probability."""

from __future__ import annotations

from helpers.scores.base import BlockwiseScore, register
from helpers.scores.info import Info


@register
class MaximumSoftmaxProbability(BlockwiseScore):
    """The largest class probability; of an ensemble, of its mean probabilities.

    A confidence: it lies in [1/K, 1].
    """

    info = Info(
        name="msp",
        title="Maximum softmax probability (MSP)",
        paper="A Baseline for Detecting Misclassified and Out-of-Distribution Examples in Neural "
        "Networks",
        authors="Dan Hendrycks, Kevin Gimpel",
        year=2017,
        key="hendrycks2017",
        equation=r"s = \max_k p_k, \quad p = \operatorname{softmax}(z)",
        needs=("logits",),
        summary="The probability of the predicted class.",
    )

    def _scores(self, part):
        return part.probabilities.max(axis=1)
