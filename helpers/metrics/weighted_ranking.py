"""Ranking metrics of bootstrap replicates, by weights on scores that are sorted once.

Which images lie above a threshold does not change when images are drawn again, only how often each
of them counts.  So the images are sorted once, and a replicate costs one cumulative sum of its
weights: no array is resampled, and nothing is sorted a second time.  All counts are whole numbers,
and every value is that of the plain metric on the images repeated by their weights.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.checks import float_array
from helpers.metrics.inputs import correct_array
from helpers.metrics.ranking import cumulative_counts, required_count
from helpers.metrics.selective import harmonic_numbers

_BLOCK = 2**18  # counts held at a time, in each of a few arrays: about the size of a CPU's cache


def _count_array(name: str, weights, length: int) -> np.ndarray:
    """Return `weights` as an array of whole numbers [B, length], or say what is wrong with it."""
    weights = np.asarray(weights)
    if weights.ndim != 2 or weights.shape[1] != length or len(weights) == 0:
        raise ValueError(f"{name}: shape [B, {length}] expected, got {weights.shape}")
    if weights.dtype.kind not in "ui" or weights.min() < 0:
        raise ValueError(f"{name}: whole numbers of at least 0 expected, how often each is drawn")
    return weights


def _totals(name: str, weights: np.ndarray) -> np.ndarray:
    totals = weights.sum(axis=1, dtype=np.int64)
    if not totals.all():
        raise ValueError(f"{name}: a row sums to 0")
    return totals


def _drawn(first, first_weights, second, second_weights) -> Iterator[tuple]:
    """Yield, for one block of rows of weights after another, what each threshold accepts.

    Parameters
    ----------
    first, second : ndarray of float64, shape [P] and [U]
        Scores of two groups of images; one group may be empty.
    first_weights, second_weights : ndarray of int, shape [B, P] and [B, U]
        How often each image is drawn.

    Yields
    ------
    rows : slice
        Of the weights.
    accepted : pair of ndarray of int64, shape [rows, G + 1]
        How many images of each group the threshold at each of the G distinct scores accepts, from
        the highest down, after a first column of zeros.
    """
    scores = np.concatenate([first, second])
    _, accepted, ranks = cumulative_counts(scores, np.arange(len(scores)) < len(first))
    groups = [
        (weights, np.argsort(-values), np.append(0, rank))
        for values, weights, rank in (
            (first, first_weights, ranks),
            (second, second_weights, accepted - ranks),
        )
    ]
    block = max(1, _BLOCK // len(scores))
    for start in range(0, len(first_weights), block):
        rows = slice(start, start + block)
        counts = []
        for weights, order, rank in groups:
            part = weights[rows]
            running = np.zeros((len(part), len(order) + 1), dtype=np.int64)
            np.cumsum(part.take(order, axis=1), axis=1, out=running[:, 1:])
            counts.append(running.take(rank, axis=1))
        yield rows, tuple(counts)


def _known_and_unknown(known, unknown, known_weights, unknown_weights):
    """Return the checked arguments, and the weights' row sums."""
    known = float_array("known", known, finite=False)
    unknown = float_array("unknown", unknown, finite=False)
    known_weights = _count_array("known_weights", known_weights, len(known))
    unknown_weights = _count_array("unknown_weights", unknown_weights, len(unknown))
    if len(known_weights) != len(unknown_weights):
        raise ValueError(
            f"unknown_weights: as many rows as known_weights ({len(known_weights)}) expected, got"
            f" {len(unknown_weights)}"
        )
    positives = _totals("known_weights", known_weights)
    negatives = _totals("unknown_weights", unknown_weights)
    return (known, known_weights, unknown, unknown_weights), positives, negatives


