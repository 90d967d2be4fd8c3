"""Relative Mahalanobis distance."""

from __future__ import annotations

from helpers.scores.base import BlockwiseScore, register, unit_rows
from helpers.scores.info import Info
from helpers.scores.mahalanobis import Gaussians, class_gaussians
from helpers.scores.moments import moments


@register
class RelativeMahalanobis(BlockwiseScore):
    """The squared Mahalanobis distance to all training images, less that to the nearest class.

    One Gaussian a class with the same covariance for all, as in the Mahalanobis distance, and one
    Gaussian for all training images together.  Directions that matter for no class count little:
    both distances contain them.
    """

    info = Info(
        name="rmds",
        title="Relative Mahalanobis distance",
        paper="A Simple Fix to Mahalanobis Distance for Improving Near-OOD Detection",
        authors="Jie Ren, Stanislav Fort, Jeremiah Liu, Abhijit Guha Roy, Shreyas Padhy, "
        "Balaji Lakshminarayanan",
        year=2021,
        key="ren2021",
        equation=r"s = -\min_k \bigl( (h - \mu_k)^\top \Sigma^{-1} (h - \mu_k) - (h - \mu_0)^\top"
        r" \Sigma_0^{-1} (h - \mu_0) \bigr)",
        needs=("features", "labels", "training outputs"),
        summary="How much nearer the features are to one class than to the training images as a "
        "whole, in units of the spread of each.",
        sign="The difference is negated: high for known images.",
    )

    #: Whether each image's features are divided by their norm first.
    normalised = False

    def _learn(self, train_outputs, head):
        self.classes = class_gaussians(train_outputs, normalised=self.normalised)
        found = moments(train_outputs, normalised=self.normalised)
        covariance = found.about(found.mean) / len(train_outputs)
        self.background = Gaussians(found.mean[None], covariance)

    def _scores(self, part):
        rows = unit_rows(part.features) if self.normalised else part.features
        nearest = self.classes.squared_distances(rows).min(axis=1)
        return self.background.squared_distances(rows)[:, 0] - nearest
