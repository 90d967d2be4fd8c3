"""Generalised entropy (GEN)."""

from __future__ import annotations

import numpy as np

from helpers.checks import whole_number
from helpers.scores.base import BlockwiseScore, register
from helpers.scores.info import Info


@register
class GeneralisedEntropy(BlockwiseScore):
    r"""Minus a generalised entropy of the largest probabilities; of an ensemble, of its means.

    At most 0.  The smaller :math:`\gamma`, the more the small probabilities count.

    Parameters
    ----------
    gamma : float
        Above 0.
    top : int
        How many of the largest probabilities are summed over; all, where there are fewer.

    Notes
    -----
    Liu et al. 2023, with the defaults of their code, which is for ImageNet.  Of the largest
    probability the complement is taken as the sum of the others, since :math:`1 - p` loses its
    digits as p nears 1.
    """

    info = Info(
        name="gen",
        title="Generalised entropy (GEN)",
        paper="GEN: Pushing the Limits of Softmax-Based Out-of-Distribution Detection",
        authors="Xixi Liu, Yaroslava Lochman, Christopher Zach",
        year=2023,
        key="liu2023",
        equation=r"s = -\sum_{m=1}^{M} p_{(m)}^{\gamma} (1 - p_{(m)})^{\gamma}, \quad"
        r" p_{(1)} \ge p_{(2)} \ge \dots",
        needs=("logits",),
        summary="How little the probability is spread, with weight on the small probabilities.",
        sign="The generalised entropy is negated, as in the paper: high for known images.",
        hyper_parameters={
            "gamma": "exponent of the probabilities and their complements",
            "top": "number of largest probabilities that are summed over, M",
        },
        published={"ImageNet": {"gamma": 0.1, "top": 100}},
    )

    def __init__(self, gamma: float = 0.1, top: int = 100):
        if not gamma > 0:
            raise ValueError(f"gamma: a positive number expected, got {gamma}")
        self.gamma, self.top = gamma, whole_number("top", top)

    def _scores(self, part):
        ordered = np.sort(part.probabilities, axis=1)
        complements = 1 - ordered
        complements[:, -1] = ordered[:, :-1].sum(axis=1)
        return -((ordered * complements)[:, -self.top :] ** self.gamma).sum(axis=1)
