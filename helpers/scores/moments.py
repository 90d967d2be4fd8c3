"""Means and covariances of the training features, and Gaussians with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helpers.scores.base import blocks, check_classes, class_means, rowwise_product, unit_rows

if TYPE_CHECKING:
    from helpers.outputs import Outputs


@dataclass(frozen=True)
class Moments:
    """Means of the features by class, and their scatter within classes.

    `means` [K + 1, D] and `counts` [K + 1] are of each class and, last, of images without label;
    the mean of no images is 0.  `within` [D, D] sums squares and products about these means.
    """

    means: np.ndarray
    counts: np.ndarray
    within: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Mean of all features, float64 [D]."""
        return self.counts @ self.means / self.counts.sum()

    def about(self, point: np.ndarray) -> np.ndarray:
        """Return the sum of squares and products about a point, float64 [D, D]."""
        between = self.means - point
        return self.within + (self.counts[:, None] * between).T @ between


def moments(outputs: Outputs, *, normalised: bool = False) -> Moments:
    """Return the moments of the features, stored in the outputs after the first call.

    Two passes avoid cancellation and copies.  If `normalised`, features are divided by their norms.

    >>> from helpers.outputs import Outputs
    >>> features = np.array([[0.0], [2.0], [5.0]])
    >>> fitted = moments(Outputs(np.zeros((3, 1)), features, np.array([0, 0, -1])))
    >>> fitted.means.ravel(), fitted.within.item(), fitted.about(np.zeros(1)).item()
    (array([1., 5.]), 2.0, 29.0)
    """

    def rows(block):
        return unit_rows(block.features) if normalised else block.features

    name = "moments, normalised" if normalised else "moments"
    if name not in outputs.derived:
        classes = outputs.num_classes
        means, counts = class_means(
            outputs, lambda block: (rows(block), block.labels % (classes + 1)), classes + 1
        )
        width = means.shape[1]
        within = np.zeros((width, width))
        for block in blocks(outputs):
            centred = rows(block) - means[block.labels]
            within += centred.T @ centred
        outputs.derived[name] = Moments(means, counts, within)
    return outputs.derived[name]


class Gaussians:
    """Gaussians with a shared covariance, from means [M, D] and covariance [D, D].

    Directions without variance are left out, as by a pseudo-inverse.  Their eigenvalues are at most
    D eps of the largest one, the rule of SciPy's ``pinvh``, or within the rounding of float32
    features: the outputs of a LayerNorm fill a plane, up to such errors.

    Raises
    ------
    ValueError
        No direction has variance.

    Examples
    --------
    >>> features = np.float32(np.random.default_rng(0).normal(3, 1, (500, 4)))
    >>> features -= features.mean(axis=1, keepdims=True)  # as a LayerNorm does, up to rounding
    >>> Gaussians(features.mean(axis=0)[None], np.cov(features.T)).whitening.shape
    (4, 3)
    """

    def __init__(self, means: np.ndarray, covariance: np.ndarray):
        values, vectors = np.linalg.eigh(covariance)
        square = np.trace(covariance) + (means**2).sum(axis=1).mean()
        rounding = 16 * np.finfo(np.float32).eps ** 2 * square
        varying = values > rounding + values.max() * len(values) * np.finfo(values.dtype).eps
        if not varying.any():
            raise ValueError("train_outputs: features that vary within a class expected")
        # with this, distances are Euclidean: one product serves all means
        self.whitening = vectors[:, varying] / np.sqrt(values[varying])
        self.means = means @ self.whitening

    def squared_distances(self, features: np.ndarray) -> np.ndarray:
        """Return the squared Mahalanobis distances to the means, float64 [N, M]."""
        # Relative to the first mean: along directions of little variance all points may be so far
        # from 0 that their squares would not leave any digits for the distances.
        points = rowwise_product(features, self.whitening) - self.means[0]
        means = self.means - self.means[0]
        squares = (points**2).sum(axis=1, keepdims=True) + (means**2).sum(axis=1)
        return np.maximum(squares - 2 * rowwise_product(points, means.T), 0)


def class_gaussians(train_outputs, *, normalised: bool = False) -> Gaussians:
    """Return one Gaussian per class with the covariance within classes.

    Stored in the outputs after the first call; `normalised` as in `moments`.
    """
    derived = train_outputs.derived
    name = "gaussians, normalised" if normalised else "gaussians"
    if name not in derived:
        fitted = moments(train_outputs, normalised=normalised)
        gaussians = Gaussians(fitted.means[:-1], fitted.within / len(train_outputs))
        check_classes(fitted.counts[:-1])
        derived[name] = gaussians
    return derived[name]
