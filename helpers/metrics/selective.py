"""Selective classification: how the risk falls when the least confident images are left out.

All areas are means over the N coverages 1/N, 2/N … 1.  Images with the same confidence are one
group in random order, and each value is the expectation over that order.  The order of the files
never matters, although float32 confidences saturate at 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.checks import float_array
from helpers.metrics.inputs import correct_array
from helpers.metrics.ranking import cumulative_counts, even_keys, ranked_places

# From here on, two terms of the series of a harmonic number are exact.
_SERIES = 2048


def harmonic_numbers(largest: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Return :math:`H_n = \sum_{k \le n} 1/k` and :math:`S_n = \sum_{j < n} H_j`, n from 0 on.

    >>> harmonic_numbers(2)
    (array([0. , 1. , 1.5]), array([-0.,  0.,  1.]))
    """
    places = np.arange(largest + 1)
    harmonic = np.append(0.0, np.cumsum(1 / places[1:]))
    return harmonic, places * (harmonic - 1)


def _harmonic(numbers: np.ndarray) -> np.ndarray:
    r"""Return :math:`H_n` of whole numbers n [G], without a long table, by the series of Euler.

    >>> numbers = np.array([0, 2, 3000])
    >>> np.allclose(_harmonic(numbers), harmonic_numbers(3000)[0][numbers], rtol=1e-14, atol=0)
    True
    """
    inverse = 1 / np.maximum(numbers, _SERIES)
    series = np.euler_gamma - np.log(inverse) + inverse * (0.5 - inverse / 12)
    small = np.flatnonzero(numbers < _SERIES)
    if len(small):
        series[small] = harmonic_numbers(_SERIES)[0][numbers[small]]
    return series


def _mean_harmonic(more: np.ndarray, places: np.ndarray) -> np.ndarray:
    r"""Return the mean of :math:`H_{j-1}` over the places j of tied groups, float64 [G].

    A group is on the places from `more` + 1 to `places`: with :math:`S_n = n (H_n - 1)`, the sum
    of the first n harmonic numbers, it is :math:`(S_b - S_a) / (b - a)`, and alone :math:`H_a`.
    """
    means = _harmonic(more)
    tied = np.flatnonzero(places - more > 1)
    if len(tied):
        above = more[tied]
        last = places[tied]
        sums = last * (_harmonic(last) - 1) - above * (means[tied] - 1)
        means[tied] = sums / (last - above)
    return means


def _ranked_errors(confidence, correct) -> tuple[int, Iterator]:
    """Return N, and the `ranked_places` of the errors."""
    confidence = float_array("confidence", confidence, finite=False)
    correct = correct_array(correct, length=len(confidence))
    keys = even_keys(confidence.copy())
    keys += correct
    return len(keys), ranked_places(keys)


def risk_coverage_curve(confidence, correct) -> tuple[np.ndarray, np.ndarray]:
    """Return the risk among the most confident images at every coverage.

    Source: Geifman and El-Yaniv 2017.

    Parameters
    ----------
    confidence, correct : array_like, shape [N]
        As in `aurc`.

    Returns
    -------
    coverage : ndarray of float64, shape [N]
        1/N, 2/N … 1.
    risk : ndarray of float64, shape [N]
        Expected error rate among that share of most confident images; ties in random order.

    Examples
    --------
    >>> risk_coverage_curve([0.9, 0.9, 0.5], [True, False, False])
    (array([0.33333333, 0.66666667, 1.        ]), array([0.5       , 0.5       , 0.66666667]))
    """
    confidence = float_array("confidence", confidence, finite=False)
    wrong = ~correct_array(correct, length=len(confidence))
    _, accepted, errors = cumulative_counts(confidence, wrong)
    counts = np.arange(1, len(confidence) + 1)
    # within a tied group in random order, the expectation grows linearly
    expected = np.interp(counts, np.append(0, accepted), np.append(0, errors))
    return counts / len(confidence), expected / counts


def aurc(confidence, correct) -> float:
    r"""Return the area under the risk–coverage curve (AURC).

    .. math:: \mathrm{AURC} = \frac{1}{N} \sum_{k=1}^{N} \mathbb{E}[\mathrm{risk}(k)]

    with risk(k) the error rate among the k most confident images, ties in random order. Source:
    Geifman, Uziel and El-Yaniv 2019, section 3.  An error is among the k most confident for every k
    from its place j on, so it adds :math:`H_N - H_{j-1}` to the sum of the risks, with the harmonic
    numbers :math:`H_n = \sum_{k \le n} 1/k`; errors of a tied group add the mean over its places.

    Parameters
    ----------
    confidence : array_like, shape [N]
        A score, higher = more confident.
    correct : array_like of bool, shape [N]
        Whether each image is classified correctly; unknown images never are.

    Returns
    -------
    float
        In [0, 1], lower is better.  A constant confidence gives the error rate.

    Examples
    --------
    >>> aurc([0.9, 0.8, 0.7, 0.6], [True, True, False, True])
    0.14583333333333326
    """
    total, errors = _ranked_errors(confidence, correct)
    last = _harmonic(np.array([total]))
    risk = 0.0
    for _, below, not_above in errors:
        risk += (last - _mean_harmonic(total - not_above, total - below)).sum()
    return float(risk / total)


def eaurc(confidence, correct) -> float:
    r"""Return the excess AURC: the AURC minus the AURC of the best ranking with as many errors.

    The optimum is the AURC of these N images with all errors ranked last, so a perfect ranking
    gives exactly 0.  The published closed form :math:`r + (1 - r) \ln(1 - r)`, with error rate r,
    is its limit for large N. Source: Geifman, Uziel and El-Yaniv 2019, section 3.

    Parameters
    ----------
    confidence, correct : array_like, shape [N]
        As in `aurc`.

    Returns
    -------
    float
        In [0, 1), lower is better; 0 if all images are correct, or all are incorrect.

    Examples
    --------
    >>> eaurc([0.9, 0.8, 0.1], [True, True, False])
    0.0
    """
    _, risk = risk_coverage_curve(confidence, correct)
    counts = np.arange(1, len(risk) + 1)
    correct_count = len(risk) - np.rint(risk[-1] * len(risk))
    best = np.maximum(counts - correct_count, 0) / counts
    return max(0.0, float(risk.mean() - best.mean()))  # below 0 only by rounding


def augrc(confidence, correct) -> float:
    r"""Return the area under the generalised risk–coverage curve (AUGRC).

    .. math:: \mathrm{AUGRC} = \frac{1}{N} \sum_{k=1}^{N} \frac{\mathbb{E}[\mathrm{errors}(k)]}{N}

    The generalised risk, risk × coverage, is the share of *all* images that are accepted and
    incorrect. Unlike AURC, it does not weight the most confident errors up to N times as much as
    others.  Source: Traub et al. 2024.  They integrate by trapezoids from coverage 0, which is less
    by the error rate / (2 N): with accuracy a, their value is
    :math:`(1 - \mathrm{AUROC})\,a(1 - a) + \tfrac12 (1 - a)^2`.

    Parameters
    ----------
    confidence, correct : array_like, shape [N]
        As in `aurc`.

    Returns
    -------
    float
        In [0, 1], at most (1 + 1/N) / 2 for a model that is always incorrect; lower is better.

    Examples
    --------
    >>> augrc([0.9, 0.8, 0.7, 0.6], [True, True, False, True])
    0.125
    """
    total, errors = _ranked_errors(confidence, correct)
    # an error is among the k most confident images from its place on, in the mean over a tied group
    doubled = sum(int((1 + below + not_above).sum()) for _, below, not_above in errors)
    return doubled / (2.0 * total**2)
