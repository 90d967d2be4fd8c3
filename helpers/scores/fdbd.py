"""The distance to the decision boundaries, fDBD."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from helpers.scores.base import BlockwiseScore, mean_features, recorded


@recorded("fdbd")
class DecisionBoundaryDistance(BlockwiseScore):
    """Mean distance of the features to the decision boundaries, relative to the mean feature.

    The boundary between the predicted class and another class is the hyperplane of equal logits.
    The mean over all other classes is divided by the distance to the mean of the training features.

    Liu and Qin 2024.  Their code sums over the classes: the same ranking.
    """

    def _learn(self, train_outputs, head):
        weight = head.weight.astype(np.float64)
        self.normals = cdist(weight, weight)
        np.fill_diagonal(self.normals, np.inf)  # no boundary with itself: a distance of 0
        if len(self.normals) < 2 or not self.normals.all():
            raise ValueError("head: two or more classes with different weights expected")
        self.mean = mean_features(train_outputs)

    def _scores(self, block):
        predicted = block.logits.argmax(axis=1)
        ahead = block.logits.max(axis=1, keepdims=True).astype(np.float64) - block.logits
        distances = (ahead / self.normals[predicted]).sum(axis=1) / (block.num_classes - 1)
        spread = np.linalg.norm(block.features - self.mean, axis=1)
        return distances / np.maximum(spread, np.finfo(np.float32).tiny)
