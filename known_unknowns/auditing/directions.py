"""Directions in which images differ most: found on some images, looked along on others."""

from __future__ import annotations

import numpy as np

DIRECTIONS = 16
"""As many are looked along, at the most."""
_MORE = 8  # that are drawn beside these, which makes them exact enough


def principal_directions(values, *, seed: int = 0) -> np.ndarray:
    """Return the directions of the largest variance, the largest first.

    Parameters
    ----------
    values : array_like, shape [N, D]
        Features, a row for each image.
    seed : int
        Of the directions that the search starts from.

    Returns
    -------
    ndarray of float32, shape [D, min(N, D, 16)]
        Orthonormal columns.

    Notes
    -----
    Halko, Martinsson and Tropp 2011: a random sketch with one power iteration, which reads the
    features four times and never makes their covariance.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=(100, 3)) * [1, 5, 2]
    >>> np.abs(principal_directions(values)).argmax(axis=0)
    array([1, 2, 0])
    """
    values = np.asarray(values, np.float32)
    values = values - values.mean(axis=0)
    width = min(DIRECTIONS + _MORE, *values.shape)
    drawn = np.random.default_rng(seed).standard_normal((values.shape[1], width), dtype=np.float32)
    for _ in range(2):
        basis = np.linalg.qr(values @ drawn)[0]
        drawn = values.T @ basis
    found = np.linalg.svd(drawn, full_matrices=False)[0]
    return found[:, : min(DIRECTIONS, *values.shape)]
