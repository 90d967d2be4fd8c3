"""Weibull distributions of the largest distances, for OpenMax."""

from __future__ import annotations

import numpy as np


def fit_weibull(log_values: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Return shape and log scale [C] of Weibull distributions, fitted by maximum likelihood.

    The shape :math:`\beta` solves
    :math:`\sum x_i e^{\beta x_i} / \sum e^{\beta x_i} - 1/\beta = \bar x`, with x the logarithms of
    the values [C, n], by Newton's method within a bracket.  `used` [C, n] are the entries of each
    sample, with at least two distinct values in each row.  The distribution function is
    ``1 - exp(-exp(shape * (log(t) - log_scale)))``.
    """
    count = used.sum(axis=1)
    mean = np.where(used, log_values, 0.0).sum(axis=1) / count
    centred = np.where(used, log_values - mean[:, None], 0.0)
    spread = np.sqrt(np.square(centred).sum(axis=1) / count)
    centred /= spread[:, None]  # the solution is now near 1 for all data
    top = np.where(used, centred, -np.inf).max(axis=1)

    low = 1 / top
    high = np.full(len(top), np.inf)
    shape = np.maximum(low, np.pi / np.sqrt(6))  # the estimate from the variance
    for _ in range(100):
        weight = np.where(used, np.exp(shape[:, None] * (centred - top[:, None])), 0.0)
        weight /= weight.sum(axis=1, keepdims=True)
        tilted = (weight * centred).sum(axis=1)
        variance = (weight * np.square(centred - tilted[:, None])).sum(axis=1)
        value = tilted - 1 / shape
        low = np.where(value < 0, shape, low)
        high = np.where(value >= 0, shape, high)
        step = shape - value / (variance + 1 / np.square(shape))
        halved = np.where(np.isinf(high), 2 * low, (low + high) / 2)
        following = np.where((step > low) & (step < high), step, halved)
        done = np.abs(following - shape) <= 1e-13 * shape
        shape = following
        if done.all():
            break
    powers = np.where(used, np.exp(shape[:, None] * (centred - top[:, None])), 0.0)
    log_scale = top + np.log(powers.sum(axis=1) / count) / shape
    return shape / spread, mean + spread * log_scale
