"""Entropy of the class probabilities."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, register
from helpers.scores.info import BELGHAZI, Info


def negative_entropy(probabilities: np.ndarray) -> np.ndarray:
    r"""Return :math:`\sum_k p_k \log p_k` of each row of probabilities [N, K], float64 [N].

    A probability of 0 adds nothing.

    Examples
    --------
    >>> negative_entropy(np.array([[0.0, 1.0], [0.5, 0.5]])).round(6)  # 0 and -log(2)
    array([ 0.      , -0.693147])
    """
    logs = np.maximum(probabilities, np.finfo(np.float64).tiny)
    np.log(logs, out=logs)
    logs *= probabilities
    return logs.sum(axis=1)


@register
class Entropy(BlockwiseScore):
    """Minus the entropy of the class probabilities; of an ensemble, of its mean probabilities.

    From −log K, all classes equally probable, to 0.  A probability of 0 adds nothing.
    """

    info = Info(
        name="entropy",
        title="Entropy",
        **BELGHAZI,
        equation=r"s = \sum_k p_k \log p_k",
        needs=("logits",),
        summary="How little the probability is spread over the classes.",
        sign="The entropy is negated: high for known images.",
    )

    def _scores(self, part):
        return negative_entropy(part.probabilities)
