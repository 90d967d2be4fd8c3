"""The largest logit."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import RowwiseScore, recorded
from helpers.scores.calibration import row_maximum


@recorded("max_logit")
class MaximumLogit(RowwiseScore):
    """Largest logit.

    Unlike the largest probability, it separates an image of several classes from one of no class.

    Hendrycks et al. 2022, section 3.  For an ensemble, it ranks images as the largest probability.
    """

    def _scores(self, block):
        return row_maximum(block.logits).astype(np.float64)
