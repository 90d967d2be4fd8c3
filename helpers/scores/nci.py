"""The neural collapse inspired detector, NCI."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, mean_features, recorded


@recorded("nci")
class NeuralCollapse(BlockwiseScore):
    r"""Projection of the predicted class's weights on the features, plus the features' size.

    After long training, features minus their mean point in the direction of the weights of their
    class, and are far from 0.  The score is the projection of these weights on the centred
    features, plus :math:`\alpha` times the L1 norm of the features. Source: Liu and Qin 2025 and
    their code, which is also OpenOOD's.  They choose :math:`\alpha` for each network among 0.0001
    (default), 0.001, 0.01 and 0.1 on known and unknown validation images.  At the mean of the
    features the projection is 0.

    Parameters
    ----------
    alpha : float
        At least 0.
    """

    def __init__(self, alpha: float = 0.0001):
        if not 0 <= alpha < np.inf:
            raise ValueError(f"alpha: a number, at least 0, expected, got {alpha}")
        self.alpha = alpha

    def _learn(self, train_outputs, head):
        self.mean = mean_features(train_outputs)
        self.weight = head.weight

    def _scores(self, block):
        centred = block.features - self.mean
        along = np.einsum("nd,nd->n", centred, self.weight[block.predictions])
        length = np.linalg.norm(centred, axis=1)
        size = np.abs(block.features).sum(axis=1, dtype=np.float64)
        return along / np.maximum(length, np.finfo(np.float32).tiny) + self.alpha * size
