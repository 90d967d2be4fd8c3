"""Whether unlabelled images are drawn from where the validation images are: two-sample tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import kolmogorov

DIRECTIONS = 16
"""As many are looked along, at the most."""
_MORE = 8  # that are drawn beside these, which makes them exact enough
LEVEL = 0.05
"""Probability that a drift is named where there is none."""


@dataclass(frozen=True)
class Drift:
    """What two-sample tests say of validation and unlabelled images.

    Attributes
    ----------
    directions : int
        Along which the features were looked at.
    score, features : (float, float)
        Largest difference between the two distribution functions of the score, and along any of
        the directions; and the p-value of both being alike, corrected for all that was looked at.
    """

    directions: int
    score: tuple[float, float]
    features: tuple[float, float]

    def found(self, level: float = LEVEL) -> tuple[str, ...]:
        """Return in which of the two the images differ: ``score``, ``features``, both or none."""
        return tuple(name for name in ("score", "features") if getattr(self, name)[1] <= level)


def find_drift(scores, others_scores, values, others) -> Drift:
    """Test whether two groups of images have the same scores, and the same features.

    Notes
    -----
    The test of Kolmogorov and Smirnov, for the score and along each direction, as Rabanser,
    Günnemann and Lipton 2019 found to do well.  By Bonferroni's correction the score takes one half
    of what may be false, and the directions share the other half.  P-values are those of many
    images; with few of them, and with ties, they are too large rather than too small.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> features = generator.normal(size=(800, 3))
    >>> alike = find_drift(features[:400, 0], features[400:, 0], features[:400], features[400:])
    >>> features[400:, 2] += 0.5
    >>> moved = find_drift(features[:400, 0], features[400:, 0], features[:400], features[400:])
    >>> alike.found(), moved.found()
    ((), ('features',))
    """

    size = len(scores) * len(others_scores) / (len(scores) + len(others_scores))

    def largest(pairs) -> tuple[float, float]:
        difference = max(distance(*pair) for pair in pairs)
        return difference, float(min(1, 2 * len(pairs) * kolmogorov(np.sqrt(size) * difference)))

    columns = list(zip(np.asarray(values).T, np.asarray(others).T, strict=True))
    return Drift(len(columns), largest([(scores, others_scores)]), largest(columns))


def distance(first, second) -> float:
    """Return the largest difference between the distribution functions of two groups of numbers.

    Examples
    --------
    >>> distance([1, 2, 3, 4], [3, 4, 5, 6])
    0.5
    """
    first, second = np.sort(first), np.sort(second)
    both = np.concatenate([first, second])
    below = [np.searchsorted(group, both, side="right") / len(group) for group in (first, second)]
    return float(np.abs(below[0] - below[1]).max())


def principal_directions(values, *, seed: int = 0) -> np.ndarray:
    """Return the directions of the largest variance, the largest first.

    Notes
    -----
    Halko, Martinsson and Tropp 2011: a random sketch with one power iteration, which reads the
    features four times and never makes their covariance.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=(100, 3)) * [1, 5, 2]
    >>> np.abs(principal_directions(values)).argmax(axis=0)
    array([1, 2, 0])
    """
    values = np.asarray(values, np.float32)
    values = values - values.mean(axis=0)
    width = min(DIRECTIONS + _MORE, *values.shape)
    drawn = np.random.default_rng(seed).standard_normal((values.shape[1], width), dtype=np.float32)
    for _ in range(2):
        basis = np.linalg.qr(values @ drawn)[0]
        drawn = values.T @ basis
    directions = np.linalg.svd(drawn, full_matrices=False)[0]
    return directions[:, : min(DIRECTIONS, *values.shape)]
