"""How much a mean over trainings would vary with other trainings.

Methods with networks of their own are compared by their means over runs.  The variance of such a
mean has two parts: other test images, from the replicates; and other trainings, from the runs.
The methods of one effect share one variance between runs, like the groups of an analysis of
variance: that of their own runs and of the baseline's runs together.  A method with few runs is
thereby given the spread of the others, which is an assumption.

Scores on the baseline's networks have a spread of their own, and an ensemble of these networks has
the one of the jackknife, from the ensembles that leave out one member.  Both vary by network, so
that an ensemble and the mean of its members are compared by what they gain or lose together when a
network is left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

#: The variant of an ensemble without the network of one run, which its row names.
WITHOUT_RUN = "without one run"
#: The group of the methods on the baseline's networks.
MEMBERS = "members"
_FIRST_NETWORK = 1000  # above the positions of means


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
    """How a mean over runs varies: the standard deviations of its independent parts.

    The means of a group share the error of these deviations, of `freedom` degrees of freedom.
    Those of `MEMBERS` also share the parts, one for each network.
    """

    parts: np.ndarray
    freedom: int
    group: str


def by_network(without: np.ndarray) -> np.ndarray:
    """Return by how much each network moves a number, from the numbers without each of them."""
    count = len(without)
    return np.sqrt((count - 1) / count) * (without - without.mean())


def leave_out(runs: np.ndarray) -> np.ndarray:
    """Return the means of two or more runs without each of them."""
    return (runs.sum() - runs) / (len(runs) - 1)


def jackknife(without: np.ndarray) -> float:
    """Return the variance of an ensemble, from the numbers of the ensembles without one member.

    For a mean, it is the variance of the mean:

    >>> members = np.array([1.0, 2.0, 4.0])
    >>> bool(np.isclose(jackknife(leave_out(members)), members.var(ddof=1) / 3))
    True
    """
    return float(np.sum(by_network(without) ** 2))


def spreads(methods: Mapping[str, Values], others: Sequence[np.ndarray]) -> dict[str, Spread]:
    """Return the spread of each method of an effect; none if no runs show it.

    `others` are the runs of further methods that show how much trainings vary.

    >>> few = {"a": Values(np.array([0.3])), "b": Values(np.array([0.1, 0.2, 0.3]))}
    >>> spreads(few, [])["a"].freedom, round(float(spreads(few, [])["a"].parts[0]), 3)
    (2, 0.1)
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
            parts = np.sqrt([squares / freedom / len(values.runs)])
            result[name] = Spread(parts, freedom, "")
        else:
            parts = by_network(values.without)
            result[name] = Spread(parts, len(parts) - 1, MEMBERS)
    return result


def draw(spread: Spread, position: int, draws: int) -> np.ndarray:
    """Return deviations of a mean from the true one, [draws], of a t distribution.

    `position` separates means.
    """
    first = _FIRST_NETWORK if spread.group == MEMBERS else position
    standard = [_standard(first + number, draws) for number in range(len(spread.parts))]
    return spread.parts @ standard / np.sqrt(squares(spread.group, spread.freedom, draws))


def fisher(correlations, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Fisher's transforms of rank correlations, and their errors (Bonett and Wright 2000).

    They need four pairs.  A perfect order counts as one with two swapped neighbours, since its
    transform is infinite.
    """
    most = 1 - 12 / (pairs**3 - pairs)
    values = np.clip(correlations, -most, most)
    return np.arctanh(values), np.sqrt((1 + values**2 / 2) / (pairs - 3))


def over_networks(correlations: np.ndarray, networks: int) -> np.ndarray:
    """Return rank correlations over networks, with replicates that vary with the networks, too.

    >>> over_networks(np.ones(4), 5).round(1)
    array([1. , 0.9, 1. , 0.9])
    """
    transforms, errors = fisher(correlations[1:], networks)
    return np.append(correlations[0], np.tanh(transforms + errors * _standard(0, len(errors))))


def lengths(runs: int, draws: int) -> np.ndarray:
    """Return factors [draws] of the deviations that a bootstrap of runs draws.

    A bootstrap of few runs is too narrow: the uncertainty of their variance lengthens it, as in
    Student's t.  One run shows no deviation.
    """
    if runs == 1:
        return np.ones(draws)
    return np.sqrt(runs / (runs - 1) / squares("runs", runs - 1, draws))


@functools.cache
def squares(group: str, freedom: int, draws: int) -> np.ndarray:
    """Return draws of an estimated variance in parts of the true one, the same in a group."""
    generator = np.random.default_rng([2, *group.encode()])
    return generator.chisquare(freedom, draws) / freedom


@functools.cache
def _standard(position: int, draws: int) -> np.ndarray:
    return np.random.default_rng([1, position]).standard_normal(draws)
