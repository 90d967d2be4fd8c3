"""Activation shaping, ASH."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, recorded, rowwise_product, valid_percentile
from helpers.scores.energy import log_sum_exp


def shaping(features: np.ndarray, percentile: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest of an image's largest features [N], and ASH's factor [N].

    The factor is :math:`e^{r}`, with r the sum of all features over the sum of the largest ones,
    and at most 300, so that products with the factor remain finite.
    Negative features count as 0; without positive features r is 1.  The share `percentile` of the
    features is not among the largest; at least one is.

    >>> smallest, factor = shaping(np.array([[1.0, 0.0, 3.0, 4.0]]), 50)
    >>> smallest, np.log(factor).round(6)  # 8 / 7
    (array([3.]), array([1.142857]))
    """
    width = features.shape[1]
    first = min(round(width * percentile / 100), width - 1)
    ordered = np.partition(features, first, axis=1)
    largest = np.maximum(ordered[:, first:], 0).sum(axis=1, dtype=np.float64)
    total = np.maximum(features, 0).sum(axis=1, dtype=np.float64)
    ratio = np.divide(total, largest, out=np.ones(len(features)), where=largest > 0)
    return ordered[:, first], np.exp(np.minimum(ratio, 300))


@recorded("ash")
class ASH(BlockwiseScore):
    """Energy of the logits for an image's largest features, enlarged by a common factor.

    All other features become 0; the largest are multiplied by exp(S / L), with S the sum over all
    features and L over the largest. Source: Djurisic et al. 2023, their variant ASH-S on features
    before the head, with the percentiles of their code (95 on CIFAR; 90 on ImageNet, 99 for a
    DenseNet).  All features that equal the smallest kept one are kept.  Negative features, which
    the paper's networks lack, count as 0 in the sums.

    Parameters
    ----------
    percentile : float
        Share of each image's features that become 0, in [0, 100).
    """

    def __init__(self, percentile: float = 90.0):
        self.percentile = valid_percentile(percentile)

    def _learn(self, train_outputs, head):
        self.head = head

    def _scores(self, block):
        smallest, factor = shaping(block.features, self.percentile)
        shaped = np.where(block.features < smallest[:, None], 0, block.features)  # NaN is kept, too
        products = rowwise_product(shaped, self.head.weight.T)
        return log_sum_exp(factor[:, None] * products + self.head.bias)
