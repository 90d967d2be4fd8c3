"""Temperature scaling: one number, fitted after training, that calibrates confidences."""

from __future__ import annotations

import functools
import warnings

import numpy as np
from scipy.optimize import brentq

from helpers.checks import float_array, label_array, plain_array, positive_number
from helpers.outputs import Outputs
from helpers.scores.info import record

info = record("temperature_scaling")

#: Largest error of the sum of a row of probabilities, as in half precision.
ROUNDING = 1e-3

#: Up to so many columns, NumPy reduces faster column by column than along a row.
_FEW = 32
_CELLS = 2**18  # logits worked on at a time: about the size of a CPU's cache

# Of the search for a bracket of the root, in logarithms of 1 / T.
_STEP = 2.0

_TINY = np.finfo(np.float32).tiny  # for a probability that underflowed, which has no logarithm


def softmax(logits, temperature: float = 1.0) -> np.ndarray:
    """Return the probabilities ``softmax(logits / temperature)``, float64 [N, K].

    In float32 a difference of 17 between two logits would give a confidence of exactly 1, and ties.

    >>> softmax([[1000.0, 1000.0]])
    array([[0.5, 0.5]])
    """
    logits = float_array("logits", logits, ndim=2)
    positive_number("temperature", temperature)
    probabilities = np.empty(logits.shape)
    for rows in row_blocks(logits.shape):
        exponentials = _exponentials(logits[rows], temperature)
        sums = exponentials.sum(axis=1, keepdims=True)
        np.divide(exponentials, sums, out=probabilities[rows])
    return probabilities


def confidences(logits, temperature: float = 1.0) -> np.ndarray:
    """Return the largest probabilities of `softmax`, float64 [N], without N x K numbers in memory.

    >>> confidences([[0.0, 0.0], [np.log(3), 0.0]])
    array([0.5 , 0.75])
    """
    logits = plain_array("logits", logits)
    positive_number("temperature", temperature)
    largest = []
    for rows in row_blocks(logits.shape):
        block = float_array("logits", logits[rows], ndim=2)
        largest.append(1 / _exponentials(block, temperature).sum(axis=1))
    return np.concatenate(largest)


def _exponentials(logits: np.ndarray, temperature: float) -> np.ndarray:
    """Return the exponentials of the differences to each row's largest logit, which has 1."""
    with np.errstate(over="ignore"):  # minus infinity has the probability 0, the exact limit
        exponentials = logits - row_maximum(logits)[:, None]
        exponentials /= temperature
    return np.exp(exponentials, out=exponentials)


def row_maximum(values: np.ndarray) -> np.ndarray:
    """Return the largest value of each row of a matrix [N, K], of the same type, [N].

    >>> row_maximum(np.array([[1, 3, 2], [5, 4, 0]]))
    array([3, 5])
    """
    if 0 < values.shape[1] <= _FEW:
        return functools.reduce(np.maximum, values.T)
    return values.max(axis=1)


