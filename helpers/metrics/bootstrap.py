"""Bootstrap by weights: the number of draws of each image, instead of lists of drawn images.

A mean, an accuracy, a Brier score and an ECE are sums over images, so all replicates of one are
a matrix product of the weights with the images' terms, without further draws or sorting.
"""

from __future__ import annotations

import numpy as np

from helpers.checks import float_array, plain_array, whole_number
from helpers.metrics.calibration import bin_of
from helpers.metrics.inputs import bin_count, correct_array, share_array

_ROWS = 32  # replicates turned at a time, from rows into columns
_NUMBERS = 2**24  # and their numbers, which bound the memory


def resample_weights(n: int, *, replicates: int, seed: int) -> np.ndarray:
    """Return how often each of n images is drawn when n are drawn with replacement.

    The same seed gives the same weights: replicates of two methods on the same images are paired.
    Source: Efron 1979; each row follows the multinomial law with equal probabilities.

    Parameters
    ----------
    n, replicates : int
        Numbers of images and of bootstrap replicates B, at least 1.
    seed : int
        Seed of the draws.

    Returns
    -------
    ndarray of uint16, shape [B, n]
        Each row sums to n.  All weights of an image are contiguous in memory (column-major):
        `weighted_aurc` and similar functions use images in another order.

    Examples
    --------
    >>> weights = resample_weights(5, replicates=3, seed=0)
    >>> weights.shape, weights.sum(axis=1)
    ((3, 5), array([5, 5, 5], dtype=uint64))
    """
    for name, value, least in (("n", n, 1), ("replicates", replicates, 1), ("seed", seed, 0)):
        whole_number(name, value, least=least)
    generator = np.random.default_rng(seed)
    weights = np.empty((n, replicates), dtype=np.uint16).T
    rows = max(1, min(_ROWS, _NUMBERS // n))
    for start in range(0, replicates, rows):
        block_weights = weights[start : start + rows]
        counts = [np.bincount(generator.integers(n, size=n), minlength=n) for _ in block_weights]
        block_weights[:] = np.array(counts, dtype=np.uint16)
    return weights


def _weighted_sums(terms: np.ndarray, weights, power: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return ``weights**power @ terms`` [B, ...] and the weights' row sums [B], in float64."""
    weights = plain_array("weights", weights)
    if weights.ndim != 2 or weights.shape[1] != len(terms) or len(weights) == 0:
        raise ValueError(f"weights: shape [B, {len(terms)}] expected, got {weights.shape}")
    block = max(1, 2**21 // len(terms))  # bounds the memory of the conversion to float64
    sums = np.empty((len(weights), *terms.shape[1:]))
    totals = np.empty(len(weights))
    for first in range(0, len(weights), block):
        block_weights = float_array("weights", weights[first : first + block], ndim=2)
        if block_weights.min() < 0:
            raise ValueError(f"weights: none below 0 expected, got {block_weights.min():g}")
        sums[first : first + block] = block_weights**power @ terms
        totals[first : first + block] = block_weights.sum(axis=1)
    if not totals.all():
        raise ValueError("weights: a row sums to 0")
    return sums, totals


def _by_bin(values: np.ndarray, confidence: np.ndarray, bins: int) -> np.ndarray:
    """Return `values` [N] as rows [N, bins], each in the column of its image's bin."""
    terms = np.zeros((len(confidence), bin_count(bins)))
    terms[np.arange(len(confidence)), bin_of(confidence, bins)] = values
    return terms


def weighted_mean(values, weights) -> np.ndarray:
    """Return the weighted mean of per-image terms, once for each row of weights.

    Parameters
    ----------
    values : array_like, shape [N]
        `correct` for an accuracy, `squared_errors` for a Brier score.
    weights : array_like, shape [B, N]
        From `resample_weights`.

    Returns
    -------
    ndarray of float64, shape [B]

    Examples
    --------
    >>> weighted_mean([1.0, 0.0], [[1, 1], [2, 0]])
    array([0.5, 1. ])
    """
    sums, totals = _weighted_sums(float_array("values", values), weights)
    return sums / totals


def weighted_calibration_error(confidence, correct, weights, *, bins: int = 15) -> np.ndarray:
    """Return `calibration_error`, once for each row of weights.

    Resampling adds scatter, so replicates are above the plain value: by a factor of about √2 for a
    calibrated model.  Compare them with replicates of another method or with
    `weighted_calibration_error_floor` of the same weights, not with a plain ECE or floor.

    Parameters
    ----------
    confidence, correct, bins
        As in `calibration_error`.
    weights : array_like, shape [B, N]
        From `resample_weights`.

    Returns
    -------
    ndarray of float64, shape [B]
        In [0, 1].

    Examples
    --------
    >>> weighted_calibration_error([0.8, 0.8], [True, False], [[1, 1], [2, 0]]).round(3)
    array([0.3, 0.2])
    """
    confidence = share_array("confidence", confidence)
    gap = correct_array(correct, length=len(confidence)) - confidence
    sums, totals = _weighted_sums(_by_bin(gap, confidence, bins), weights)
    return np.abs(sums).sum(axis=1) / totals


def weighted_calibration_error_floor(confidence, weights, *, bins: int = 15) -> np.ndarray:
    r"""Return the expected `weighted_calibration_error` of a calibrated model, for each row.

    .. math:: \sqrt{\frac{2}{\pi}}\; \frac{\sum_b \sqrt{\sum_{i \in b} w_i^2 c_i (1 - c_i)}}
              {\sum_i w_i}

    the expected absolute gap of each bin if every answer is correct with probability equal to its
    confidence c, by the normal approximation of the sum in the bin. With unit weights the value is
    close to the simulated `calibration_error_floor` for whole test sets, within a few per cent.  It
    is several times too high for a few images whose bins expect less than one error.

    Parameters
    ----------
    confidence, bins
        As in `calibration_error`.
    weights : array_like, shape [B, N]
        From `resample_weights`.

    Returns
    -------
    ndarray of float64, shape [B]
        In [0, 1].

    Examples
    --------
    >>> weighted_calibration_error_floor([0.5] * 8, [[1] * 8, [2, 0] * 4]).round(3)
    array([0.141, 0.199])
    """
    confidence = share_array("confidence", confidence)
    terms = _by_bin(confidence * (1 - confidence), confidence, bins)
    variances, totals = _weighted_sums(terms, weights, power=2)
    return np.sqrt(2 / np.pi) * np.sqrt(variances).sum(axis=1) / totals
