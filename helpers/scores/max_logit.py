"""Maximum logit."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, register
from helpers.scores.info import HENDRYCKS, Info


@register
class MaximumLogit(BlockwiseScore):
    """The largest logit.

    Unlike the largest probability, it tells an image that fits several classes well from one
    that fits none.

    Notes
    -----
    Hendrycks et al. 2022, section 3.  Of an ensemble, whose logits are logarithms of
    probabilities, it ranks images as the largest probability does.
    """

    info = Info(
        name="max_logit",
        title="Maximum logit",
        **HENDRYCKS,
        equation=r"s = \max_k z_k",
        needs=("logits", "level of the logits"),
        summary="The largest logit, before the softmax relates it to the others.",
        sign="The paper's anomaly score is its negative; here high for known images.",
    )

    def _scores(self, part):
        return part.logits.max(axis=1).astype(np.float64)
