"""Maximum softmax probability."""

from __future__ import annotations

import numpy as np

from helpers.info import Info
from helpers.scores.base import register


@register
class MaximumSoftmaxProbability:
    """The largest class probability; of an ensemble, of its mean probabilities.

    A confidence: it lies in [1/K, 1].  Nothing is fitted.

    Notes
    -----
    Hendrycks and Gimpel 2017.
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
        sign="High for known images, as in the paper.",
    )

    def fit(self, train_outputs, head) -> MaximumSoftmaxProbability:
        """Do nothing, and return itself."""
        return self

    def score_samples(self, outputs) -> np.ndarray:
        """Return the largest probability of each image, float64 [N]."""
        return np.asarray(outputs.probabilities, dtype=np.float64).max(axis=1)
