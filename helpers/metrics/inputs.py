"""Checks that several metrics share: what counts as confidences, answers and probabilities."""

from __future__ import annotations

import numpy as np

from helpers.checks import float_array, plain_array, whole_number

# Probabilities of a float32 network sum to 1 up to some 1e-6; logits instead are off by far more.
_TOLERANCE = 1e-3
_MOST_BINS = 10**6


def share_array(name: str, values, *, ndim: int = 1, length: int | None = None) -> np.ndarray:
    """Return `values` as float64 within [0, 1]; refuse other values of the argument `name`.

    Values outside [0, 1] by no more than rounding (1e-6) are set to the nearest bound.

    >>> share_array("confidence", [0.5, 1.0000001])
    array([0.5, 1. ])
    """
    array = float_array(name, values, ndim=ndim, length=length)
    low = array.min()
    high = array.max()
    if low < -1e-6 or high > 1 + 1e-6:
        raise ValueError(f"{name}: values in [0, 1] expected, got {low:g} to {high:g}")
    return np.clip(array, 0.0, 1.0) if low < 0 or high > 1 else array


def probability_array(name: str, values) -> np.ndarray:
    """Return `values` [N, K] as float64 rows that sum to 1; refuse other values.

    >>> probability_array("probabilities", [[0.5, 0.7]])
    Traceback (most recent call last):
        ...
    ValueError: probabilities: rows that sum to 1 expected, row 0 sums to 1.2
    """
    array = share_array(name, values, ndim=2)
    totals = array.sum(axis=1)
    worst = int(np.abs(totals - 1).argmax())
    if abs(totals[worst] - 1) > _TOLERANCE:
        raise ValueError(
            f"{name}: rows that sum to 1 expected, row {worst} sums to {totals[worst]:g}"
        )
    return array


def are_plain_probabilities(array: np.ndarray) -> bool:
    """Return whether a matrix certainly passes `probability_array` unchanged; a few quick passes.

    >>> are_plain_probabilities(np.array([[0.5, 0.5]])), are_plain_probabilities(np.array([[1, 0]]))
    (True, False)
    """
    if array.dtype not in (np.float32, np.float64):
        return False
    # a comparison with NaN is false
    if not 0 <= array.min() <= array.max() <= 1:
        return False
    totals = array @ np.ones(array.shape[1], array.dtype)
    return bool(np.abs(totals - 1).max() <= _TOLERANCE / 2)


def correct_array(correct, *, length: int | None = None) -> np.ndarray:
    """Return `correct` as a boolean array [N]; 0 and 1 are taken too.

    >>> correct_array([1, 0])
    array([ True, False])
    """
    array = plain_array("correct", correct)
    if array.dtype == bool and array.ndim == 1 and len(array) and length in (None, len(array)):
        return array  # all its values are valid
    array = float_array("correct", correct, length=length)
    if not np.isin(array, (0.0, 1.0)).all():
        raise ValueError("correct: only True and False (1 and 0) expected")
    return array.astype(bool)


def bin_count(bins) -> int:
    """Return `bins` if it is a whole number, 1 to a million."""
    if whole_number("bins", bins) > _MOST_BINS:
        raise ValueError(f"bins: at most {_MOST_BINS:,} expected, got {bins:,}")
    return int(bins)
