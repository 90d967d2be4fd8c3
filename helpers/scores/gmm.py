"""A mixture of Gaussians over the features, one a class."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from helpers.checks import number
from helpers.scores.base import BlockwiseScore, check_classes, register, rowwise_product
from helpers.scores.info import BELGHAZI, Info


@register
class GaussianMixture(BlockwiseScore):
    """The log density of the features under a mixture with a Gaussian for each class.

    Each class has its own mean and covariance, and the weight of its share of the images.  All
    three come from the outputs given to `fit`, in the paper those of held-out images.

    Parameters
    ----------
    ridge : float
        Above 0; added to all variances.  Without it a class of fewer images than features has no
        density.

    Notes
    -----
    One of the measures in Belghazi and Lopez-Paz 2021.  The ridge is that of their code, which
    leaves out the minus sign of their measure.

    Of a class of n images and D features, the covariance less the ridge has min(n, D) directions
    at most.  Only these are kept, and all others have the ridge for variance: the directions of
    all classes take up no more memory than the features that they are fitted to, in double
    precision, and one product serves all.
    """

    info = Info(
        name="gmm",
        title="Gaussian mixture (GMM)",
        **BELGHAZI,
        equation=r"s = \log \sum_k \lambda_k\, \mathcal N(h;\, \mu_k,\, \Sigma_k + \rho I),"
        r" \quad \lambda_k = N_k / N",
        needs=("features", "labels", "training outputs"),
        summary="How dense the features of labelled images lie around those of this one.",
        sign="The paper's measure is its negative; high for known images.",
        hyper_parameters={"ridge": "what is added to all variances"},
    )

    def __init__(self, ridge: float = 0.1):
        if not 0 < number("ridge", ridge) < np.inf:
            raise ValueError(f"ridge: a positive number expected, got {ridge}")
        self.ridge = ridge

    def _learn(self, train_outputs, head):
        counts = np.bincount(train_outputs.labels, minlength=train_outputs.num_classes)
        check_classes(counts)
        width = train_outputs.features.shape[1]
        ranks = np.minimum(counts, width)
        self.starts = np.cumsum(ranks) - ranks
        self.means, self.constants = np.empty((len(counts), width)), np.log(counts / counts.sum())
        # filled in place: the largest array of all would else be there twice
        axes, self.centres = np.empty((ranks.sum(), width)), np.empty(ranks.sum())
        order = np.argsort(train_outputs.labels, kind="stable")
        for label, members in enumerate(np.split(order, np.cumsum(counts)[:-1])):
            features = train_outputs.features[members].astype(np.float64)
            self.means[label] = features.mean(axis=0)
            features -= self.means[label]
            own = slice(self.starts[label], self.starts[label] + ranks[label])
            axes[own], variances = self._axes(features)
            self.centres[own] = axes[own] @ self.means[label]
            volume = np.log(variances).sum() + (width - ranks[label]) * np.log(self.ridge)
            self.constants[label] -= (volume + width * np.log(2 * np.pi)) / 2
        self.axes = axes.T

    def _axes(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the axes of a class's Gaussian, and its variances along them.

        The squared distance to the mean is that in units of the ridge, less the squares along
        these axes in the same unit: they are the shorter the less a class varies along them.
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

    def _scores(self, part):
        features = part.features.astype(np.float64)
        squares = (features**2).sum(axis=1, keepdims=True) + (self.means**2).sum(axis=1)
        squares -= 2 * rowwise_product(features, self.means.T)
        along = rowwise_product(features, self.axes)
        along -= self.centres  # in place: there are as many axes as images were fitted to
        along *= along
        squares -= np.add.reduceat(along, self.starts, axis=1)
        distances = np.maximum(squares, 0) / self.ridge
        return logsumexp(self.constants - distances / 2, axis=1)
