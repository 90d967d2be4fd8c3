"""Groups of images, found in the features, on which a model is wrong more often than elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from helpers.metrics.guarantees import clopper_pearson

LEVEL = 0.05
"""Probability that any group is named where the model is equally often right everywhere."""
LEAST = 30
"""Images of the choosing half in a group, at the least."""
_DEPTH = 3  # cuts between the whole and a group: at most eight groups are looked at
_CLEAR = 10.0  # chi-squared of a cut, at the least, so that a group is not cut up by noise


@dataclass(frozen=True)
class WeakGroup:
    """Images of the measuring half on which the model is wrong more often than on the others.

    Attributes
    ----------
    places : ndarray of int64
        Rows of the measuring half.
    right : (float, float, float)
        Accuracy on them, with the ends of an interval that holds for all groups together.
    others : float
        Accuracy on the other images.
    p_value : float
        Of equal accuracies, corrected for all groups that were looked at.
    """

    places: np.ndarray
    right: tuple[float, float, float]
    others: float
    p_value: float


def find_weak_groups(
    values, wrong, others, others_wrong, *, level: float = LEVEL
) -> tuple[int, tuple[WeakGroup, ...]]:
    r"""Return how many groups were looked at, and which of them are weak, the weakest first.

    One half of the images says which groups there are, the other half which of them are weak.

    Parameters
    ----------
    values : ndarray, shape [N, D]
        Of the choosing half: where its images lie along a few directions.
    wrong : ndarray of bool, shape [N]
        Whether each is classified wrongly.
    others, others_wrong : ndarray, shape [M, D] and [M]
        The same of the measuring half, which has chosen nothing.
    level : float
        Probability of naming any group where errors have nothing to do with the features.

    Notes
    -----
    As Slice Finder does (Chung et al. 2019), a tree looks for parts with many errors: each cut is
    at the place of the direction where right and wrong differ most, by

    .. math:: \chi^2 = \frac{n (e_k - k \bar e)^2}{k (n - k) \, \bar e (1 - \bar e)}

    with :math:`e_k` errors among the first *k* of *n*, and not made below 10.  Looked at where they
    were found, all of its leaves would seem to differ.  So the other half judges them (Cox 1975),
    by Fisher's exact test of a leaf against all other images, one-sided, with Holm's correction
    (1979) for the number of leaves.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> values = generator.normal(size=(1000, 4))
    >>> wrong = generator.random(1000) < np.where(values[:, 2] > 1, 0.4, 0.05)
    >>> halves = values[:500], wrong[:500], values[500:], wrong[500:]
    >>> looked_at, (group,) = find_weak_groups(*halves)
    >>> looked_at, bool((values[500:][group.places, 2] > 0.9).all())
    (2, True)
    """
    values, others = np.asarray(values), np.asarray(others)
    wrong, others_wrong = np.asarray(wrong, bool), np.asarray(others_wrong, bool)
    whole = np.arange(len(values)), np.arange(len(others))
    leaves = [one for one in _leaves(values, wrong, others, *whole, _DEPTH) if len(one)]
    images, errors = len(others), int(others_wrong.sum())
    if len(leaves) < 2 or not errors:
        return 0, ()
    sizes = np.array([len(one) for one in leaves])
    counts = np.array([others_wrong[one].sum() for one in leaves])
    tails = [_as_many(*one, images, errors) for one in zip(counts, sizes, strict=True)]
    p_values = _holm(np.array(tails))
    found = []
    for place in np.argsort(-counts / sizes, kind="stable"):
        if p_values[place] <= level:
            right, size = int(sizes[place] - counts[place]), int(sizes[place])
            ends = clopper_pearson(right, size, confidence=1 - level / len(leaves))
            rest = 1 - (errors - counts[place]) / (images - size)
            share = (right / size, *ends)
            found.append(WeakGroup(leaves[place], share, float(rest), float(p_values[place])))
    return len(leaves), tuple(found)


def _leaves(values, wrong, others, rows, theirs, depth: int) -> Iterator[np.ndarray]:
    """Yield which of the others lie in each leaf of a tree that does not see their errors."""
    cut = _best_cut(values[rows], wrong[rows]) if depth else None
    if cut is None:
        yield theirs
        return
    axis, at = cut
    for side in (np.less_equal, np.greater):
        own = rows[side(values[rows, axis], at)], theirs[side(others[theirs, axis], at)]
        yield from _leaves(values, wrong, others, *own, depth - 1)


def _best_cut(values: np.ndarray, wrong: np.ndarray) -> tuple[int, float] | None:
    """Return along which direction and where to cut; None where no cut is clear."""
    images, mean = len(values), wrong.mean()
    if images < 2 * LEAST or wrong.all() or not wrong.any():
        return None
    order = np.argsort(values, axis=0, kind="stable")
    ranked = np.take_along_axis(values, order, axis=0)
    below = np.arange(1, images)[:, None]
    errors = np.cumsum(wrong[order], axis=0)[:-1]
    gain = images * (errors - below * mean) ** 2 / (below * (images - below) * mean * (1 - mean))
    gain[ranked[1:] == ranked[:-1]] = 0
    gain[: LEAST - 1] = gain[images - LEAST :] = 0
    place, axis = np.unravel_index(gain.argmax(), gain.shape)
    return (int(axis), float(ranked[place, axis])) if gain[place, axis] >= _CLEAR else None


def _as_many(count: int, size: int, images: int, errors: int) -> float:
    """Return how likely so many of all errors, or more, fall into a group of this size by chance.

    >>> round(_as_many(2, 2, 4, 2), 6)  # one of six ways to draw two of four
    0.166667
    """

    def ways(some, out_of):  # the logarithm of how many there are
        return gammaln(out_of + 1) - gammaln(some + 1) - gammaln(out_of - some + 1)

    more = np.arange(count, min(size, errors) + 1)
    chances = ways(more, errors) + ways(size - more, images - errors) - ways(size, images)
    return float(min(1, np.exp(chances).sum()))


def _holm(p_values: np.ndarray) -> np.ndarray:
    """Return p-values that hold together (Holm 1979).

    >>> _holm(np.array([0.04, 0.01, 0.03]))
    array([0.06, 0.03, 0.06])
    """
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1)
    return corrected
