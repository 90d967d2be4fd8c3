"""OpenMax as a score: how little probability it leaves to "unknown"."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import in_blocks, register
from helpers.scores.openset import OpenMax


@register
class OpenMaxScore:
    """One minus OpenMax's probability of "unknown"; see `helpers.scores.openset.OpenMax`.

    A confidence: it lies in [0, 1].

    Parameters
    ----------
    tail, alpha, distance
        As in `helpers.scores.openset.OpenMax`.
    """

    info = OpenMax.info

    def __init__(self, tail: int = 20, alpha: int | None = None, distance: str = "euclidean"):
        self.openmax = OpenMax(tail, alpha, distance)

    def fit(self, train_outputs, head) -> OpenMaxScore:
        """Fit on the correctly classified training images, and return itself."""
        self.openmax.fit(train_outputs.logits, train_outputs.labels)
        return self

    def score_samples(self, outputs) -> np.ndarray:
        """Return 1 − P(unknown) of each image, float64 [N]."""
        return in_blocks(outputs, lambda part: 1.0 - self.openmax.probabilities(part.logits)[:, -1])
