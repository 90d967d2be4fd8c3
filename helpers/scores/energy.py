"""The energy of the logits."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import RowwiseScore, recorded
from helpers.scores.calibration import row_maximum


def log_sum_exp(logits: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exponentials of each row, float64 [N].

    >>> log_sum_exp(np.log([[1.0, 2.0, 5.0]])).round(6)  # log(8)
    array([2.079442])
    """
    largest = row_maximum(logits)
    shifted = np.subtract(logits, largest[:, None], dtype=np.float64)
    # In place: for arrays of this size the allocation of memory takes longer than the exponentials.
    np.exp(shifted, out=shifted)
    return largest + np.log(shifted.sum(axis=1))


@recorded("energy")
class Energy(RowwiseScore):
    """Minus the energy: the log of the sum of the exponentials of the logits.

    Liu et al. 2020, equation 7 with T = 1, without fine-tuning.  It depends on the level of the
    logits, so it is 0 for all images of an ensemble.
    """

    def _scores(self, block):
        return log_sum_exp(block.logits)
