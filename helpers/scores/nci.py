"""The detector that neural collapse inspired (NCI)."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, parts, register
from helpers.scores.info import Info


@register
class NeuralCollapse(BlockwiseScore):
    r"""How well the features point to the predicted class's weights, and how long they are.

    In a network that was trained for long, the features of a class, less the mean of all, point in
    the direction of the weights of that class, and are far from 0.  The first is the projection of
    the weights of the predicted class on the features less the mean of the training features; the
    second is the sum of the features' absolute values, times :math:`\alpha`.

    Parameters
    ----------
    alpha : float
        At least 0.

    Notes
    -----
    Liu and Qin 2025, equation and code (theirs is OpenOOD's).  They choose :math:`\alpha` for each
    network among 0.0001, 0.001, 0.01 and 0.1 on validation images, known and unknown ones; their
    code begins with 0.0001, the default here.  At the mean itself, where the direction is none, the
    projection is 0.
    """

    info = Info(
        name="nci",
        title="Neural collapse inspired detector (NCI)",
        paper="Detecting Out-of-Distribution through the Lens of Neural Collapse",
        authors="Litian Liu, Yao Qin",
        year=2025,
        key="liu2025",
        equation=r"s = \frac{w_{\hat y}^\top (h - \bar h)}{\lVert h - \bar h \rVert_2}"
        r" + \alpha \lVert h \rVert_1, \quad \hat y = \arg\max_k z_k",
        needs=("logits", "features", "head", "training outputs"),
        summary="How far the features, seen from the mean of the training images, lie in the "
        "direction of the predicted class's weights, and a little of how large they are.",
        hyper_parameters={"alpha": "weight of the sum of the absolute features"},
    )

    def __init__(self, alpha: float = 0.0001):
        if not 0 <= alpha < np.inf:
            raise ValueError(f"alpha: a number, at least 0, expected, got {alpha}")
        self.alpha = alpha

    def _learn(self, train_outputs, head):
        sums = sum(part.features.sum(axis=0, dtype=np.float64) for part in parts(train_outputs))
        self.mean = sums / len(train_outputs)
        self.weight = head.weight

    def _scores(self, part):
        centred = part.features - self.mean
        along = np.einsum("nd,nd->n", centred, self.weight[part.predictions])
        length = np.linalg.norm(centred, axis=1)
        size = np.abs(part.features).sum(axis=1, dtype=np.float64)
        return along / np.maximum(length, np.finfo(np.float32).tiny) + self.alpha * size
