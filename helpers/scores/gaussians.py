"""Scores from means and covariances of the training features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from helpers.checks import positive_number, whole_number
from helpers.scores.base import (
    BlockwiseScore,
    check_classes,
    check_level,
    class_means,
    parts,
    recorded,
    rowwise_product,
    unit_rows,
)
from helpers.scores.logits import log_sum_exp

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

    def rows(part):
        return unit_rows(part.features) if normalised else part.features

    name = "moments, normalised" if normalised else "moments"
    if name not in outputs.derived:
        classes = outputs.num_classes
        means, counts = class_means(
            outputs, lambda part: (rows(part), part.labels % (classes + 1)), classes + 1
        )
        within = np.zeros((means.shape[1],) * 2)
        for part in parts(outputs):
            centred = rows(part) - means[part.labels]
            within = within + centred.T @ centred
        outputs.derived[name] = Moments(means, counts, within)
    return outputs.derived[name]


class Gaussians:
    """Gaussians with a shared covariance, from means [M, D] and covariance [D, D].

    Directions without variance are left out, as by a pseudo-inverse: eigenvalues of at most D eps
    of the largest one, the rule of SciPy's ``pinvh``.
    """

    def __init__(self, means: np.ndarray, covariance: np.ndarray):
        values, vectors = np.linalg.eigh(covariance)
        kept = values > values.max() * len(values) * np.finfo(values.dtype).eps
        # with this, distances are Euclidean: one product serves all means
        self.whitening = vectors[:, kept] / np.sqrt(values[kept])
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
    kept, name = train_outputs.derived, "gaussians, normalised" if normalised else "gaussians"
    if name not in kept:
        taken = moments(train_outputs, normalised=normalised)
        if not taken.within.any():
            raise ValueError("train_outputs: features that vary within a class expected")
        check_classes(taken.counts[:-1])
        kept[name] = Gaussians(taken.means[:-1], taken.within / len(train_outputs))
    return kept[name]


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

    def _scores(self, part):
        rows = unit_rows(part.features) if self.normalised else part.features
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
        taken = moments(train_outputs, normalised=self.normalised)
        covariance = taken.about(taken.mean) / len(train_outputs)
        self.background = Gaussians(taken.mean[None], covariance)

    def _scores(self, part):
        rows = unit_rows(part.features) if self.normalised else part.features
        nearest = self.classes.squared_distances(rows).min(axis=1)
        return self.background.squared_distances(rows)[:, 0] - nearest


@recorded("rmds_pp")
class RelativeMahalanobisPlusPlus(RelativeMahalanobis):
    """Relative Mahalanobis distance on the unit sphere.

    Müller and Hein 2025; see `MahalanobisPlusPlus` for the precision and features that are all 0.
    """

    normalised = True


@recorded("gmm")
class GaussianMixture(BlockwiseScore):
    """Log density of the features under a mixture with one Gaussian per class.

    Each class has a separate mean and covariance, and its share of the images as weight.  They are
    computed from the outputs given to `fit`, which are held-out images in the paper. One of the
    measures in Belghazi and Lopez-Paz 2021, with the ridge of their code, which omits the minus
    sign.  A class of n images varies in at most min(n, D) directions.  Only these are stored, so
    the memory equals that of the features in double precision.

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
        self.means, self.constants = np.empty((len(counts), width)), np.log(counts / counts.sum())
        # filled in place: otherwise the largest array of all would be in memory twice
        axes, self.centres = np.empty((ranks.sum(), width)), np.empty(ranks.sum())
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


def principal_dimensions(width: int) -> int:
    """Return the default dimension of the principal subspace of `width` features."""
    return 1000 if width >= 2048 else 512 if width >= 768 else width // 2


@recorded("vim")
class VirtualLogitMatching(BlockwiseScore):
    r"""Energy minus a virtual logit, the residual outside the features' principal subspace.

    The origin o is the point that the head maps to logits of 0, or nearest to 0.  The residual is
    the part of :math:`h - o` orthogonal to the first principal directions of the training features
    about o.  The virtual logit is :math:`\alpha` times its norm, as large as the largest logit on
    average. Source: Wang et al. 2022.  The default is the rule of their code.  Their text has
    1,000 for more than 1,500 features.  Their eigenvectors are computed by a routine for
    asymmetric matrices.  OpenOOD tries 256 and 1,000 on validation images.

    A constant that is added to all logits changes :math:`\alpha`.  With 8 more or less, the AUROC
    of far images changes by up to 0.034 on four published networks, whose mean largest logit is 18
    to 23.  Their code (benchmark.py) accepts a negative :math:`\alpha`.  Here a mean largest logit
    of at most 0 is refused, and so are logarithms of probabilities, which have lost their level.

    Parameters
    ----------
    dim : int, optional
        Dimension of the principal subspace, below D.  Default: 1,000 for D of at least 2,048, 512
        for D of at least 768, else D / 2.
    """

    def __init__(self, dim: int | None = None):
        self.dim = None if dim is None else whole_number("dim", dim)

    def _learn(self, train_outputs, head):
        width = head.weight.shape[1]
        dim = self.dim or principal_dimensions(width)
        if dim >= width:
            raise ValueError(f"dim: below {width} (the features) expected, got {dim}")
        weight, bias = head.weight.astype(np.float64), head.bias.astype(np.float64)
        # equals the pseudo-inverse of the weight, but takes a fraction of its time
        self.origin = np.linalg.lstsq(weight, -bias, rcond=1e-15)[0]
        scatter = moments(train_outputs).about(self.origin)
        # in order of rising eigenvalues
        self.residual = np.linalg.eigh(scatter).eigenvectors[:, : width - dim].copy()
        largest = norms = 0.0
        for part in parts(train_outputs):
            largest += part.logits.max(axis=1).sum(dtype=np.float64)
            norms += np.linalg.norm((part.features - self.origin) @ self.residual, axis=1).sum()
        spread = np.sqrt(np.trace(scatter) * len(train_outputs))
        if norms <= spread * np.finfo(np.float32).eps:
            raise ValueError(
                f"dim: the training features do not leave a subspace of {dim} dimensions; "
                "choose a smaller one"
            )
        check_level("vim", largest / len(train_outputs))
        self.alpha = largest / norms

    def _scores(self, part):
        return log_sum_exp(part.logits) - self.alpha * self._residual_norms(part)

    def _residual_norms(self, part) -> np.ndarray:
        return np.linalg.norm(rowwise_product(part.features - self.origin, self.residual), axis=1)
