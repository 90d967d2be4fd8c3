"""A mixture of two Gaussians, fitted to scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from helpers.labelfree.splits import Parts, SortedScores, two_means
from helpers.metrics.inputs import share_array

# scikit-learn's default addition to all variances, here in units of the scores' own variance: it
# would otherwise dominate scores with a range of some 1e-4, such as ODIN's.
_FLOOR = 1e-6
_TOLERANCE = 1e-8
_LONGEST = 1000
_ENDLESS = 1e200  # log odds that none reaches, and whose roots are finite


@dataclass(frozen=True)
class Mixture:
    """A mixture of two Gaussians, in the order of decreasing means."""

    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray

    def components(self, count: int) -> Parts:
        """Return the components as two parts of `count` scores; neither part is cut off."""
        return Parts(self.means, self.deviations, np.round(count * self.weights).astype(int))


def fit_mixture(scores) -> Mixture:
    """Fit a mixture of two Gaussians by expectation–maximisation (EM).

    It starts from the groups of `two_means` and ends when a step changes no log odds by more than
    1e-8, and no mean or deviation by more than 1e-8 of the scores' standard deviation, or after
    1,000 steps.  scikit-learn's GaussianMixture from this start gives a similar result.
    """
    scores = SortedScores.of(scores)
    start = two_means(scores)
    count = len(scores.values)
    powers = np.stack([np.ones(count), scores.standard, scores.standard**2])
    totals = powers.sum(axis=1).tolist()
    means = (start.means - scores.centre) / scores.scale
    parameters = _unbounded(start.counts, means, (start.deviations / scores.scale) ** 2)
    for _ in range(_LONGEST):
        step = _em_step(parameters, powers, totals)
        parameters = parameters + step
        deviations = np.exp(parameters[3:] / 2)
        if np.abs(step * [1, 1, 1, *deviations]).max() <= _TOLERANCE:
            break
    odds, *means = parameters[:3]
    order = np.argsort(means)[::-1]
    return Mixture(
        weights=expit([odds, -odds])[order],
        means=scores.centre + scores.scale * np.array(means)[order],
        deviations=scores.scale * np.exp(parameters[3:] / 2)[order],
    )


def _unbounded(counts, means, variances) -> np.ndarray:
    """Return the parameters of a mixture as log odds, means and log variances, free of bounds."""
    # a component without scores keeps a small weight
    first, second = [max(float(count), 0.0) + 1e-15 for count in counts]
    widths = [math.log(variance + _FLOOR) for variance in variances]
    return np.array([math.log(first / second), *means, *widths])


def _log_density(odds: float, mean: float, width: float) -> tuple[float, float, float]:
    """Return a weighted log density, less what both share, as coefficients of the powers."""
    precision = math.exp(-width)
    constant = -math.log1p(math.exp(-odds)) - (width + mean**2 * precision) / 2
    return constant, mean * precision, -precision / 2


def _em_step(parameters: np.ndarray, powers: np.ndarray, totals: list) -> np.ndarray:
    """Return how a step of EM changes the parameters.

    `powers` [3, N] has 1, the score and its square, and `totals` [3] their sums.  The log odds of
    the components and all sums are products of `powers`, so a score costs one exponential.
    """
    odds, first_mean, second_mean, first_width, second_width = parameters.tolist()
    first_log = _log_density(odds, first_mean, first_width)
    second_log = _log_density(-odds, second_mean, second_width)
    shares = expit(np.subtract(first_log, second_log) @ powers)
    first_sums = (powers @ shares).tolist()
    second_sums = [total - first for total, first in zip(totals, first_sums, strict=True)]
    counts = []
    means = []
    variances = []
    for count, total, squares in (first_sums, second_sums):
        divisor = max(count, 1e-15)
        mean = total / divisor
        counts.append(count)
        means.append(mean)
        variances.append(max(squares / divisor - mean**2, 0.0))
    return _unbounded(counts, means, variances) - parameters


def mixture_parts(scores, mixture: Mixture, taus) -> Parts:
    r"""Split scores by the posterior probability of the component with the higher mean.

    The ID part contains the scores whose probability exceeds τ.  The log odds of two Gaussians are
    a quadratic function, so the ID part is an interval or the complement of an interval.
    """
    scores = SortedScores.of(scores)
    taus = share_array("taus", taus)
    gap = mixture.means[0] - mixture.means[1]
    precisions = mixture.deviations**-2.0
    # log odds of the first component at its mean plus y: a y² + b y + c, where b is at least 0
    a = (precisions[1] - precisions[0]) / 2
    b = gap * precisions[1]
    c = np.log(mixture.weights[0] / mixture.weights[1]) + gap**2 * precisions[1] / 2
    c += np.log(mixture.deviations[1] / mixture.deviations[0])
    c = c - np.nan_to_num(logit(taus), posinf=_ENDLESS, neginf=-_ENDLESS)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = -(b + np.sqrt(b**2 - 4 * a * c)) / 2
        near = c / far
        far = np.where(a == 0, np.inf, far / a)
    # NaN if the log odds never reach those of τ; it sorts behind all scores: an empty interval
    values = scores.values - mixture.means[0]
    if a <= 0:
        first = np.searchsorted(values, near, "right")
        last = np.searchsorted(values, far, "left")
        return scores.split(first, np.maximum(first, last))
    first = np.searchsorted(values, far, "left")
    last = np.searchsorted(values, near, "right")
    return scores.split(first, np.maximum(first, last)).swap()
