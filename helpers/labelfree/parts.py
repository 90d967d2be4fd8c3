"""The two parts of an unlabelled mixture of scores, and how far apart they lie.

The parts that all thresholds τ cut off are found at once: each is an interval of the sorted
scores or what an interval leaves, and sums over an interval are differences of running sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.checks import float_array, known_name

DISTANCES = ("l2", "kl", "wasserstein")
"""The distances between two parts, by name."""


@dataclass(frozen=True)
class SortedScores:
    """The scores of a mixture, sorted once for everything that is asked of them.

    Attributes
    ----------
    values : ndarray of float64, shape [N]
        The scores, ascending.
    centre, scale : float
        Their mean and standard deviation.
    standard : ndarray of float64, shape [N]
        The scores less their mean, in standard deviations.
    sums, squares : ndarray of float64, shape [N + 1]
        Running sums of `standard` and of its squares, from 0.
    """

    values: np.ndarray
    centre: float
    scale: float
    standard: np.ndarray
    sums: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, scores) -> SortedScores:
        """Sort `scores` (array_like, shape [N]), unless they are sorted already.

        Examples
        --------
        >>> SortedScores.of([3, 1]).standard
        array([-1.,  1.])
        """
        if isinstance(scores, cls):
            return scores
        values = np.sort(_check_spread("scores", scores))
        centre, scale = float(values.mean()), float(values.std())
        standard = (values - centre) / scale
        sums, squares = (
            np.concatenate([[0.0], np.cumsum(column)]) for column in (standard, standard**2)
        )
        return cls(values, centre, scale, standard, sums, squares)

    def split(self, first, last) -> Parts:
        """Return two parts: the scores from `first` up to `last`, and all others.

        Examples
        --------
        >>> SortedScores.of([0, 1, 5, 7]).split(2, 4).means
        array([6. , 0.5])
        """
        first, last, total = np.asarray(first), np.asarray(last), len(self.values)
        counts = np.stack([last - first, total - last + first], axis=-1)
        divisors = np.maximum(counts, 1)
        means, squares = (
            np.stack([part := running[last] - running[first], running[-1] - part], axis=-1)
            / divisors
            for running in (self.sums, self.squares)
        )
        deviations = np.sqrt(np.maximum(squares - means**2, 0))
        # Differences of running sums leave some 1e-6 of the spread where there is none.
        lowest = np.stack([first, np.where(first > 0, 0, last)], axis=-1) % total
        highest = np.stack([last - 1, np.where(last < total, total, first) - 1], axis=-1)
        equal = self.values[lowest] == self.values[highest]
        means = np.where(equal, self.values[lowest], self.centre + self.scale * means)
        deviations = np.where(equal, 0.0, self.scale * deviations)
        empty = counts == 0
        return Parts(
            np.where(empty, means[..., ::-1], means),
            np.where(empty, deviations[..., ::-1], deviations),
            counts,
        )


@dataclass(frozen=True)
class Parts:
    """The two parts that the scores of a mixture are split into.

    The part that is taken for ID comes first, the one that is taken for OOD second.  A part of one
    score, or of equal ones, has deviation 0.  An empty part takes the mean and the deviation of
    the other, so that every distance to it is 0.

    Attributes
    ----------
    means, deviations : ndarray of float64, shape [..., 2]
        The mean and the standard deviation (divided by the number of images) of each part.
    counts : ndarray of int, shape [..., 2]
        How many images each part has.
    """

    means: np.ndarray
    deviations: np.ndarray
    counts: np.ndarray

    def swap(self) -> Parts:
        """Return the same parts in the other order."""
        return Parts(self.means[..., ::-1], self.deviations[..., ::-1], self.counts[..., ::-1])


def two_means(scores) -> Parts:
    """Split scores by 2-means: the two groups with the least squared distances to their means.

    On a line the groups are what lies below and above a cut, so that the best of all cuts is
    found directly, and not from a start that may end beside it.

    Examples
    --------
    >>> two_means([5, 0, 7, 1])
    Parts(means=array([6. , 0.5]), deviations=array([1. , 0.5]), counts=array([2, 2]))
    """
    scores = SortedScores.of(scores)
    total = len(scores.values)
    cuts = np.arange(1, total)
    below = scores.sums[1:-1]
    between = below**2 / cuts + (scores.sums[-1] - below) ** 2 / (total - cuts)
    between[scores.values[1:] == scores.values[:-1]] = -1  # equal scores stay together
    return scores.split(cuts[between.argmax()], total)


def density_parts(scores, validation, taus, *, one_sided: bool = False) -> Parts:
    r"""Split scores by how dense ID scores are there (unilateral density estimation, UDE).

    With the mean :math:`\mu_v` and the standard deviation :math:`\sigma_v` of the scores of
    held-out ID images, the ID part is where :math:`\exp(-(x - \mu_v)^2 / 2 \sigma_v^2) > \tau`:
    a band on both sides of their mean, so that the very high scores are taken for OOD too.

    Examples
    --------
    The ID scores have mean 5 and deviation 1, and the band is as wide as that on each side.

    >>> density_parts([4.5, 5.5, 0, 1, 9], [4, 6], [np.exp(-0.5)]).counts
    array([[2, 3]])
    >>> density_parts([4.5, 5.5, 0, 1, 9], [4, 6], [np.exp(-0.5)], one_sided=True).counts
    array([[3, 2]])
    """
    scores, taus = SortedScores.of(scores), tau_array(taus)
    validation = _check_spread("validation", validation)
    with np.errstate(divide="ignore"):
        width = validation.std() * np.sqrt(-2 * np.log(taus))
    first = np.searchsorted(scores.values, validation.mean() - width, side="right")
    if one_sided:
        return scores.split(first, np.full_like(first, len(scores.values)))
    last = np.searchsorted(scores.values, validation.mean() + width, side="left")
    return scores.split(first, np.maximum(first, last))


def distance(parts: Parts, kind: str) -> np.ndarray:
    r"""Return how far apart the two parts lie, taken for Gaussians: the Gscore.

    With part 1 taken for ID and part 2 for OOD: ``l2`` is :math:`|\mu_1 - \mu_2|`;
    ``wasserstein`` is :math:`(\mu_1 - \mu_2)^2 + (\sigma_1 - \sigma_2)^2`, the squared
    2-Wasserstein distance; ``kl`` is the Kullback–Leibler divergence of part 2 from part 1,
    :math:`\log(\sigma_1 / \sigma_2) + (\sigma_2^2 + (\mu_1 - \mu_2)^2) / 2 \sigma_1^2 - 1/2`.

    Examples
    --------
    >>> parts = Parts(np.array([4.0, 1.0]), np.array([2.0, 1.0]), np.array([9, 9]))
    >>> [round(float(distance(parts, kind)), 3) for kind in DISTANCES]
    [3.0, 1.443, 10.0]
    """
    known_name("distance", kind, DISTANCES)
    gap = parts.means[..., 0] - parts.means[..., 1]
    inner, outer = parts.deviations[..., 0], parts.deviations[..., 1]
    if kind == "l2":
        return np.abs(gap)
    if kind == "wasserstein":
        return gap**2 + (inner - outer) ** 2
    spread = (inner > 0) & (outer > 0)
    inner, outer = np.where(spread, inner, 1.0), np.where(spread, outer, 1.0)
    divergence = np.log(inner / outer) + (outer**2 + gap**2) / (2 * inner**2) - 0.5
    return np.where(spread, np.maximum(divergence, 0), 0.0)


def tau_array(taus) -> np.ndarray:
    """Return thresholds as float64 of shape [T], or say what is wrong with them."""
    taus = float_array("taus", taus)
    if taus.min() < 0 or taus.max() > 1:
        raise ValueError(
            f"taus: thresholds in [0, 1] expected, got {taus.min():g} to {taus.max():g}"
        )
    return taus


def _check_spread(name: str, values) -> np.ndarray:
    """Return scores that have a spread, or say what is wrong with the argument `name`."""
    array = float_array(name, values)
    if len(array) < 2:
        raise ValueError(f"{name}: at least 2 images expected, got 1")
    if array.min() == array.max():
        raise ValueError(
            f"{name}: all {len(array)} are {array[0]:g}; constant scores have no two parts to "
            "tell apart and no spread"
        )
    return array