def row_blocks(shape: tuple[int, ...]) -> list[slice]:
    """Return slices of rows; one slice for an array that is empty or no matrix."""
    if len(shape) != 2 or not shape[0]:
        return [slice(None)]
    rows = max(1, _CELLS // max(shape[1], 1))
    return [slice(start, start + rows) for start in range(0, shape[0], rows)]


def are_probabilities(values: np.ndarray, *, rounding: float = ROUNDING) -> bool:
    """Return whether all rows [N, K] are non-negative with sums of 1, up to `rounding`.

    >>> are_probabilities(np.array([[0.3, 0.7]])), are_probabilities(np.array([[4.0, 0.0]]))
    (True, False)
    """
    if values.min() < 0:  # as logits nearly always are, and then no sum is needed
        return False
    return bool(np.abs(values.sum(axis=1, dtype=np.float64) - 1).max() <= rounding)


def log_probabilities(values: np.ndarray) -> np.ndarray:
    """Return the logarithms of probabilities; below the smallest float32, the one of this number.

    >>> log_probabilities(np.array([1.0, 0.0]))
    array([  0.        , -87.33654475])
    """
    return np.log(np.maximum(values, _TINY))


def scale_outputs(outputs: Outputs, temperature: float = 1.0) -> Outputs:
    """Return outputs with log-probabilities at a temperature as logits, without members.

    This scales the mean probabilities of an ensemble.  Probabilities below 1.2e-38 count as this
    number, so logits that are more than 87 below the largest one change.

    >>> scale_outputs(Outputs([[0.0, 1.0]], [[1.0]], [0]), -1)
    Traceback (most recent call last):
        ...
    ValueError: temperature: a positive number expected, got -1
    """
    positive_number("temperature", temperature)
    logits = log_probabilities(outputs.probabilities) / temperature
    return Outputs(logits, outputs.features, outputs.labels)


def fit_temperature(logits, labels) -> float:
    r"""Return the temperature that minimises the negative log-likelihood (NLL) of held-out images.

    The NLL is convex in :math:`1/T`: its slope has one root, which is bracketed and then found by
    the method of Brent.  c times the logits give c times the temperature.  Deterministic.  Source:
    Guo et al. 2017, section 4.2.  Their code runs at most 50 L-BFGS iterations of step 0.01 from T
    = 1.5, which may stop before the minimum.

    Parameters
    ----------
    logits : array_like, shape [N, K]
        Logits of known images that the model was not trained on.
    labels : array_like of int, shape [N]
        Classes, 0 to K − 1; not −1, since the temperature never sees an unknown image.

    Returns
    -------
    float
        The temperature, exact to a relative 1e-6; 1 if the logits of each image are all equal, or
        the NLL has no minimum.

    Warns
    -----
    RuntimeWarning
        The NLL has no minimum, so it advises no temperature.  Either no logit is larger than that
        of the true class, and the NLL falls as T falls to 0.  Or the logits of the true classes are
        on average not larger than the others, and the NLL falls as T grows.

    Examples
    --------
    Three of four images are correct at a confidence of 0.88, so the temperature is above 1.

    >>> fit_temperature([[2.0, 0.0]] * 4, [0, 0, 0, 1])  # 2 / log(3)
    1.82047845...
    """
    temperature, reason = temperature_or_reason(logits, labels)
    if reason:
        warnings.warn(
            f"fit_temperature: {reason}, so the likelihood has no maximum; T stays 1",
            RuntimeWarning,
            stacklevel=2,
        )
    return temperature


def temperature_or_reason(logits, labels) -> tuple[float, str]:
    """Return the value of `fit_temperature`, and why the NLL has no minimum, or ""."""
    logits = float_array("logits", logits, ndim=2)
    labels = label_array("labels", labels, classes=logits.shape[1], length=len(logits))
    size = np.abs(logits).max()
    if not size:
        return 1.0, ""
    gaps = logits / size
    gaps -= gaps.max(axis=1, keepdims=True)  # [N, K], the largest 0; 1 / T is in units of 1 / size
    if -gaps.min() <= np.finfo(np.float64).eps:
        return 1.0, ""
    true = gaps[np.arange(len(labels)), labels].mean()

    def slope(log_inverse: float) -> float:
        """Return the derivative of the NLL with respect to 1 / T."""
        expected = np.empty(len(gaps))
        for rows in row_blocks(gaps.shape):
            with np.errstate(over="ignore"):  # minus infinity has the probability 0
                powers = np.exp(gaps[rows] * np.exp(log_inverse))
            expected[rows] = np.einsum("nk,nk->n", powers, gaps[rows]) / powers.sum(axis=1)
        return expected.mean() - true

    if not true:
        return 1.0, "no image has a larger logit than that of its true class"
    low = high = -np.log(-gaps.mean())
    while slope(high) < 0:
        high += _STEP
    lowest = np.log(np.finfo(np.float64).eps)  # of 1 / T: there the softmax is uniform
    while slope(low) > 0 and low > lowest:
        low -= _STEP
    if slope(low) >= 0:
        return 1.0, "the logits say nothing about the labels"
    return float(size / np.exp(brentq(slope, low, high, xtol=1e-12))), ""
