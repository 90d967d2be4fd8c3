"""The Fréchet distance of features: a baseline without a Gscore."""

from __future__ import annotations

import numpy as np

from helpers.checks import float_array


def feature_moments(features) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of features [N, D] and the symmetric root of their covariance."""
    features = float_array("features", features, ndim=2)
    if len(features) < 2:
        raise ValueError("features: at least 2 images expected, got 1")
    mean = features.mean(axis=0)
    centred = features - mean
    values, axes = np.linalg.eigh(centred.T @ centred / (len(features) - 1))
    return mean, (axes * np.sqrt(np.maximum(values, 0))) @ axes.T


def frechet_distance(first, second) -> float:
    r"""Return the Fréchet distance of two `feature_moments`, treated as Gaussians.

    :math:`\|\mu_1 - \mu_2\|^2 + \operatorname{tr}(\Sigma_1 + \Sigma_2
    - 2 (\Sigma_1^{1/2} \Sigma_2 \Sigma_1^{1/2})^{1/2})`, the squared 2-Wasserstein distance.
    """
    mean, root = first
    other_mean, other_root = second
    shared = np.linalg.svd(root @ other_root, compute_uv=False).sum()
    spread = (root**2).sum() + (other_root**2).sum() - 2 * shared
    return float(((mean - other_mean) ** 2).sum() + max(spread, 0.0))
