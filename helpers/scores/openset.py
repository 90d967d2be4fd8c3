"""Answers that may be "unknown" by a threshold on the softmax; the module `openmax` has OpenMax."""

from __future__ import annotations

import numpy as np

from helpers.checks import float_array
from helpers.scores.info import record

thresholded_softmax = record("thresholded_softmax")


def unknown_probability(probabilities) -> np.ndarray:
    r"""Return the probability of "unknown" of the thresholded softmax, float64 [N].

    .. math:: p_{\mathrm{unknown}} = \prod_{k=1}^{K} (1 - p_k)

    It is 0 if one probability is 1, and at most :math:`(1 - 1/K)^K < 0.37`, if all are equal.  A
    higher temperature raises it (Lyu et al. 2022).  Its logarithm is summed, so it cannot
    underflow.

    >>> unknown_probability([[1.0, 0.0], [0.5, 0.5]])
    array([0.  , 0.25])
    """
    probabilities = float_array("probabilities", probabilities, ndim=2)
    if probabilities.min() < 0 or probabilities.max() > 1 + 1e-6:
        raise ValueError(
            "probabilities: values in [0, 1] expected, got "
            f"{probabilities.min():g} to {probabilities.max():g}"
        )
    with np.errstate(divide="ignore"):
        return np.exp(np.log1p(-np.minimum(probabilities, 1.0)).sum(axis=1))


def open_set_answer(probabilities, threshold: float) -> np.ndarray:
    """Return the most probable of K classes, or −1 ("unknown") below a threshold, int64 [N].

    >>> open_set_answer([[0.9, 0.1], [0.4, 0.6]], threshold=0.7)
    array([ 0, -1])
    """
    probabilities = float_array("probabilities", probabilities, ndim=2)
    if np.isnan(threshold):
        raise ValueError("threshold: NaN")
    accepted = probabilities.max(axis=1) >= threshold
    return np.where(accepted, probabilities.argmax(axis=1), -1)
