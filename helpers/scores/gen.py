"""The generalised entropy, GEN."""

from __future__ import annotations

import numpy as np

from helpers.checks import positive_number, whole_number
from helpers.scores.base import RowwiseScore, recorded


@recorded("gen")
class GeneralisedEntropy(RowwiseScore):
    r"""Minus a generalised entropy of the largest probabilities; at most 0.

    The smaller :math:`\gamma`, the more small probabilities count. Source: Liu et al. 2023, with
    the defaults of their code for ImageNet.  The complement of the largest probability is computed
    as the sum of all others, since :math:`1 - p` loses digits near p = 1.

    Parameters
    ----------
    gamma : float
        Positive.
    top : int
        Number of largest probabilities, at most K.
    """

    def __init__(self, gamma: float = 0.1, top: int = 100):
        self.gamma = positive_number("gamma", gamma)
        self.top = whole_number("top", top)

    def _scores(self, block):
        ordered = np.sort(block.probabilities, axis=1)
        complements = 1 - ordered
        complements[:, -1] = ordered[:, :-1].sum(axis=1)
        return -((ordered * complements)[:, -self.top :] ** self.gamma).sum(axis=1)
