"""A Gaussian mixture with one Gaussian per class, GMM."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from helpers.checks import positive_number
from helpers.scores.base import BlockwiseScore, check_classes, recorded, rowwise_product


@recorded("gmm")
class GaussianMixture(BlockwiseScore):
    """Log density of the features under a mixture with one Gaussian per class.

    Each class has a separate mean and covariance, and its share of the images as weight.  They are
    computed from the outputs given to `fit`, which are held-out images in the paper. One of the
    measures in Belghazi and Lopez-Paz 2021, with the ridge of their code, which omits the minus
    sign; it divides a covariance by n - 1, and this class by n.  A class of n images varies in at
    most min(n, D) directions.  Only these are stored, so it needs as much memory as the features in
    double precision.

    Parameters
    ----------
    ridge : float
        Positive; added to all variances, since a small class would otherwise lack a density.
    """

    def __init__(self, ridge: float = 0.1):
        self.ridge = positive_number("ridge", ridge)

    def _learn(self, train_outputs, head):
        counts = np.bincount(train_outputs.labels, minlength=train_outputs.num_classes)
        check_classes(counts)
        width = train_outputs.features.shape[1]
        ranks = np.minimum(counts, width)
        self.starts = np.cumsum(ranks) - ranks
        self.means = np.empty((len(counts), width))
        self.constants = np.log(counts / counts.sum())
        # filled in place: otherwise the largest array of all would be in memory twice
        axes = np.empty((ranks.sum(), width))
        self.centres = np.empty(ranks.sum())
        order = np.argsort(train_outputs.labels, kind="stable")
        for label, members in enumerate(np.split(order, np.cumsum(counts)[:-1])):
            features = train_outputs.features[members].astype(np.float64)
            self.means[label] = features.mean(axis=0)
            features -= self.means[label]
            rows = slice(self.starts[label], self.starts[label] + ranks[label])
            axes[rows], variances = self._axes(features)
            self.centres[rows] = axes[rows] @ self.means[label]
            volume = np.log(variances).sum() + (width - ranks[label]) * np.log(self.ridge)
            self.constants[label] -= (volume + width * np.log(2 * np.pi)) / 2
        self.axes = axes.T

    def _axes(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the axes of a class's Gaussian and its variances along them.

        The squared distance is that in units of the ridge, minus the squares along these axes.
        """
        count, width = features.shape
        if count < width:  # the smaller of two matrices with the same eigenvalues
            values, vectors = np.linalg.eigh(features @ features.T)
            axes = vectors.T @ features
        else:
            values, vectors = np.linalg.eigh(features.T @ features)
            axes = (vectors * np.sqrt(np.maximum(values, 0))).T
        variances = np.maximum(values, 0) / count + self.ridge
        return axes / np.sqrt(count * variances)[:, None], variances

    def _scores(self, block):
        features = block.features.astype(np.float64)
        squares = (features**2).sum(axis=1, keepdims=True) + (self.means**2).sum(axis=1)
        squares -= 2 * rowwise_product(features, self.means.T)
        along = rowwise_product(features, self.axes)
        along -= self.centres  # in place: there are as many axes as images were fitted to
        along *= along
        squares -= np.add.reduceat(along, self.starts, axis=1)
        distances = np.maximum(squares, 0) / self.ridge
        return logsumexp(self.constants - distances / 2, axis=1)
