"""What the evaluators are compared with: labels by confidence, and distances of features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.checks import float_array
from helpers.labelfree.truths import METRICS, true_metrics
from helpers.metrics.inputs import share_array


def confidence_metrics(confidence, scores, *, threshold: float = 0.9) -> dict[str, float]:
    """Return the metrics of a detector as they would be if confidence told ID from OOD.

    An image is taken for ID where its confidence exceeds the threshold.  No line is fitted.

    Examples
    --------
    >>> confidence_metrics([0.99, 0.95, 0.5, 0.6], [4, 2, 3, 1])["auroc"]
    0.75
    """
    scores = float_array("scores", scores, finite=False)
    inside = share_array("confidence", confidence, length=len(scores)) > threshold
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold: a share in [0, 1] expected, got {threshold}")
    if inside.all() or not inside.any():
        return dict.fromkeys(METRICS, 0.0) | {"auroc": 1.0, "aupr": 1.0}
    return true_metrics(scores[inside], scores[~inside])


@dataclass(frozen=True)
class FeatureMoments:
    """What the Fréchet distance needs of features, to be computed once for many distances.

    Attributes
    ----------
    mean : ndarray of float64, shape [D]
    root : ndarray of float64, shape [D, D]
        The symmetric root of the covariance (divided by N − 1).
    """

    mean: np.ndarray
    root: np.ndarray

    @classmethod
    def of(cls, features) -> FeatureMoments:
        """Return the moments of `features` (array_like, shape [N, D]), unless they are moments.

        Examples
        --------
        >>> FeatureMoments.of([[0.0, 1.0], [2.0, 1.0]]).mean
        array([1., 1.])
        """
        if isinstance(features, cls):
            return features
        features = float_array("features", features, ndim=2)
        if len(features) < 2:
            raise ValueError("features: at least 2 images expected, got 1")
        mean = features.mean(axis=0)
        centred = features - mean
        values, axes = np.linalg.eigh(centred.T @ centred / (len(features) - 1))
        return cls(mean, (axes * np.sqrt(np.maximum(values, 0))) @ axes.T)


def frechet_distance(first, second) -> float:
    r"""Return the Fréchet distance of two sets of features, taken for Gaussians.

    :math:`\|\mu_1 - \mu_2\|^2 + \operatorname{tr}(\Sigma_1 + \Sigma_2
    - 2 (\Sigma_1^{1/2} \Sigma_2 \Sigma_1^{1/2})^{1/2})`, the squared 2-Wasserstein distance.

    Examples
    --------
    >>> round(frechet_distance([[0.0], [2.0]], [[3.0], [7.0]]), 6)  # (1 - 5)² + (√2 - √8)²
    18.0
    """
    first, second = FeatureMoments.of(first), FeatureMoments.of(second)
    if len(first.mean) != len(second.mean):
        raise ValueError(
            f"second: {len(first.mean)} features expected as in the first, got {len(second.mean)}"
        )
    shared = np.linalg.svd(first.root @ second.root, compute_uv=False).sum()
    spread = (first.root**2).sum() + (second.root**2).sum() - 2 * shared
    return float(((first.mean - second.mean) ** 2).sum() + max(spread, 0.0))
