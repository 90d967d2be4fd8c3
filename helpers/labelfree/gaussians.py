"""A mixture of two Gaussians, fitted to scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from helpers.labelfree.parts import Parts, SortedScores, two_means
from helpers.metrics.inputs import share_array

# What scikit-learn adds to all variances by default, here in units of the scores' own variance: a
# score that lies within some 1e-4, as ODIN's does, would otherwise be all floor.
_FLOOR = 1e-6
_TOLERANCE, _LONGEST = 1e-10, 300
# Steps before any is accelerated, which decide where it ends; how many steps a guess is made of;
# and how much further than the last the next guess may lead, until it leads as far as 1.
_PLAIN, _REMEMBERED, _GROWTH = 5, 6, 4.0
# Where a component is as narrow as the floor, EM ends a little beside the highest likelihood.
_ROUNDING, _SLACK = 1e-12, 1e-6
_ENDLESS = 1e200  # log odds that none reaches, and whose roots are finite


@dataclass(frozen=True)
class Mixture:
    """A mixture of two Gaussians, the one with the higher mean first.

    `converged`: a further step would change nothing by more than 1e-10 of the scores' spread.
    """

    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray
    converged: bool


def fit_mixture(scores) -> Mixture:
    """Fit a mixture of two Gaussians by expectation–maximisation (EM).

    It starts from the groups of `two_means` and ends when a step moves no weight by more than
    1e-10, and no mean or deviation by more than 1e-10 of the scores' standard deviation.
    """
    # The result equals scikit-learn's GaussianMixture, started from the same groups, with a
    # reg_covar of 1e-6 times the variance of the scores.  EM needs many steps if the components
    # overlap, so after the first steps we extrapolate from the last few (Anderson acceleration,
    # Walker and Ni 2011).  We undo a guess that lowers the likelihood, and limit its reach, so
    # the fit ends where plain EM ends.
    scores = SortedScores.of(scores)
    start, count = two_means(scores), len(scores.values)
    powers = np.stack([np.ones(count), scores.standard, scores.standard**2])
    totals = powers.sum(axis=1).tolist()
    means = (start.means - scores.centre) / scores.scale
    place = _place(start.counts, means, (start.deviations / scores.scale) ** 2)
    places, steps, guessed, reach = [], [], False, 1.0
    highest, shortest, converged = -np.inf, np.inf, False
    for passes in range(1, _LONGEST + 1):
        step, likelihood = _em_step(place, powers, totals)
        length = np.linalg.norm(step)
        if guessed:
            likelier = likelihood >= highest - _ROUNDING
            if not likelier and not (likelihood >= highest - _SLACK and length < shortest):
                place, guessed, reach = places[-1] + steps[-1], False, max(1.0, reach / _GROWTH)
                continue
            reach *= _GROWTH
        highest, shortest = likelihood, min(shortest, length)
        places, steps = [*places, place][-_REMEMBERED:], [*steps, step][-_REMEMBERED:]
        converged = np.abs(step * np.exp([0, 0, 0, *place[3:] / 2])).max() <= _TOLERANCE
        if converged:
            break
        guessed = passes > _PLAIN
        place = place + step + (_jump(places, steps, min(1.0, reach * length)) if guessed else 0)
    odds, *means = places[-1][:3]
    order = np.argsort(means)[::-1]
    return Mixture(
        weights=expit([odds, -odds])[order],
        means=scores.centre + scores.scale * np.array(means)[order],
        deviations=scores.scale * np.exp(places[-1][3:] / 2)[order],
        converged=bool(converged),
    )


def _place(counts, means, variances) -> np.ndarray:
    """Return the parameters of a mixture as log odds, means and log variances, free of bounds."""
    # a component that has died out keeps a place
    first, second = (max(float(count), 0.0) + 1e-15 for count in counts)
    widths = (math.log(variance + _FLOOR) for variance in variances)
    return np.array([math.log(first / second), *means, *widths])


def _em_step(place: np.ndarray, powers: np.ndarray, totals: list) -> tuple[np.ndarray, float]:
    """Return where a step of EM leads from a place, and the mean log likelihood there.

    One exponential and one logarithm per score; `powers` [3, N] holds 1, the score and its square,
    of which the log odds of the components and all sums are products, and `totals` [3] their sums.
    Pairs are plain numbers, since arrays of two numbers are slow.
    """
    odds, *rest = place.tolist()
    logs = []  # of each density, less what both share, as coefficients of the powers
    for odd, mean, width in zip((odds, -odds), rest[:2], rest[2:], strict=True):
        precision = math.exp(-width)
        log = -math.log1p(math.exp(-odd)) - (width + mean**2 * precision) / 2
        logs.append((log, mean * precision, -precision / 2))
    signed = np.subtract(*logs) @ powers
    # log(exp(a) + exp(b)) is the mean of both, half their distance, and log(1 + exp(-distance))
    difference = -np.abs(signed)
    likelihood = sum((a + b) * total for a, b, total in zip(*logs, totals, strict=True))
    likelihood = (likelihood - difference.sum()) / 2
    both = 1 + np.exp(difference)
    likelihood += np.log(both).sum()
    shares = np.where(signed > 0, 1 / both, 1 - 1 / both)
    sums, moments = (powers @ shares).tolist(), []
    for count, *powered in (sums, [a - b for a, b in zip(totals, sums, strict=True)]):
        mean, square = (value / max(count, 1e-15) for value in powered)
        moments.append((count, mean, max(square - mean**2, 0.0)))
    return _place(*zip(*moments, strict=True)) - place, likelihood / totals[0]


def _jump(places: list, steps: list, longest: float) -> np.ndarray:
    """Return where to add to a step of EM, from how the steps changed between the last places.

    That leads to where steps vanish.  Where they still grow it would lead back, and the step is
    made longer instead.
    """
    moves, changes = np.diff(places, axis=0), np.diff(steps, axis=0)
    jump = -np.linalg.lstsq(changes.T, steps[-1])[0] @ (moves + changes)
    if jump @ steps[-1] <= 0:
        jump = longest * steps[-1] / np.linalg.norm(steps[-1])
    length = np.linalg.norm(jump)
    return jump * (longest / length) if length > longest else jump


def mixture_parts(scores, mixture: Mixture, taus) -> Parts:
    r"""Split scores by the posterior probability of the component with the higher mean.

    The ID part is where it exceeds τ.  The log odds of two Gaussians are a quadratic function, so
    it is an interval, or all but one.
    """
    scores, taus = SortedScores.of(scores), share_array("taus", taus)
    gap, precisions = mixture.means[0] - mixture.means[1], mixture.deviations**-2.0
    # log odds of the first component at its mean plus y: a y² + b y + c, where b is at least 0
    a = (precisions[1] - precisions[0]) / 2
    b = gap * precisions[1]
    c = np.log(mixture.weights[0] / mixture.weights[1]) + gap**2 * precisions[1] / 2
    c += np.log(mixture.deviations[1] / mixture.deviations[0])
    c = c - np.nan_to_num(logit(taus), posinf=_ENDLESS, neginf=-_ENDLESS)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = -(b + np.sqrt(b**2 - 4 * a * c)) / 2
        near, far = c / far, np.where(a == 0, np.inf, far / a)
    # NaN, where the log odds never reach those of τ, sorts behind all scores: an empty interval
    values = scores.values - mixture.means[0]
    if a <= 0:
        first, last = np.searchsorted(values, near, "right"), np.searchsorted(values, far, "left")
        return scores.split(first, np.maximum(first, last))
    first, last = np.searchsorted(values, far, "left"), np.searchsorted(values, near, "right")
    return scores.split(first, np.maximum(first, last)).swap()
