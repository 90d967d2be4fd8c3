"""Scores from means and covariances of the training features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from helpers.checks import number, whole_number
from helpers.scores.base import (
    BlockwiseScore,
    check_classes,
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
    """Features by class, and how they vary within classes.

    Attributes
    ----------
    means : ndarray of float64, shape [K + 1, D]
        Of each class and, last, of the images without label; 0 where there is no image.
    counts : ndarray of int64, shape [K + 1]
        How many images each mean is taken over.
    within : ndarray of float64, shape [D, D]
        Sum of the squares and products of the features about the mean of each image's class.
    """

    means: np.ndarray
    counts: np.ndarray
    within: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Mean of all images' features, float64 [D]."""
        return self.counts @ self.means / self.counts.sum()

    def about(self, point: np.ndarray) -> np.ndarray:
        """Return the sum of the squares and products about one point, float64 [D, D].

        That within classes and that between them add up to it, without cancellation.
        """
        between = self.means - point
        return self.within + (self.counts[:, None] * between).T @ between


def moments(outputs: Outputs, *, normalised: bool = False) -> Moments:
    """Return the moments of the features, kept with the outputs once they are taken.

    The features are read twice, since a scatter about means that are known loses no digits, and
    are not copied.  Where `normalised`, each image's are divided by their Euclidean norm first.

    Examples
    --------
    >>> from helpers.outputs import Outputs
    >>> features = np.array([[0.0], [2.0], [5.0]])
    >>> found = moments(Outputs(np.zeros((3, 1)), features, np.array([0, 0, -1])))
    >>> found.means.ravel(), found.within.item(), found.about(np.zeros(1)).item()
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
        within = 0.0
        for part in parts(outputs):
            centred = rows(part) - means[part.labels]
            within = within + centred.T @ centred
        outputs.derived[name] = Moments(means, counts, within)
    return outputs.derived[name]


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

    Kept with the outputs once it is fitted, as `helpers.scores.gaussians.moments` are, which say
    what `normalised` means.

    Raises
    ------
    ValueError
        The features do not vary within any class, or a class has no images.
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

    def _learn(self, train_outputs, head):
        self.gaussians = class_gaussians(train_outputs, normalised=self.normalised)

    def _scores(self, part):
        rows = unit_rows(part.features) if self.normalised else part.features
        return -self.gaussians.squared_distances(rows).min(axis=1)


@recorded("mahalanobis_pp")
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

    normalised = True


@recorded("rmds")
class RelativeMahalanobis(BlockwiseScore):
    """The squared Mahalanobis distance to all training images, less that to the nearest class.

    One Gaussian a class with the same covariance for all, as in the Mahalanobis distance, and one
    Gaussian for all training images together.  Directions that matter for no class count little:
    both distances contain them.
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
    """The relative Mahalanobis distance on the unit sphere.

    Each image's features are divided by their Euclidean norm, for both Gaussians too; all else is
    the relative Mahalanobis distance.

    Notes
    -----
    Müller and Hein 2025, whose code has it beside Mahalanobis++; see there for the precision and
    for images whose features are all 0.
    """

    normalised = True


@recorded("gmm")
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
            rows = slice(self.starts[label], self.starts[label] + ranks[label])
            axes[rows], variances = self._axes(features)
            self.centres[rows] = axes[rows] @ self.means[label]
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


def principal_dimensions(width: int) -> int:
    """Return how many dimensions the principal subspace of `width` features has by default.

    Examples
    --------
    >>> [principal_dimensions(width) for width in (2048, 2047, 768, 767)]
    [1000, 512, 512, 383]
    """
    return 1000 if width >= 2048 else 512 if width >= 768 else width // 2


@recorded("vim")
class VirtualLogitMatching(BlockwiseScore):
    r"""The energy, minus a logit for what the features have outside their principal subspace.

    The origin o is the point that the head maps to logits of 0, or as near as can be.  The
    residual of an image is the part of :math:`h - o` that is orthogonal to the first principal
    directions of the training features about o (not about their mean).  Its norm times
    :math:`\alpha` is the virtual logit; :math:`\alpha` makes it as large on the training images,
    on average, as their largest logit.

    Parameters
    ----------
    dim : int, optional
        Dimensions of the principal subspace, below that of the features, D.  By default 1,000
        where D is at least 2,048, 512 where it is at least 768, and else half of D.

    Notes
    -----
    Wang et al. 2022.  The default is the rule of their code, 1,000 from 2,048 on, 512 from 768 on
    and half of D below that.  Their paper's text has 1,000 for more than 1,500 features: between
    1,500 and 2,048 the two differ, and the code's 512 is taken here.  Their code finds the
    eigenvectors by a routine for matrices that need not be symmetric, which may return complex
    ones.  OpenOOD tries 256 and 1,000 on validation images.
    """

    def __init__(self, dim: int | None = None):
        self.dim = None if dim is None else whole_number("dim", dim)

    def _learn(self, train_outputs, head):
        width = head.weight.shape[1]
        dim = self.dim or principal_dimensions(width)
        if dim >= width:
            raise ValueError(f"dim: below {width} (the features) expected, got {dim}")
        weight, bias = head.weight.astype(np.float64), head.bias.astype(np.float64)
        # what the pseudo-inverse of the weight gives, in a fraction of its time
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
        self.alpha = largest / norms

    def _scores(self, part):
        return log_sum_exp(part.logits) - self.alpha * self._residual_norms(part)

    def _residual_norms(self, part) -> np.ndarray:
        return np.linalg.norm(rowwise_product(part.features - self.origin, self.residual), axis=1)
