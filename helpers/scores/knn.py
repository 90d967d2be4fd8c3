"""The k-th nearest neighbour, KNN."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from helpers.checks import whole_number
from helpers.scores.bank import Bank, draw
from helpers.scores.base import BlockwiseScore, blocks, norms_of, recorded, unit_rows


@recorded("knn")
class NearestNeighbours(BlockwiseScore):
    """Minus the distance of the normalised features to the k-th nearest training image.

    In [−2, 0].  Features are divided by their Euclidean norm; features that are all 0 stay 0, at
    distance 1 from all others. Source: Sun et al. 2022.  On ImageNet they take 1,000 neighbours of
    all training images, or 10 of 1 %. Their code returns the squared distance: the same ranking.
    Without `bank` features are not copied.

    Parameters
    ----------
    k : int
        At most the number of compared training images.
    bank : int, optional
        Number of compared training images, drawn with a fixed seed; all of them by default.
    normalise : bool
        Whether features are divided by their norm.
    """

    block = 1024
    filled = False

    def __init__(self, k: int = 50, bank: int | None = None, normalise: bool = True):
        self.k = whole_number("k", k)
        self.normalise = normalise
        self.bank = None if bank is None else whole_number("bank", bank)

    def _learn(self, train_outputs, head):
        compared = draw(train_outputs, self.bank, k=self.k)
        if not self.normalise:
            self.tree = KDTree(compared.features)
            return
        factors = np.concatenate([1 / norms_of(block.features) for block in blocks(compared)])
        filled = np.concatenate([block.features.any(axis=1) for block in blocks(compared)])
        # The largest products less half of the bank's squares are at the smallest distances.
        self.compared = Bank(compared.features, factors, np.float32(-0.5) * filled, 1.0)

    def _scores(self, block):
        if not self.normalise:
            return -self.tree.query(block.features, [self.k])[0][:, 0]
        nearest = self.compared.kth_largest(unit_rows(block.features), self.k)
        squares = block.features.any(axis=1) - 2 * nearest
        return -np.sqrt(np.maximum(squares, 0))
