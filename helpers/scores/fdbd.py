"""Distance to the decision boundaries (fDBD)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from helpers.scores.base import BlockwiseScore, parts, register
from helpers.scores.info import Info


@register
class DecisionBoundaryDistance(BlockwiseScore):
    """The mean distance of the features to the decision boundaries, over that to their mean.

    The boundary between the predicted class and another one is where their logits are equal, a
    hyperplane; the distance to it has a closed form.  The mean is over all other classes, and is
    divided by the distance of the features to the mean of the training features.

    Notes
    -----
    Liu and Qin 2024.  Their code sums over the classes: the same ranking.
    """

    info = Info(
        name="fdbd",
        title="Decision boundary distance (fDBD)",
        paper="Fast Decision Boundary based Out-of-Distribution Detector",
        authors="Litian Liu, Yao Qin",
        year=2024,
        key="liu2024",
        equation=r"s = \frac{1}{K - 1} \sum_{k \ne \hat y}"
        r" \frac{z_{\hat y} - z_k}{\lVert w_{\hat y} - w_k \rVert_2 \lVert h - \bar h \rVert_2},"
        r" \quad \hat y = \arg\max_k z_k",
        needs=("logits", "features", "head", "training outputs"),
        summary="How far the features would have to move for another class to be predicted, "
        "relative to how far they are from the mean of the training images.",
    )

    def _learn(self, train_outputs, head):
        self.normals = cdist(*2 * (head.weight.astype(np.float64),))
        np.fill_diagonal(self.normals, np.inf)  # no boundary with itself: a distance of 0
        if len(self.normals) < 2 or not self.normals.all():
            raise ValueError("head: two or more classes, each with weights of its own, expected")
        sums = sum(part.features.sum(axis=0, dtype=np.float64) for part in parts(train_outputs))
        self.mean = sums / len(train_outputs)

    def _scores(self, part):
        predicted = part.logits.argmax(axis=1)
        ahead = part.logits.max(axis=1, keepdims=True).astype(np.float64) - part.logits
        distances = (ahead / self.normals[predicted]).sum(axis=1) / (part.num_classes - 1)
        spread = np.linalg.norm(part.features - self.mean, axis=1)
        return distances / np.maximum(spread, np.finfo(np.float32).tiny)
