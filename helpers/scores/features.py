"""Scores that relate features to the weights of the last layer or to class means."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from helpers.scores.base import BlockwiseScore, class_means, mean_features, recorded


@recorded("fdbd")
class DecisionBoundaryDistance(BlockwiseScore):
    """Mean distance of the features to the decision boundaries, relative to the mean feature.

    The boundary between the predicted class and another class is the hyperplane of equal logits.
    The mean over all other classes is divided by the distance to the mean of the training features.

    Liu and Qin 2024.  Their code sums over the classes: the same ranking.
    """

    def _learn(self, train_outputs, head):
        self.normals = cdist(*2 * (head.weight.astype(np.float64),))
        np.fill_diagonal(self.normals, np.inf)  # no boundary with itself: a distance of 0
        if len(self.normals) < 2 or not self.normals.all():
            raise ValueError("head: two or more classes, each with weights of its own, expected")
        self.mean = mean_features(train_outputs)

    def _scores(self, part):
        predicted = part.logits.argmax(axis=1)
        ahead = part.logits.max(axis=1, keepdims=True).astype(np.float64) - part.logits
        distances = (ahead / self.normals[predicted]).sum(axis=1) / (part.num_classes - 1)
        spread = np.linalg.norm(part.features - self.mean, axis=1)
        return distances / np.maximum(spread, np.finfo(np.float32).tiny)


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

    def _scores(self, part):
        centred = part.features - self.mean
        along = np.einsum("nd,nd->n", centred, self.weight[part.predictions])
        length = np.linalg.norm(centred, axis=1)
        size = np.abs(part.features).sum(axis=1, dtype=np.float64)
        return along / np.maximum(length, np.finfo(np.float32).tiny) + self.alpha * size


@recorded("she")
class SimplifiedHopfieldEnergy(BlockwiseScore):
    """Inner product of the features with the pattern of the predicted class.

    A pattern is the mean feature over the correctly classified training images of a class.  A class
    without such images is left out, and the most probable of the other classes is used instead.

    Zhang et al. 2023, their simplified energy with the inner product, on the features before the
    head and without a step of the image.  OpenOOD's pattern of such a class is NaN.
    """

    def _learn(self, train_outputs, head):
        means, counts = class_means(
            train_outputs, lambda part: (part.features[part.correct], part.labels[part.correct])
        )
        self.kept = np.flatnonzero(counts)
        if not len(self.kept):
            raise ValueError("train_outputs: a correctly classified image expected, got none")
        self.patterns = means[self.kept]

    def _scores(self, part):
        likely = part.logits if part.members is None else part.probabilities
        patterns = self.patterns[likely[:, self.kept].argmax(axis=1)]
        return np.einsum("nd,nd->n", part.features, patterns)
