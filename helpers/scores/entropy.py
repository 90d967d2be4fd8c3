"""The entropy of the probabilities."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import RowwiseScore, recorded


def negative_entropy(probabilities: np.ndarray) -> np.ndarray:
    r"""Return the sum of :math:`p_k \log p_k` of each row, float64 [N]; p = 0 contributes 0.

    >>> negative_entropy(np.array([[0.0, 1.0], [0.5, 0.5]])).round(6)  # 0 and -log(2)
    array([ 0.      , -0.693147])
    """
    logs = np.maximum(probabilities, np.finfo(np.float64).tiny)
    np.log(logs, out=logs)
    logs *= probabilities
    return logs.sum(axis=1)


@recorded("entropy")
class Entropy(RowwiseScore):
    """Minus the entropy of the probabilities, of the mean over members; in [−log K, 0]."""

    def _scores(self, block):
        return negative_entropy(block.probabilities)
