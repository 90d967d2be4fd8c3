"""Nearest neighbours: the distance to the k-th nearest training image."""

from __future__ import annotations

import numpy as np

from helpers.info import Info
from helpers.scores.base import BlockwiseScore, parts, register, rowwise_product, whole_number

# Training images that a block is compared with at once; bounds the memory.
_BANK_BLOCK = 2048


def norms_of(features: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm of each row, float64 [N], and 1 for a row of zeros.

    Divided by it, a row of zeros stays one.

    Examples
    --------
    >>> norms_of(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([5., 1.])
    """
    norms = np.linalg.norm(features.astype(np.float64), axis=1)
    return np.where(norms > 0, norms, 1.0)


@register
class NearestNeighbours(BlockwiseScore):
    """Minus the distance of the normalised features to the k-th nearest training image's.

    In [−2, 0].  Features are divided by their Euclidean norm, so only their direction counts;
    where all are 0 they stay so, at distance 1 from all others.

    Parameters
    ----------
    k : int
        At most the number of training images.

    Notes
    -----
    Sun et al. 2022, with all training images.  Their choice of k is 50 for CIFAR-10, 200 for
    CIFAR-100 and 1,000 for ImageNet.  Their code returns the squared distance: the same ranking.
    The training features are not copied, but compared with a block at a time.
    """

    info = Info(
        name="knn",
        title="Nearest neighbours (KNN)",
        paper="Out-of-Distribution Detection with Deep Nearest Neighbors",
        authors="Yiyou Sun, Yifei Ming, Xiaojin Zhu, Yixuan Li",
        year=2022,
        key="sun2022",
        equation=r"s = -\lVert \hat h - \hat h_{(k)} \rVert_2, \quad"
        r" \hat h = h / \lVert h \rVert_2",
        needs=("features", "training outputs"),
        summary="How near the direction of the features is to that of the k-th nearest training "
        "image.",
        sign="The distance is negated, as in the paper: high for known images.",
        hyper_parameters={"k": "which of the nearest training images"},
    )

    def __init__(self, k: int = 50):
        self.k = whole_number("k", k)

    def _learn(self, train_outputs, head):
        if self.k > len(train_outputs):
            raise ValueError(
                f"k: at most {len(train_outputs)} (the training images) expected, got {self.k}"
            )
        self.features = train_outputs.features
        self.norms = np.concatenate([norms_of(part.features) for part in parts(train_outputs)])

    def _scores(self, part):
        rows = part.features / norms_of(part.features)[:, None]
        nearest = np.empty((len(rows), 0))
        for start in range(0, len(self.features), _BANK_BLOCK):
            bank = self.features[start : start + _BANK_BLOCK]
            norms = self.norms[start : start + _BANK_BLOCK]
            # squared distances, but for the rows' own squares, the same for the whole bank
            distances = bank.any(axis=1) - 2 * rowwise_product(rows, bank.T) / norms
            nearest = np.hstack([nearest, distances])
            if nearest.shape[1] > self.k:
                nearest = np.partition(nearest, self.k - 1, axis=1)[:, : self.k]
        squares = part.features.any(axis=1) + nearest.max(axis=1)
        return -np.sqrt(np.maximum(squares, 0))
