"""Entropy of the class probabilities."""

from __future__ import annotations

from scipy.special import entr

from helpers.info import Info
from helpers.scores.base import BlockwiseScore, register


@register
class Entropy(BlockwiseScore):
    """Minus the entropy of the class probabilities; of an ensemble, of its mean probabilities.

    From −log K, all classes equally probable, to 0.  A probability of 0 adds nothing.  Nothing is
    fitted.

    Notes
    -----
    One of the measures in Belghazi and Lopez-Paz 2021.
    """

    info = Info(
        name="entropy",
        title="Entropy",
        paper="What classifiers know what they don't?",
        authors="Mohamed Ishmael Belghazi, David Lopez-Paz",
        year=2021,
        key="belghazi2021",
        equation=r"s = \sum_k p_k \log p_k",
        needs=("logits",),
        summary="How little the probability is spread over the classes.",
        sign="The entropy is negated: high for known images.",
    )

    def _scores(self, part):
        return -entr(part.probabilities).sum(axis=1)
