"""Answers that name as many classes as it takes for the true one to be among them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helpers.checks import float_array, label_array
from helpers.metrics.guarantees import coverage_threshold

PENALTIES = (0.0, 0.001, 0.01, 0.1, 1.0)
"""Those that `choose_penalty` tries."""


class SetRule(NamedTuple):
    """Which classes an answer names: those whose `class_masses` are at most `most`.

    Attributes
    ----------
    most : float
    penalty, free : float and int
        As for `class_masses`.
    """

    most: float
    penalty: float
    free: int


def class_masses(probabilities, *, penalty: float = 0.0, free: int = 1) -> np.ndarray:
    r"""Return how much stands before each class, the most probable one first, float64 [N, K].

    .. math:: m_{(j)} = \sum_{i < j} p_{(i)} + \lambda \max(j - 1 - f, 0), \quad
        p_{(1)} \ge p_{(2)} \ge \dots

    Parameters
    ----------
    probabilities : array_like, shape [N, K]
        Calibrated ones make smaller sets; the promise does not need it.
    penalty : float
        :math:`\lambda`, at least 0: what a class beyond the first ones costs, so that long tails of
        small probabilities stay out.
    free : int
        f, at least 1: classes that cost nothing.

    Returns
    -------
    ndarray
        0 for the most probable class, and rising with the rank; of equal probabilities the class
        with the lower number comes first.

    Raises
    ------
    ValueError
        Empty, NaN or infinite probabilities; a negative penalty; fewer than one free class.

    Notes
    -----
    Without a penalty the sets are those of Romano et al. 2020 (APS), with one those of Angelopoulos
    et al. 2021 (RAPS), but for the chance that both of them let decide about the last class: here
    the mass *before* a class counts, so that the same image always has the same set, which is never
    empty.  Where more images are right than are to be covered, more are covered than was wished.

    Examples
    --------
    >>> class_masses([[0.2, 0.5, 0.3]]).round(6)
    array([[0.8, 0. , 0.5]])
    >>> class_masses([[0.2, 0.5, 0.3]], penalty=0.1, free=1).round(6)
    array([[0.9, 0. , 0.5]])
    """
    probabilities = float_array("probabilities", probabilities, ndim=2)
    if not 0 <= penalty < np.inf:
        raise ValueError(f"penalty: a number, at least 0, expected, got {penalty}")
    if free < 1:
        raise ValueError(f"free: at least 1 class expected, got {free}")
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ordered = np.take_along_axis(probabilities, order, axis=1)
    ranks = np.arange(probabilities.shape[1])
    before = np.cumsum(ordered, axis=1) - ordered + penalty * np.maximum(ranks - free, 0)
    before[:, 0] = 0.0  # exactly, so that ties at 0 are ties
    masses = np.empty_like(before)
    np.put_along_axis(masses, order, before, axis=1)
    return masses


def set_rule(
    probabilities, labels, *, coverage: float, penalty: float = 0.0, free: int = 1
) -> SetRule:
    r"""Return the rule whose sets hold the true class with at least this probability.

    Parameters
    ----------
    probabilities : array_like, shape [N, K]
        Of calibration images, exchangeable with those to come; nothing that the probabilities,
        `penalty` or `free` depend on.
    labels : array_like of int, shape [N]
    coverage : float
        In (0, 1).
    penalty, free
        As for `class_masses`.

    Returns
    -------
    SetRule

    Raises
    ------
    ValueError
        As `class_masses`; labels that are none of the classes; too few images for this coverage.

    Notes
    -----
    Split conformal prediction: `most` is the ⌈(N + 1) coverage⌉-th smallest of the masses before
    the true classes.  On average over draws of calibration images, a new image's true class is in
    its set with a probability from `coverage` to `coverage` + 1 / (N + 1) if no masses are tied,
    and more where they are (Vovk et al. 2005); what a single draw promises is
    `helpers.metrics.guarantees.conditional_coverage`.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> probabilities = generator.dirichlet([1, 1, 1], size=99)
    >>> labels = (generator.random(99)[:, None] > probabilities.cumsum(axis=1)).sum(axis=1)
    >>> rule = set_rule(probabilities, labels, coverage=0.9)
    >>> prediction_sets([[0.98, 0.01, 0.01], [0.4, 0.4, 0.2]], rule).sum(axis=1)
    array([1, 2])
    """
    masses = class_masses(probabilities, penalty=penalty, free=free)
    labels = label_array("labels", labels, classes=masses.shape[1], length=len(masses))
    true = masses[np.arange(len(masses)), labels]
    return SetRule(-coverage_threshold(-true, coverage=coverage), float(penalty), int(free))


def prediction_sets(probabilities, rule: SetRule) -> np.ndarray:
    """Return which classes the answer to each image names, bool [N, K]; at least one.

    Parameters
    ----------
    probabilities : array_like, shape [N, K]
    rule : SetRule
        From `set_rule`.
    """
    return class_masses(probabilities, penalty=rule.penalty, free=rule.free) <= rule.most


def choose_penalty(probabilities, labels, *, coverage: float) -> tuple[float, int]:
    """Return the penalty, and how many classes are free, that make small sets of these images.

    Parameters
    ----------
    probabilities, labels, coverage
        As for `set_rule`, of other images than the rule is made on.

    Returns
    -------
    penalty : float
        Of `PENALTIES`, the one with the smallest sets on average; the smallest of equals.
    free : int
        The least number of classes, the most probable ones, that hold the true one in so many
        images.
    """
    masses = class_masses(probabilities)
    labels = label_array("labels", labels, classes=masses.shape[1], length=len(masses))
    own = masses[np.arange(len(masses)), labels]
    ranks = (masses < own[:, None]).sum(axis=1) + 1
    free = int(np.sort(ranks)[min(int(np.ceil(coverage * len(ranks))), len(ranks)) - 1])
    sizes = []
    for penalty in PENALTIES:
        rule = set_rule(probabilities, labels, coverage=coverage, penalty=penalty, free=free)
        sizes.append(prediction_sets(probabilities, rule).sum(axis=1).mean())
    return PENALTIES[int(np.argmin(np.round(sizes, 9)))], free
