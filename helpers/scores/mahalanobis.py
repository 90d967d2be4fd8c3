"""Mahalanobis distance of the features to the nearest class."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from helpers.info import Info
from helpers.scores.base import register, rowwise_product


@register
class Mahalanobis:
    """Minus the squared Mahalanobis distance of the features to the nearest class mean.

    One Gaussian a class with the same covariance for all, fitted to the training features and
    labels.  Where the covariance is singular, as with fewer images than dimensions, directions
    without variance are left out: the distance is then that of the pseudo-inverse.

    Notes
    -----
    Lee et al. 2018, equations 1 and 2: the score of the last features alone, without their step of
    the image and their combination over layers.
    """

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

    def fit(self, train_outputs, head) -> Mahalanobis:
        """Fit class means and the common covariance, and return itself.

        Raises
        ------
        ValueError
            A training image has no label, or the features do not vary within any class.
        """
        features = train_outputs.features.astype(np.float64)
        labels = train_outputs.labels
        if labels.min() < 0:
            raise ValueError("train_outputs: a label for each image expected, got −1")
        classes, labels = np.unique(labels, return_inverse=True)
        sums = np.zeros((len(classes), features.shape[1]))
        np.add.at(sums, labels, features)
        means = sums / np.bincount(labels)[:, None]
        within = features - means[labels]
        values, vectors = scipy.linalg.eigh(within.T @ within / len(within))
        kept = values > values.max() * len(values) * np.finfo(np.float32).eps
        if not kept.any():
            raise ValueError("train_outputs: features that vary within a class expected")
        # with this, distances are Euclidean: one product serves all classes
        self.whitening = vectors[:, kept] / np.sqrt(values[kept])
        self.means = means @ self.whitening
        return self

    def score_samples(self, outputs) -> np.ndarray:
        """Return minus the smallest squared distance of each image, float64 [N]."""
        points = rowwise_product(outputs.features.astype(np.float64), self.whitening)
        products = rowwise_product(points, self.means.T)
        squares = (points**2).sum(axis=1, keepdims=True) + (self.means**2).sum(axis=1)
        return -np.maximum(squares - 2 * products, 0).min(axis=1)
