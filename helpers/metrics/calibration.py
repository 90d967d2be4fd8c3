"""Accuracy, NLL, ECE and Brier score of probabilities [N, K] and labels, 0 to K − 1.

An image of an unknown class (label −1) is never classified correctly, so accuracy and calibration
error include it.  NLL and Brier score have no term for it and refuse it (see `open_set_brier`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from helpers.checks import label_array, plain_array, whole_number
from helpers.metrics.inputs import (
    are_plain_probabilities,
    bin_count,
    correct_array,
    probability_array,
    share_array,
)

_BLOCK = 2**17  # numbers: a megabyte in double precision
#: Up to so many columns or bins, operations on columns or edges are the faster ones.
_FEW = 32


class ReliabilityCurve(NamedTuple):
    """The bins of a reliability diagram that hold any image, B of them.

    Attributes
    ----------
    edges : ndarray, shape [B, 2]
        Lower (exclusive) and upper (inclusive) edge of each bin.
    confidence, accuracy, count : ndarray, shape [B]
        Mean confidence, share of correct answers, and number of images (at least 1) of each bin.
    """

    edges: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray
    count: np.ndarray  # type: ignore[assignment]  # no need here of the method of that name


def accuracy(probabilities, labels, *, top: int = 1) -> float:
    """Return the share of images whose class is among the `top` most probable ones.

    Parameters
    ----------
    probabilities : array_like, shape [N, K]
        Rows that sum to 1.
    labels : array_like of int, shape [N]
        0 to K − 1; −1 (unknown class) is always incorrect.
    top : int
        1 to K.  Equally probable classes are ordered by index, as in `numpy.argmax`.

    Returns
    -------
    float
        In [0, 1], higher is better.

    Examples
    --------
    >>> accuracy([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]], [1, 1])
    0.5
    >>> accuracy([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]], [1, 1], top=2)
    1.0
    """
    return float(hits(probabilities, labels, top=top).mean())


def hits(probabilities, labels, *, top: int = 1) -> np.ndarray:
    """Return which images `accuracy` counts, bool [N]; its parameters.

    >>> hits([[0.4, 0.4, 0.2], [0.4, 0.4, 0.2]], [0, 1])
    array([ True, False])
    """
    of_blocks = []
    for block, own_labels in _blocks(probabilities, labels, unknown=True):
        classes = block.shape[1]
        column = own_labels[:, None]
        if not whole_number("top", top) <= classes:
            raise ValueError(f"top: 1 to {classes} expected, got {top}")
        if top == 1:
            of_blocks.append(_answers(block)[1] == own_labels)
            continue
        p_true = np.take_along_axis(block, column, axis=1)  # of −1 the last, unused
        ahead = (block > p_true) | ((block == p_true) & (np.arange(classes) < column))
        of_blocks.append((ahead.sum(axis=1) < top) & (own_labels >= 0))
    return np.concatenate(of_blocks)


def nll(probabilities, labels) -> float:
    r"""Return the negative log-likelihood, the mean of :math:`-\log p_{i, y_i}`, in nats.

    Parameters
    ----------
    probabilities : array_like, shape [N, K]
        Rows that sum to 1.
    labels : array_like of int, shape [N]
        0 to K − 1.

    Returns
    -------
    float
        In [0, ∞], lower is better; infinite if a true class has probability 0.  Values are not
        clipped: use probabilities from `helpers.scores.calibration.softmax`, which is float64.

    Examples
    --------
    >>> nll([[0.5, 0.5]], [0])  # log(2)
    0.6931471805599453
    """
    blocks = _blocks(probabilities, labels)
    true = [block[np.arange(len(block)), truth] for block, truth in blocks]
    p_true = np.concatenate(true, dtype=np.float64)
    with np.errstate(divide="ignore"):
        # Adding 0.0 turns the −0.0 of a certain answer into 0.0.
        return float(-np.log(p_true).mean() + 0.0)


def squared_errors(probabilities, labels) -> np.ndarray:
    r"""Return each image's term of the Brier score, :math:`\sum_k (p_{ik} - [y_i = k])^2`.

    Parameters
    ----------
    probabilities, labels : array_like, shape [N, K] and [N]
        As in `brier`.

    Returns
    -------
    ndarray of float64, shape [N]
        In [0, 2]; their mean is `brier`, and `weighted_mean` resamples them.
    """
    sums = []
    for block, truth in _blocks(probabilities, labels):
        errors = block.astype(np.float64)
        errors[np.arange(len(block)), truth] -= 1
        sums.append(np.square(errors, out=errors).sum(axis=1))
    return np.concatenate(sums)


def brier(probabilities, labels) -> float:
    r"""Return the Brier score, summed over classes and averaged over images.

    .. math:: \frac{1}{N} \sum_{i=1}^{N} \sum_{k=1}^{K} (p_{ik} - [y_i = k])^2

    Not divided by K, as in Brier's own definition; some libraries do divide. Source: Brier 1950.

    Parameters
    ----------
    probabilities : array_like, shape [N, K]
        Rows that sum to 1.
    labels : array_like of int, shape [N]
        0 to K − 1.

    Returns
    -------
    float
        In [0, 2], lower is better.

    Examples
    --------
    >>> brier([[0.5, 0.5], [0.0, 1.0]], [0, 1])
    0.25
    """
    return float(squared_errors(probabilities, labels).mean())


def bin_of(confidence: np.ndarray, bins: int) -> np.ndarray:
    """Return the index of each confidence's bin among equal, right-closed bins over [0, 1].

    Bin b holds b/bins < c ≤ (b + 1)/bins; confidence 0 falls into the first, 1 into the last.

    >>> bin_of(np.array([0.0, 0.5, 0.51, 1.0]), 2)
    array([0, 0, 1, 1])
    """
    edges = np.arange(1, bins) / bins
    if bins > _FEW:
        return np.searchsorted(edges, confidence, side="left")
    # the number of edges below each: a comparison of all values is faster than a search
    index = np.zeros(len(confidence), dtype=np.uint8)
    for edge in edges:
        index += confidence > edge
    return index.astype(np.int64)


def calibration_error(confidence, correct, *, bins: int = 15) -> float:
    r"""Return the expected calibration error (ECE) of answers and their confidences.

    .. math:: \sum_b \frac{n_b}{N} \left| \mathrm{acc}_b - \mathrm{conf}_b \right|

    over equal, right-closed bins of [0, 1]: confidence 1 belongs to the last bin, 0 to the first.
    Source: Naeini, Cooper and Hauskrecht 2015; 15 bins as in Guo et al. 2017.

    Parameters
    ----------
    confidence : array_like, shape [N]
        In [0, 1].
    correct : array_like of bool, shape [N]
        Whether each answer is right.
    bins : int
        At least 1.

    Returns
    -------
    float
        In [0, 1], lower is better.  Biased upwards for few images, see
        `calibration_error_floor`.

    Examples
    --------
    >>> calibration_error([1.0, 1.0, 0.75, 0.75], [True, True, True, False])
    0.125
    """
    confidence = share_array("confidence", confidence)
    gap = correct_array(correct, length=len(confidence)) - confidence
    sums = np.bincount(bin_of(confidence, bin_count(bins)), weights=gap)
    return float(np.abs(sums).sum() / len(confidence))


def ece(probabilities, labels, *, bins: int = 15) -> float:
    """Return the expected calibration error of the most probable class.

    `calibration_error` of the largest probability and of whether its class is the right one.

    Parameters
    ----------
    probabilities, labels : array_like, shape [N, K] and [N]
        As in `accuracy`: an unknown image (−1) is always incorrect.
    bins : int
        Equal, right-closed bins over [0, 1], at least 1.

    Returns
    -------
    float
        In [0, 1], lower is better.

    Examples
    --------
    >>> ece([[0.8, 0.2], [0.8, 0.2]], [0, 0])
    0.19999999999999996
    """
    confidence = []
    correct = []
    for block, truth in _blocks(probabilities, labels, unknown=True):
        largest, answers = _answers(block)
        confidence.append(largest)
        correct.append(answers == truth)
    return calibration_error(np.concatenate(confidence), np.concatenate(correct), bins=bins)


def calibration_error_floor(confidence, *, bins: int = 15, seed: int = 0) -> float:
    """Return the ECE that perfect calibration would show with these confidences.

    On finitely many images the accuracy in a bin scatters around its confidence.  ECE adds up the
    absolute differences, so a perfectly calibrated model does not reach 0.  We draw each answer as
    correct with probability equal to its confidence, 200 times, and return the mean ECE.

    Parameters
    ----------
    confidence, bins
        As in `calibration_error`.
    seed : int
        Seed of the draws.

    Returns
    -------
    float
        In [0, 1]; 0 where every confidence is 0 or 1.

    Examples
    --------
    >>> calibration_error_floor([0.0, 1.0])
    0.0
    >>> few, many = calibration_error_floor([0.9] * 10), calibration_error_floor([0.9] * 1000)
    >>> few > 5 * many
    True
    """
    confidence = share_array("confidence", confidence)
    bins = bin_count(bins)
    whole_number("seed", seed, least=0)
    order = np.argsort(confidence, kind="stable")  # bins become runs for one reduceat
    confidence = confidence[order]
    starts = np.unique(bin_of(confidence, bins), return_index=True)[1]
    expected = np.add.reduceat(confidence, starts)
    generator = np.random.default_rng(seed)
    errors = []
    for _ in range(200):
        drawn = generator.random(len(confidence)) < confidence
        hits = np.add.reduceat(drawn, starts, dtype=float)
        errors.append(np.abs(hits - expected).sum())
    return float(np.mean(errors) / len(confidence))


def reliability_curve(confidence, correct, *, bins: int = 15) -> ReliabilityCurve:
    """Return accuracy against confidence, bin by bin: the points of a reliability diagram.

    The mean of \\|accuracy − confidence\\| weighted by count is `calibration_error`.

    Parameters
    ----------
    confidence, correct, bins
        As in `calibration_error`.

    Returns
    -------
    ReliabilityCurve
        Edges, mean confidence, accuracy and count.  Bins without images are left out, so no value
        is NaN.

    Examples
    --------
    >>> curve = reliability_curve([0.4, 0.8, 1.0], [False, True, True], bins=2)
    >>> curve.accuracy, curve.count
    (array([0., 1.]), array([1, 2]))
    """
    confidence = share_array("confidence", confidence)
    correct = correct_array(correct, length=len(confidence))
    bins = bin_count(bins)
    index = bin_of(confidence, bins)
    count = np.bincount(index, minlength=bins)
    filled = np.flatnonzero(count)
    count = count[filled]
    return ReliabilityCurve(
        edges=np.stack([filled, filled + 1], axis=1) / bins,
        confidence=np.bincount(index, weights=confidence, minlength=bins)[filled] / count,
        accuracy=np.bincount(index, weights=correct, minlength=bins)[filled] / count,
        count=count,
    )


def _answers(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest probability of each row, and its column: the first of equal ones.

    >>> _answers(np.array([[0.5, 0.5], [0.2, 0.8]]))
    (array([0.5, 0.8]), array([0, 1]))
    """
    rows, classes = block.shape
    if classes > _FEW:
        answers = block.argmax(axis=1)
        return block[np.arange(rows), answers], answers
    # NumPy compares whole columns faster than many short rows
    columns = np.ascontiguousarray(block.T)
    largest = columns[0].copy()
    answers = np.zeros(rows, dtype=np.uint8)
    for column, values in enumerate(columns):
        larger = (values > largest).view(np.uint8)
        np.maximum(answers, larger * np.uint8(column), out=answers)
        np.maximum(largest, values, out=largest)
    return largest, answers.astype(np.int64)


def _blocks(probabilities, labels, *, unknown: bool = False) -> Iterator[tuple]:
    """Yield the checked probabilities, and labels, of some images after another.

    A block fits into the processor's cache: a million rows in single precision are read once, and
    never copied as a whole.  Valid blocks keep their precision.
    """
    array = plain_array("probabilities", probabilities)
    if array.ndim != 2 or not array.size:
        probability_array("probabilities", array)  # raises an error that names the problem
    length, classes = array.shape
    labels = plain_array("labels", labels)
    labels = label_array("labels", labels, classes=classes, length=length, unknown=unknown)
    rows = max(1, _BLOCK // classes)
    for start in range(0, length, rows):
        block_rows = slice(start, start + rows)
        block = array[block_rows]
        if not are_plain_probabilities(block):
            try:
                block = probability_array("probabilities", block)
            except ValueError:
                probability_array("probabilities", array)  # raises the error for all rows
                raise
        yield block, labels[block_rows]
