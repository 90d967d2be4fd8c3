"""The largest logit."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, recorded


@recorded("max_logit")
class MaximumLogit(BlockwiseScore):
    """Largest logit.

    Unlike the largest probability, it separates an image of several classes from one of no class.

    Hendrycks et al. 2022, section 3.  For an ensemble, it ranks images as the largest probability.
    """

    def _scores(self, block):
        return block.logits.max(axis=1).astype(np.float64)
