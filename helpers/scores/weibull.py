"""Weibull distributions of the largest distances, for OpenMax."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq


def fit_weibull(log_values: np.ndarray) -> tuple[float, float]:
    r"""Return shape and log scale of a Weibull distribution, fitted by maximum likelihood.

    The shape :math:`\beta` solves
    :math:`\sum x_i e^{\beta x_i} / \sum e^{\beta x_i} - 1/\beta = \bar x`, with x the logarithms of
    the values [n], of which at least two are distinct.  The distribution function is
    ``1 - exp(-exp(shape * (log(t) - log_scale)))``.
    """
    mean = log_values.mean()
    spread = log_values.std()
    centred = (log_values - mean) / spread  # the solution is now near 1 for all data
    top = centred.max()

    def powers(shape):
        return np.exp(shape * (centred - top))

    def slope(shape):
        return np.average(centred, weights=powers(shape)) - 1 / shape

    high = 2 / top
    while slope(high) < 0:
        high *= 2
    # the solution is at least 1 / top, where rounding may hide the sign
    shape = brentq(slope, 0.5 / top, high, xtol=1e-14, rtol=1e-14)
    log_scale = top + np.log(powers(shape).mean()) / shape
    return shape / spread, mean + spread * log_scale
