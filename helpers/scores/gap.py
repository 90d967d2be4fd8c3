"""The gap between the two largest probabilities."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import RowwiseScore, recorded


@recorded("gap")
class Gap(RowwiseScore):
    """Largest minus second largest probability, of the mean over members; in [0, 1]."""

    def _scores(self, block):
        if block.num_classes < 2:
            raise ValueError("outputs: at least 2 classes expected, got 1")
        largest = np.partition(block.probabilities, -2, axis=1)
        return largest[:, -1] - largest[:, -2]