def weighted_aurc(confidence, correct, weights) -> np.ndarray:
    r"""Return `aurc`, once for each row of weights.

    An error is among the k most confident for every k from its own place on, so at place j of N
    it adds :math:`H_N - H_{j-1}` to the sum of the risks, with the harmonic numbers
    :math:`H_n = \sum_{k \le n} 1/k`.  The e errors of a tied group, which fills the places from
    a + 1 to b in random order, add the mean over these places:

    .. math:: \mathrm{AURC} = \frac{1}{N} \sum_g e_g
              \left( H_N - \frac{S_b - S_a}{b - a} \right), \qquad
              S_n = \sum_{j < n} H_j = n (H_n - 1)

    Parameters
    ----------
    confidence, correct : array_like, shape [N]
        As in `aurc`.
    weights : array_like of int, shape [B, N]
        From `resample_weights`.

    Returns
    -------
    ndarray of float64, shape [B]
        In [0, 1], lower is better.

    Raises
    ------
    ValueError
        As `aurc`; weights of another shape, negative or not whole, or a row that sums to 0.

    Notes
    -----
    Geifman, Uziel and El-Yaniv 2019, section 3; the sum over errors is this project's.

    Examples
    --------
    >>> weighted_aurc([0.9, 0.8, 0.7, 0.6], [True, True, False, True], [[1, 1, 1, 1], [0, 2, 2, 0]])
    array([0.14583333, 0.20833333])
    """
    confidence = float_array("confidence", confidence, finite=False)
    correct = correct_array(correct, length=len(confidence))
    weights = _count_array("weights", weights, len(confidence))
    totals = _totals("weights", weights)
    harmonic, summed = harmonic_numbers(totals.max())
    areas = np.empty(len(weights))
    groups = (confidence[correct], weights[:, correct], confidence[~correct], weights[:, ~correct])
    for rows, (right, wrong) in _drawn(*groups):
        filled = right + wrong
        errors, size = np.diff(wrong), np.diff(filled)
        mean = np.diff(summed[filled]) / np.maximum(size, 1)  # nothing drawn, no errors either
        areas[rows] = errors.sum(axis=1) * harmonic[totals[rows]] - (errors * mean).sum(axis=1)
    return areas / totals


def weighted_auroc(known, unknown, known_weights, unknown_weights) -> np.ndarray:
    """Return `auroc`, once for each row of weights.

    Parameters
    ----------
    known, unknown : array_like, shape [P] and [U]
        Scores, higher = more likely known.
    known_weights, unknown_weights : array_like of int, shape [B, P] and [B, U]
        From `resample_weights`, one call for each group.

    Returns
    -------
    ndarray of float64, shape [B]
        In [0, 1].

    Raises
    ------
    ValueError
        As `auroc`; weights of another shape, negative or not whole, different numbers of rows,
        or a row that sums to 0.

    Examples
    --------
    >>> weighted_auroc([3, 2, 1], [1, 0], [[1, 1, 1], [0, 0, 3]], [[1, 1], [1, 1]])
    array([0.91666667, 0.75      ])
    """
    groups, positives, negatives = _known_and_unknown(
        known, unknown, known_weights, unknown_weights
    )
    doubled = np.empty(len(positives))
    for rows, (true, false) in _drawn(*groups):
        doubled[rows] = (np.diff(false) * (true[:, 1:] + true[:, :-1])).sum(axis=1)
    return doubled / (2.0 * negatives * positives)


def weighted_fpr_at_tpr(
    known, unknown, known_weights, unknown_weights, *, tpr: float = 0.95
) -> np.ndarray:
    """Return `fpr_at_tpr` with ``positive="known"``, once for each row of weights.

    The threshold of a replicate is the largest that keeps at least `tpr` of the known images as
    often as they are drawn.

    Parameters
    ----------
    known, unknown : array_like, shape [P] and [U]
        Scores, higher = more likely known.
    known_weights, unknown_weights : array_like of int, shape [B, P] and [B, U]
        From `resample_weights`, one call for each group.
    tpr : float
        The share of known images to keep, in (0, 1].

    Returns
    -------
    ndarray of float64, shape [B]
        In [0, 1], lower is better.

    Raises
    ------
    ValueError
        As `fpr_at_tpr`; weights of another shape, negative or not whole, different numbers of
        rows, or a row that sums to 0.

    Notes
    -----
    Liang et al. 2018, section 4.2.

    Examples
    --------
    >>> known, unknown = [4, 3, 2, 1], [2.5, 0]
    >>> weights = [[1, 1, 1, 1], [2, 2, 0, 0]]
    >>> weighted_fpr_at_tpr(known, unknown, weights, [[1, 1], [1, 1]], tpr=0.75)
    array([0.5, 0. ])
    """
    groups, positives, negatives = _known_and_unknown(
        known, unknown, known_weights, unknown_weights
    )
    totals, places = np.unique(positives, return_inverse=True)  # few different ones, as a rule
    kept = np.array([required_count("tpr", tpr, int(total)) for total in totals])[places]
    accepted = np.empty(len(positives))
    for rows, (true, false) in _drawn(*groups):
        first = (true < kept[rows, None]).sum(axis=1, keepdims=True)
        accepted[rows] = np.take_along_axis(false, first, axis=1)[:, 0]
    return accepted / negatives
