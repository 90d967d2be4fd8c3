"""The relative Mahalanobis distance, RMDS, and RMDS++ on the unit sphere."""

from __future__ import annotations

from helpers.scores.base import BlockwiseScore, recorded, unit_rows
from helpers.scores.moments import Gaussians, class_gaussians, moments


@recorded("rmds")
class RelativeMahalanobis(BlockwiseScore):
    """Squared Mahalanobis distance to all training images, minus that to the nearest class.

    One Gaussian per class with a shared covariance, and one for all training images.  Directions
    that separate no classes count little, since both distances contain them.
    """

    #: Whether each image's features are divided by their norm first.
    normalised = False

    def _learn(self, train_outputs, head):
        self.classes = class_gaussians(train_outputs, normalised=self.normalised)
        fitted = moments(train_outputs, normalised=self.normalised)
        covariance = fitted.about(fitted.mean) / len(train_outputs)
        self.background = Gaussians(fitted.mean[None], covariance)

    def _scores(self, block):
        rows = unit_rows(block.features) if self.normalised else block.features
        nearest = self.classes.squared_distances(rows).min(axis=1)
        return self.background.squared_distances(rows)[:, 0] - nearest


@recorded("rmds_pp")
class RelativeMahalanobisPlusPlus(RelativeMahalanobis):
    """Relative Mahalanobis distance on the unit sphere.

    Müller and Hein 2025; see `MahalanobisPlusPlus` for the precision and features that are all 0.
    """

    normalised = True
