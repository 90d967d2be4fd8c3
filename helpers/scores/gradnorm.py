"""GradNorm: the size of the gradient of the last layer towards a uniform answer."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, register
from helpers.scores.info import Info


@register
class GradNorm(BlockwiseScore):
    r"""The L1 norm of the gradient of the last layer's weight, of the cross-entropy to uniform.

    The gradient is the outer product of :math:`p - 1/K` and the features, so its norm is the
    product of theirs: nothing has to be differentiated.

    Notes
    -----
    Huang et al. 2021, with their temperature 1.  Their code sums over targets of 1 where the
    paper has 1/K, which multiplies each score by K and leaves the ranking as it is.
    """

    info = Info(
        name="gradnorm",
        title="GradNorm",
        paper="On the Importance of Gradients for Detecting Distributional Shifts in the Wild",
        authors="Rui Huang, Andrew Geng, Yixuan Li",
        year=2021,
        key="huang2021",
        equation=r"s = \Bigl\lVert \frac{\partial}{\partial W} \frac1K \sum_k -\log p_k"
        r" \Bigr\rVert_1 = \lVert h \rVert_1 \sum_k \Bigl| p_k - \frac1K \Bigr|",
        needs=("logits", "features"),
        summary="How hard the last layer would have to be pulled towards an answer that leaves "
        "all classes equally probable.",
    )

    def _scores(self, part):
        norms = np.abs(part.features).sum(axis=1, dtype=np.float64)
        gaps = part.probabilities - 1 / part.num_classes
        return norms * np.abs(gaps, out=gaps).sum(axis=1)
