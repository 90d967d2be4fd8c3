"""How much a mean over trainings would vary with other trainings.

Methods with networks of their own are compared by their means over runs.  The variance of such a
mean has two parts: other test images, from the replicates; and other trainings, from the runs.
The methods of one effect share one variance between runs, like the groups of an analysis of
variance: that of their own runs and of the baseline's runs together.  A method with one run thereby
borrows the spread of the others.  An ensemble of runs has the variance that the jackknife gives,
from the ensembles that leave out one member.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

#: The variant of an ensemble without the network of one run, which its row names.
WITHOUT_RUN = "without one run"


@dataclass(frozen=True)
class Trainings:
    """The methods of a paper that have networks of their own.

    `baseline` is the method whose runs show how much trainings vary; `of` returns the method that
    trains the networks of a method.
    """

    baseline: str
    of: Callable[[str], str]


class Values(NamedTuple):
    """The numbers of a method by run, and those of its ensembles without one member."""

    runs: np.ndarray
    without: np.ndarray = np.empty(0)


class Spread(NamedTuple):
    """The variance of a mean over runs, its degrees of freedom, and which effects share it."""

    variance: float
    freedom: int
    group: str


def jackknife(without: np.ndarray) -> float:
    """Return the variance of an ensemble, from the numbers of the ensembles without one member.

    For a mean, it is the variance of the mean:

    >>> members = np.array([1.0, 2.0, 4.0])
    >>> without = np.array([members[[1, 2]].mean(), members[[0, 2]].mean(), members[[0, 1]].mean()])
    >>> bool(np.isclose(jackknife(without), members.var(ddof=1) / 3))
    True
    """
    count = len(without)
    return float((count - 1) / count * np.sum((without - without.mean()) ** 2))


def spreads(methods: Mapping[str, Values], others: Sequence[np.ndarray]) -> dict[str, Spread]:
    """Return the spread of each method of an effect; none if no runs show it.

    `others` are the runs of further methods that show how much trainings vary.

    >>> few = {"a": Values(np.array([0.3])), "b": Values(np.array([0.1, 0.2, 0.3]))}
    >>> spreads(few, [])["a"].freedom, round(spreads(few, [])["a"].variance, 3)
    (2, 0.01)
    """
    single = {name: values for name, values in methods.items() if len(values.without) < 2}
    groups = [values.runs for values in single.values()] + [*others]
    freedom = sum(len(runs) - 1 for runs in groups)
    if single and not freedom:
        return {}
    squares = sum(float(np.sum((runs - runs.mean()) ** 2)) for runs in groups)
    result = {}
    for name, values in methods.items():
        if name in single:
            result[name] = Spread(squares / freedom / len(values.runs), freedom, "")
        else:
            count = len(values.without)
            result[name] = Spread(jackknife(values.without), count - 1, name)
    return result


def draw(spread: Spread, position: int, draws: int) -> np.ndarray:
    """Return deviations of a mean from the true one, [draws], of a t distribution.

    Means with the same group share the error of their variance; `position` tells means apart.
    """
    scale = np.sqrt(spread.variance / squares(spread.group, spread.freedom, draws))
    return scale * _standard(position, draws)


@functools.cache
def squares(group: str, freedom: int, draws: int) -> np.ndarray:
    """Return draws of an estimated variance in parts of the true one, the same in a group."""
    generator = np.random.default_rng([2, *group.encode()])
    return generator.chisquare(freedom, draws) / freedom


@functools.cache
def _standard(position: int, draws: int) -> np.ndarray:
    return np.random.default_rng([1, position]).standard_normal(draws)
