"""Temperature scaling: one number, fitted after training, that calibrates confidences."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp

from helpers.checks import float_array, label_array, positive_number
from helpers.outputs import Outputs
from helpers.scores.info import record

info = record("temperature_scaling")

# The search covers temperatures within this factor of the logits' own spread, on either side:
# outside, the softmax is uniform, or one-hot, to any precision that matters.
_WIDEST = 1e4

#: Largest error of the sum of a row of probabilities, as in half precision.
ROUNDING = 1e-3

_CELLS = 2**18  # logits worked on at a time: about the size of a CPU's cache

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
        exponentials = np.divide(logits[rows], temperature, out=probabilities[rows])
        exponentials -= exponentials.max(axis=1, keepdims=True)
        np.exp(exponentials, out=exponentials)
        exponentials /= exponentials.sum(axis=1, keepdims=True)
    return probabilities


def confidences(logits, temperature: float = 1.0) -> np.ndarray:
    """Return the largest probabilities of `softmax`, float64 [N], without N x K numbers in memory.

    >>> confidences([[0.0, 0.0], [np.log(3), 0.0]])
    array([0.5 , 0.75])
    """
    logits = np.asarray(logits)
    blocks = [softmax(logits[rows], temperature).max(axis=1) for rows in row_blocks(logits.shape)]
    return np.concatenate(blocks)


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


def log_probabilities(values: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    """Return the logarithms of probabilities, of at least the smallest float32."""
    return np.log(np.maximum(values, _TINY), dtype=dtype)


def scale_outputs(outputs: Outputs, temperature: float = 1.0) -> Outputs:
    """Return outputs with log-probabilities at a temperature as logits, without members.

    This scales the mean probabilities of an ensemble.  At 1 it keeps all probabilities above 0.
    """
    logits = log_probabilities(outputs.probabilities, np.float64) / temperature
    return Outputs(logits, outputs.features, outputs.labels)


def fit_temperature(logits, labels) -> float:
    r"""Return the temperature that minimises the negative log-likelihood (NLL) of held-out images.

    The NLL is convex in :math:`1/T`.  L-BFGS minimises it over :math:`\log T` after the logits are
    scaled to unit spread: c times the logits give c times the temperature.  Deterministic. Source:
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
        The temperature, exact to a relative 1e-6; 1 if the logits of each image are all equal.

    Warns
    -----
    RuntimeWarning
        The NLL lacks a minimum.  If every image is classified correctly, T gives a mean confidence
        of (N + 1) / (N + 2), Laplace's rule of succession.  If the logits of the true classes are
        on average not larger than the others, T is 10 000 times the logits' standard deviation.

    Examples
    --------
    Three of four images are correct at a confidence of 0.88, so the temperature is above 1.

    >>> fit_temperature([[2.0, 0.0]] * 4, [0, 0, 0, 1])  # 2 / log(3)
    1.82047845...
    """
    logits = float_array("logits", logits, ndim=2)
    labels = label_array("labels", labels, classes=logits.shape[1], length=len(logits))
    spread = logits.std(axis=1).mean()
    gaps = logits - logits.max(axis=1, keepdims=True)
    if spread <= np.finfo(np.float64).eps * np.abs(logits).max():
        return 1.0
    gaps /= spread  # [N, K], the largest 0; temperatures below are in units of `spread`
    true = gaps[np.arange(len(labels)), labels]

    def confidence_excess(log_temperature: float) -> float:
        mean_confidence = np.exp(-logsumexp(gaps / np.exp(log_temperature), axis=1)).mean()
        return mean_confidence - (len(labels) + 1) / (len(labels) + 2)

    widest = np.log(_WIDEST)
    if not true.any():
        warnings.warn(
            "fit_temperature: every image is classified correctly, so the likelihood grows without "
            "end as T falls to 0; took the T whose mean confidence is (N + 1) / (N + 2)",
            RuntimeWarning,
            stacklevel=2,
        )
        # Ties for the largest logit can keep the confidence below the target at any T.
        if not (confidence_excess(-widest) > 0 > confidence_excess(widest)):
            return float(spread / _WIDEST)
        return float(spread * np.exp(brentq(confidence_excess, -widest, widest, xtol=1e-12)))
    if true.mean() <= gaps.mean():
        warnings.warn(
            "fit_temperature: the logits say nothing about the labels, so the likelihood grows "
            f"without end with T; took {_WIDEST:g} times the logits' standard deviation",
            RuntimeWarning,
            stacklevel=2,
        )
        return float(spread * _WIDEST)

    def loss(log_temperature: np.ndarray) -> tuple[float, np.ndarray]:
        log_total, expected = np.empty(len(gaps)), np.empty(len(gaps))
        for rows in row_blocks(gaps.shape):
            scaled = gaps[rows] * np.exp(-log_temperature[0])
            powers = np.exp(scaled)  # none is above 1, as no gap is above 0
            total = powers.sum(axis=1)
            log_total[rows] = np.log(total)
            expected[rows] = np.einsum("nk,nk->n", powers, scaled) / total
        scaled_true = true * np.exp(-log_temperature[0])
        return (log_total - scaled_true).mean(), np.array([(scaled_true - expected).mean()])

    # Starts from logits of unit spread: soft predictions, where the gradient is still large.
    minimum = minimize(
        loss,
        x0=[0.0],
        jac=True,
        method="L-BFGS-B",
        bounds=[(-widest, widest)],
        options={"ftol": 0.0, "gtol": 1e-12, "maxiter": 200},
    )
    return float(spread * np.exp(minimum.x[0]))
