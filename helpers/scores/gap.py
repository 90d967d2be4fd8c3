"""Gap between the two largest probabilities."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, register
from helpers.scores.info import BELGHAZI, Info


@register
class Gap(BlockwiseScore):
    """The largest probability minus the second largest; of an ensemble, of its means.

    A confidence: it lies in [0, 1].
    """

    info = Info(
        name="gap",
        title="Gap",
        **BELGHAZI,
        equation=r"s = p_{(1)} - p_{(2)}, \quad p_{(1)} \ge p_{(2)} \ge \dots",
        needs=("logits",),
        summary="How far the predicted class is ahead of the next one.",
        sign="The paper's measure is its negative; high for known images.",
    )

    def _scores(self, part):
        if part.num_classes < 2:
            raise ValueError("outputs: at least 2 classes expected, got 1")
        largest = np.partition(part.probabilities, -2, axis=1)
        return largest[:, -1] - largest[:, -2]
