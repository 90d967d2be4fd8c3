"""Mahalanobis distance of the features to the nearest class."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import (
    BlockwiseScore,
    check_classes,
    register,
    rowwise_product,
    unit_rows,
)
from helpers.scores.info import Info
from helpers.scores.moments import moments


class Gaussians:
    """Gaussians with a covariance in common.

    Parameters
    ----------
    means : ndarray of float64, shape [M, D]
    covariance : ndarray of float64, shape [D, D]
        Not 0.  Directions without variance are left out, as by a pseudo-inverse: those of
        eigenvalues that are rounding errors, at most D eps of the largest one (SciPy's ``pinvh``
        has the same rule).  In double precision that is a spread of less than a millionth of the
        largest, which features in single precision do not resolve either.
    """

    def __init__(self, means: np.ndarray, covariance: np.ndarray):
        values, vectors = np.linalg.eigh(covariance)
        kept = values > values.max() * len(values) * np.finfo(values.dtype).eps
        # with this, distances are Euclidean: one product serves all means
        self.whitening = vectors[:, kept] / np.sqrt(values[kept])
        self.means = means @ self.whitening

    def squared_distances(self, features: np.ndarray) -> np.ndarray:
        """Return the squared Mahalanobis distance of each row to each mean, float64 [N, M]."""
        # From the first mean on: along directions of little variance all points may lie so far
        # from 0 that their squares would leave no digits for the distances.
        points = rowwise_product(features, self.whitening) - self.means[0]
        means = self.means - self.means[0]
        squares = (points**2).sum(axis=1, keepdims=True) + (means**2).sum(axis=1)
        return np.maximum(squares - 2 * rowwise_product(points, means.T), 0)


def class_gaussians(train_outputs, *, normalised: bool = False) -> Gaussians:
    """Return a Gaussian for each class with the covariance of the features within classes.

    Kept with the outputs once it is fitted, as `helpers.scores.moments.moments` are, which say
    what `normalised` means.

    Raises
    ------
    ValueError
        The features do not vary within any class, or a class has no images.
    """
    kept, name = train_outputs.derived, "gaussians, normalised" if normalised else "gaussians"
    if name not in kept:
        found = moments(train_outputs, normalised=normalised)
        if not found.within.any():
            raise ValueError("train_outputs: features that vary within a class expected")
        check_classes(found.counts[:-1])
        kept[name] = Gaussians(found.means[:-1], found.within / len(train_outputs))
    return kept[name]


@register
class Mahalanobis(BlockwiseScore):
    """Minus the squared Mahalanobis distance of the features to the nearest class mean.

    One Gaussian a class with the same covariance for all, fitted to the training features and
    labels.  Where the covariance is singular, as with fewer images than dimensions, directions
    without variance are left out: the distance is then that of the pseudo-inverse.

    Notes
    -----
    Lee et al. 2018, equations 1 and 2: the score of the last features alone, without their step of
    the image and their combination over layers.  OpenOOD inverts the covariance in single
    precision, which loses the directions of less than 1.6 % of the largest spread at 2,048
    features.
    """

    #: Whether each image's features are divided by their norm first.
    normalised = False

    info = Info(
        name="mahalanobis",
        title="Mahalanobis distance",
        paper="A Simple Unified Framework for Detecting Out-of-Distribution Samples and "
        "Adversarial Attacks",
        authors="Kimin Lee, Kibok Lee, Honglak Lee, Jinwoo Shin",
        year=2018,
        key="lee2018",
        equation=r"s = -\min_k\, (h - \mu_k)^\top \Sigma^{-1} (h - \mu_k), \quad \Sigma = "
        r"\frac1N \sum_i (h_i - \mu_{y_i}) (h_i - \mu_{y_i})^\top",
        needs=("features", "labels", "training outputs"),
        summary="How near the features are to those of the nearest class, in units of the spread "
        "within classes.",
        sign="The distance is negated: high for known images.",
    )

    def _learn(self, train_outputs, head):
        self.gaussians = class_gaussians(train_outputs, normalised=self.normalised)

    def _scores(self, part):
        rows = unit_rows(part.features) if self.normalised else part.features
        return -self.gaussians.squared_distances(rows).min(axis=1)
