"""Mahalanobis++: the Mahalanobis distance of normalised features."""

from __future__ import annotations

from helpers.scores.base import register
from helpers.scores.info import MUELLER, Info
from helpers.scores.mahalanobis import Mahalanobis


@register
class MahalanobisPlusPlus(Mahalanobis):
    """Minus the squared Mahalanobis distance to the nearest class, on the unit sphere.

    Each image's features are divided by their Euclidean norm, for the fit too, so that only their
    direction counts; all else is the Mahalanobis distance.

    Notes
    -----
    Müller and Hein 2025.  Their code takes means and covariance in double precision, as here, for
    ImageNet, and in single precision for CIFAR (inside OpenOOD, "MDS++" on its leaderboard).  An
    image whose features are all 0 stays at 0, where their code divides by 0.
    """

    info = Info(
        name="mahalanobis_pp",
        title="Mahalanobis++",
        **MUELLER,
        equation=r"s = -\min_k\, (\hat h - \hat\mu_k)^\top \hat\Sigma^{-1} (\hat h - \hat\mu_k),"
        r" \quad \hat h = h / \lVert h \rVert_2, \quad \hat\Sigma = \frac1N \sum_i"
        r" (\hat h_i - \hat\mu_{y_i}) (\hat h_i - \hat\mu_{y_i})^\top",
        needs=("features", "labels", "training outputs"),
        summary="How near the direction of the features is to those of the nearest class, in units "
        "of the spread within classes; features of images of one class differ in length more than "
        "one Gaussian can say.",
        sign="The distance is negated: high for known images.",
    )

    normalised = True
