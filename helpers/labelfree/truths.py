"""The metrics that are predicted, from labels; and two baselines without a Gscore."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from helpers.checks import float_array
from helpers.metrics import RankedGroups
from helpers.metrics.inputs import share_array

#: The six metrics by name, of groups that are sorted once; ID images are the positive ones.
#:
#: The paper has no formula of the detection error.  Here it is the smallest mean of both error
#: rates.  At a TPR of 95 %, as in ODIN, it is (0.05 + FPR95) / 2 and has the correlation of
#: FPR95.
METRICS: dict[str, Callable[[RankedGroups], float]] = {
    "auroc": lambda groups: groups.area,
    "aupr": lambda groups: groups.average_precision,
    "detection_error": lambda groups: groups.least_error,
    "fpr95": lambda groups: groups.false_positive_rate(0.95),
    "fpr80": lambda groups: groups.false_positive_rate(0.8),
    "fpr60": lambda groups: groups.false_positive_rate(0.6),
}
#: The metrics whose predictions have a skill.
PREDICTED = ("auroc", "fpr95")


def true_metrics(known, unknown) -> dict[str, float]:
    """Return the six metrics of a detector on a mixture whose labels are known."""
    groups = RankedGroups.of(known, unknown)
    return {name: metric(groups) for name, metric in METRICS.items()}


def confidence_metrics(confidence, scores) -> dict[str, float]:
    """Return the metrics of a detector with labels by confidence: ID above 0.9."""
    scores = float_array("scores", scores, finite=False)
    inside = share_array("confidence", confidence, length=len(scores)) > 0.9
    if inside.all() or not inside.any():
        return dict.fromkeys(METRICS, 0.0) | {"auroc": 1.0, "aupr": 1.0}
    return true_metrics(scores[inside], scores[~inside])


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
    (mean, root), (other_mean, other_root) = first, second
    shared = np.linalg.svd(root @ other_root, compute_uv=False).sum()
    spread = (root**2).sum() + (other_root**2).sum() - 2 * shared
    return float(((mean - other_mean) ** 2).sum() + max(spread, 0.0))
