"""Effects with 95 % intervals: over images, over trainings, or over both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from helpers.metrics.correlation import spearman
from helpers.tables.table import number
from synthesis.spread import fisher

_ENDS = (0.025, 0.975)


class Interval(NamedTuple):
    """An effect and its 95 % interval; the format has a pattern, and a unit after a space.

    >>> f"{Interval(51.4, 45.9, 56.8):.0f %}"
    '51 % [46, 57]'
    """

    value: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        pattern, space, unit = spec.partition(" ")
        value, low, high = (number(end, pattern) for end in self)
        return f"{value}{space}{unit} [{low}, {high}]"

    @property
    def has_a_sign(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


def over_images(value: float, replicates: Sequence[float] | np.ndarray) -> Interval:
    """Return an effect with its interval for other test images.

    >>> over_images(1.0, np.arange(41) / 20)
    Interval(value=1.0, low=0.05, high=1.95)
    """
    low, high = np.quantile(replicates, _ENDS)
    return Interval(float(value), float(low), float(high))


def over_runs(values: Sequence[float] | np.ndarray) -> Interval:
    """Return the mean of some runs with Student's interval for other runs.

    >>> f"{over_runs([1.0, 2.0, 3.0]):.1f}"
    '2.0 [−0.5, 4.5]'
    """
    variance = float(np.var(values, ddof=1)) / len(values)
    return over_both(float(np.mean(values)), variance, len(values))


def over_both(
    value: float, variance: float, runs: int, replicates: Sequence[float] | np.ndarray = (0.0,)
) -> Interval:
    """Return an effect with its interval for other trainings and other test images.

    `variance` is that between trainings, of which there are `runs`; it is added to the variance of
    the replicates.

    >>> f"{over_both(2.0, 1 / 3, 3):.1f}"
    '2.0 [−0.5, 4.5]'
    """
    half = stdtrit(runs - 1, _ENDS[1]) * np.sqrt(variance + np.var(replicates))
    return Interval(float(value), float(value - half), float(value + half))


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Return Spearman's correlation of four or more pairs, with an interval (Bonett, Wright 2000).

    See `synthesis.spread.fisher`.  The interval contains a perfect correlation.

    >>> f"{rank_correlation([1, 2, 3, 4, 5], [1, 2, 3, 5, 4]):.2f}"
    '0.90 [−0.17, 1.00]'
    """
    value = float(spearman(np.asarray(first), np.asarray(second)))
    transform, error = fisher(value, len(first))
    low, high = np.tanh(transform + 1.96 * error * np.array([-1, 1])).tolist()
    return Interval(value, min(low, value), max(high, value))
