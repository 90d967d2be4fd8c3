"""The Mahalanobis distance, and Mahalanobis++ on the unit sphere."""

from __future__ import annotations

from helpers.scores.base import BlockwiseScore, recorded, unit_rows
from helpers.scores.moments import class_gaussians


@recorded("mahalanobis")
class Mahalanobis(BlockwiseScore):
    """Minus the squared Mahalanobis distance of the features to the nearest class mean.

    One Gaussian per class with a shared covariance, fitted to training features and labels.  If the
    covariance is singular, directions without variance are left out, as by the pseudo-inverse.

    Lee et al. 2018, equations 1 and 2: last features only, without a step of the image or a
    combination of layers.  OpenOOD inverts in single precision, which loses the directions of less
    than 1.6 % of the largest spread at 2,048 features.
    """

    #: Whether each image's features are divided by their norm first.
    normalised = False

    def _learn(self, train_outputs, head):
        self.gaussians = class_gaussians(train_outputs, normalised=self.normalised)

    def _scores(self, block):
        rows = unit_rows(block.features) if self.normalised else block.features
        return -self.gaussians.squared_distances(rows).min(axis=1)


@recorded("mahalanobis_pp")
class MahalanobisPlusPlus(Mahalanobis):
    """Minus the squared Mahalanobis distance to the nearest class, on the unit sphere.

    Features are divided by their Euclidean norm, also for the fit.

    Müller and Hein 2025.  Their code uses double precision for ImageNet, as here, and single
    precision for CIFAR ("MDS++" in OpenOOD).  Features that are all 0 stay 0; their code divides by
    0.
    """

    normalised = True
