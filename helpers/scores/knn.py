"""Nearest neighbours: the distance to the k-th nearest training image."""

from __future__ import annotations

import numpy as np

from helpers.checks import whole_number
from helpers.scores.bank import Bank, draw
from helpers.scores.base import (
    BlockwiseScore,
    norms_of,
    parts,
    register,
    unit_rows,
)
from helpers.scores.info import Info


@register
class NearestNeighbours(BlockwiseScore):
    """Minus the distance of the normalised features to the k-th nearest training image's.

    In [−2, 0].  Features are divided by their Euclidean norm, so only their direction counts;
    where all are 0 they stay so, at distance 1 from all others.

    Parameters
    ----------
    k : int
        At most the number of training images that are compared with.
    bank : int, optional
        How many training images are compared with, drawn with a fixed seed; all of them by
        default, and where there are fewer.

    Notes
    -----
    Sun et al. 2022.  On ImageNet their 1,000 neighbours are of all its training images, as in their
    code; with a bank of 1 % of these k is 10.  Their code returns the squared distance: the same
    ranking.  Without `bank` the training features are not copied.
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
        hyper_parameters={
            "k": "which of the nearest training images",
            "bank": "number of training images that are compared with, at most; all by default",
        },
        published={"CIFAR-10": {"k": 50}, "CIFAR-100": {"k": 200}, "ImageNet": {"k": 1000}},
    )

    # a bank is exact whatever is looked for at once, and read once for each block
    block, filled = 1024, False

    def __init__(self, k: int = 50, bank: int | None = None):
        self.k = whole_number("k", k)
        self.bank = None if bank is None else whole_number("bank", bank)

    def _learn(self, train_outputs, head):
        chosen = draw(train_outputs, self.bank, k=self.k)
        factors = np.concatenate([1 / norms_of(part.features) for part in parts(chosen)])
        filled = np.concatenate([part.features.any(axis=1) for part in parts(chosen)])
        # The largest products less half of the bank's squares are at the smallest distances.
        self.compared = Bank(chosen.features, factors, np.float32(-0.5) * filled, 1.0)

    def _scores(self, part):
        nearest = self.compared.kth_largest(unit_rows(part.features), self.k)
        squares = part.features.any(axis=1) - 2 * nearest
        return -np.sqrt(np.maximum(squares, 0))
