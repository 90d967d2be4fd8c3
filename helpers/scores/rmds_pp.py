"""RMDS++: the relative Mahalanobis distance of normalised features."""

from __future__ import annotations

from helpers.scores.base import register
from helpers.scores.info import MUELLER, Info
from helpers.scores.rmds import RelativeMahalanobis


@register
class RelativeMahalanobisPlusPlus(RelativeMahalanobis):
    """The relative Mahalanobis distance on the unit sphere.

    Each image's features are divided by their Euclidean norm, for both Gaussians too; all else is
    the relative Mahalanobis distance.

    Notes
    -----
    Müller and Hein 2025, whose code has it beside Mahalanobis++; see there for the precision and
    for images whose features are all 0.
    """

    info = Info(
        name="rmds_pp",
        title="Relative Mahalanobis distance of normalised features (RMDS++)",
        **MUELLER,
        equation=r"s = -\min_k \bigl( (\hat h - \hat\mu_k)^\top \hat\Sigma^{-1} (\hat h -"
        r" \hat\mu_k) - (\hat h - \hat\mu_0)^\top \hat\Sigma_0^{-1} (\hat h - \hat\mu_0) \bigr),"
        r" \quad \hat h = h / \lVert h \rVert_2",
        needs=("features", "labels", "training outputs"),
        summary="How much nearer the direction of the features is to one class than to the "
        "training images as a whole, in units of the spread of each.",
        sign="The difference is negated: high for known images.",
    )

    normalised = True
