"""The two parts of an unlabelled mixture of scores.

The parts for all thresholds τ are computed at once: each is an interval of the sorted scores or
the complement of an interval, and sums over an interval are differences of running sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.checks import float_array
from helpers.metrics.inputs import share_array


@dataclass(frozen=True)
class SortedScores:
    """The scores of a mixture in ascending order, sorted once.

    `standard` holds them less their mean, in standard deviations; `sums` and `squares` are running
    sums of it and of its squares, from 0, [N + 1].
    """

    values: np.ndarray
    centre: float
    scale: float
    standard: np.ndarray
    sums: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, scores) -> SortedScores:
        """Sort scores [N], unless they are sorted already."""
        if isinstance(scores, cls):
            return scores
        values = np.sort(check_spread("scores", scores))
        centre = float(values.mean())
        scale = float(values.std())
        standard = (values - centre) / scale
        sums = np.concatenate([[0.0], np.cumsum(standard)])
        squares = np.concatenate([[0.0], np.cumsum(standard**2)])
        return cls(values, centre, scale, standard, sums, squares)

    def split(self, first, last) -> Parts:
        """Return two parts: the scores from `first` up to `last`, and all others."""
        first = np.asarray(first)
        last = np.asarray(last)
        total = len(self.values)
        counts = np.stack([last - first, total - last + first], axis=-1)
        divisors = np.maximum(counts, 1)
        means = _sums_of_parts(self.sums, first, last) / divisors
        squares = _sums_of_parts(self.squares, first, last) / divisors
        deviations = np.sqrt(np.maximum(squares - means**2, 0))
        # Differences of running sums are about 1e-6 of the spread even if the true value is 0.
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


def _sums_of_parts(running: np.ndarray, first, last) -> np.ndarray:
    """Return the sums from `first` up to `last`, and of all others, from running sums."""
    inside = running[last] - running[first]
    return np.stack([inside, running[-1] - inside], axis=-1)


@dataclass(frozen=True)
class Parts:
    """The part treated as ID and the part treated as OOD: means, deviations and counts [..., 2].

    A part of one score, or of equal scores, has deviation 0.  An empty part has the mean and the
    deviation of the other part, so every distance to it is 0.
    """

    means: np.ndarray
    deviations: np.ndarray
    counts: np.ndarray

    def swap(self) -> Parts:
        """Return the same parts in the other order."""
        return Parts(self.means[..., ::-1], self.deviations[..., ::-1], self.counts[..., ::-1])


def two_means(scores) -> Parts:
    """Split scores by 2-means: the two groups with the least squared distances to their means.

    On a line the groups are the scores below and above a cut.  We therefore compare all cuts
    directly, because an iteration may stop next to the best cut.
    """
    scores = SortedScores.of(scores)
    total = len(scores.values)
    cuts = np.arange(1, total)
    below = scores.sums[1:-1]
    between = below**2 / cuts + (scores.sums[-1] - below) ** 2 / (total - cuts)
    between[scores.values[1:] == scores.values[:-1]] = -1  # equal scores stay together
    return scores.split(cuts[between.argmax()], total)


def density_parts(scores, validation, taus) -> Parts:
    r"""Split scores by how dense ID scores are there (unilateral density estimation, UDE).

    With the mean :math:`\mu_v` and the standard deviation :math:`\sigma_v` of the scores of
    held-out ID images, the ID part has :math:`\exp(-(x - \mu_v)^2 / 2 \sigma_v^2) > \tau`:
    a band on both sides of their mean, so very high scores are treated as OOD too.
    """
    scores = SortedScores.of(scores)
    taus = share_array("taus", taus)
    validation = check_spread("validation", validation)
    with np.errstate(divide="ignore"):
        width = validation.std() * np.sqrt(-2 * np.log(taus))
    first = np.searchsorted(scores.values, validation.mean() - width, side="right")
    last = np.searchsorted(scores.values, validation.mean() + width, side="left")
    return scores.split(first, np.maximum(first, last))


def check_spread(name: str, values) -> np.ndarray:
    """Return scores that have a spread."""
    array = float_array(name, values)
    if len(array) < 2:
        raise ValueError(f"{name}: at least 2 images expected, got 1")
    if array.min() == array.max():
        raise ValueError(
            f"{name}: all {len(array)} are {array[0]:g}; constant scores cannot be split into "
            "two parts"
        )
    return array
