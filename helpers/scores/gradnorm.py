"""GradNorm: the norm of the gradient of the last layer."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, recorded


@recorded("gradnorm")
class GradNorm(BlockwiseScore):
    """L1 norm of the gradient of the last layer's weight, of the cross-entropy to uniform.

    The gradient is the outer product of :math:`p - 1/K` and the features, so its norm is the
    product of their norms.

    Huang et al. 2021, at temperature 1.  Their code uses targets of 1 instead of 1/K, which
    multiplies each score by K: the same ranking.
    """

    def _scores(self, block):
        norms = np.abs(block.features).sum(axis=1, dtype=np.float64)
        gaps = block.probabilities - 1 / block.num_classes
        return norms * np.abs(gaps, out=gaps).sum(axis=1)
