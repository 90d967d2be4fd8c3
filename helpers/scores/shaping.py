"""Scores that change the features or the head, and then compute the energy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.scores.base import (
    BlockwiseScore,
    mean_features,
    parts,
    recorded,
    rowwise_product,
    valid_percentile,
)
from helpers.scores.logits import log_sum_exp


def shaping(features: np.ndarray, percentile: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest of an image's largest features [N], and ASH's factor [N].

    The factor is :math:`e^{r}`, with r the sum of all features over the sum of the largest ones.
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
    return ordered[:, first], np.exp(ratio)


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

    def _scores(self, part):
        smallest, factor = shaping(part.features, self.percentile)
        kept = np.where(part.features < smallest[:, None], 0, part.features)  # NaN is kept, too
        products = rowwise_product(kept, self.head.weight.T)
        return log_sum_exp(factor[:, None] * products + self.head.bias)


@recorded("scale")
class Scale(BlockwiseScore):
    """Energy of the logits for features enlarged by ASH's factor, without removing any.

    Source: Xu et al. 2024, without their training.  Their code uses the 85th percentile first for
    ImageNet, and chooses another one on validation images.  For negative features see
    `helpers.scores.shaping.shaping`.

    Parameters
    ----------
    percentile : float
        Share of each image's features that are not among the largest, in [0, 100).
    """

    def __init__(self, percentile: float = 85.0):
        self.percentile = valid_percentile(percentile)

    def _learn(self, train_outputs, head):
        self.bias = head.bias

    def _scores(self, part):
        _, factor = shaping(part.features, self.percentile)
        return log_sum_exp(factor[:, None] * (part.logits - self.bias) + self.bias)


@recorded("react")
class ReAct(BlockwiseScore):
    """Energy of the logits for features clipped from above.

    The threshold is a percentile of all features of all training images; negative features stay.
    Source: Sun et al. 2021, with their 90th percentile, which their code computes on held-out
    images.

    Parameters
    ----------
    percentile : float
        In [0, 100).
    """

    def __init__(self, percentile: float = 90.0):
        self.percentile = valid_percentile(percentile)

    def _learn(self, train_outputs, head):
        self.threshold = percentile_of_features(train_outputs, self.percentile)
        self.head = head

    def _scores(self, part):
        clipped = np.minimum(part.features, self.threshold)
        return log_sum_exp(rowwise_product(clipped, self.head.weight.T) + self.head.bias)


def percentile_of_features(outputs, percentile: float) -> np.float32:
    """Return the smallest feature that at least `percentile` % of all do not exceed.

    >>> from helpers.outputs import Outputs
    >>> features = np.array([[-3.0, 5.0], [1.0, 2.0], [4.0, 0.0]])
    >>> outputs = Outputs(np.zeros((3, 2)), features, np.zeros(3, int))
    >>> [float(percentile_of_features(outputs, q)) for q in (0, 50, 51, 100)]
    [-3.0, 1.0, 2.0, 5.0]
    """
    return percentiles_by_feature(outputs, [percentile], pooled=True)[0, 0]


def ordered_bits(features: np.ndarray) -> np.ndarray:
    """Return uint32 numbers, in one dimension, in the order of the features."""
    bits = features.view(np.uint32).ravel()
    # larger negative numbers have larger bits; positive ones are sorted after all of them
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))


def from_ordered_bits(bits: np.ndarray) -> np.ndarray:
    """Return the features, float32, whose `ordered_bits` these are.

    >>> from_ordered_bits(ordered_bits(np.array([-1.5, 0.0, 2.0], np.float32)))
    array([-1.5,  0. ,  2. ], dtype=float32)
    """
    return np.where(bits >> 31, bits ^ np.uint32(1 << 31), ~bits).view(np.float32)


@recorded("vra")
class VariationalRectifiedActivation(BlockwiseScore):
    """Energy of the logits for features without the small ones, clipped from above.

    A feature below its lower threshold becomes 0, above its upper threshold it becomes that
    threshold. Both are percentiles of this feature over the training images. Source: Xu et al.
    2023, their variant VRA-P.  Their code has percentiles of each feature on CIFAR, as here,
    interpolated between two images, and two numbers for all features of an architecture on
    ImageNet. For CIFAR-100 they chose them for ODIN's score.  OpenOOD has one pair of percentiles
    for all features, and raises small features to the lower threshold.

    Parameters
    ----------
    low, high : float
        Percentiles: 0 ≤ low < high ≤ 100.
    """

    def __init__(self, low: float = 60.0, high: float = 95.0):
        if not 0 <= low < high <= 100:
            raise ValueError(f"low, high: 0 ≤ low < high ≤ 100 expected, got {low} and {high}")
        self.low, self.high = low, high

    def _learn(self, train_outputs, head):
        self.thresholds = percentiles_by_feature(train_outputs, [self.low, self.high])
        self.head = head

    def _scores(self, part):
        low, high = self.thresholds
        kept = np.where(part.features < low, 0, np.minimum(part.features, high))
        return log_sum_exp(rowwise_product(kept, self.head.weight.T) + self.head.bias)


def percentiles_by_feature(
    outputs, percentiles: Sequence[float], *, pooled: bool = False
) -> np.ndarray:
    """Return the smallest value of each feature that enough images do not exceed, float32 [P, D].

    Exact, and without a copy: it counts the leading bits of the features, then the next bits of the
    features that agree so far.  `percentiles` are P shares in percent.  If `pooled`, all features
    count as one, and D is 1.

    >>> from helpers.outputs import Outputs
    >>> features = np.array([[-3.0, 5.0], [1.0, 2.0], [4.0, 0.0]])
    >>> outputs = Outputs(np.zeros((3, 2)), features, np.zeros(3, int))
    >>> percentiles_by_feature(outputs, [50, 100])
    array([[1., 2.],
           [4., 5.]], dtype=float32)
    """
    width = 1 if pooled else outputs.features.shape[1]
    values = outputs.features.size // width
    ranks = np.maximum(np.ceil(np.multiply(percentiles, values) / 100), 1).astype(np.int64)
    ranks = np.repeat(ranks[:, None], width, axis=1)
    leading, known = np.zeros(ranks.shape, np.uint32), np.uint32(0)
    digit = 16 if pooled else 8
    for shift in range(32 - digit, -1, -digit):
        counts = np.zeros((*ranks.shape, 1 << digit), np.int64)
        last = np.uint32((1 << digit) - 1)
        for part in parts(outputs):
            bits = ordered_bits(part.features).reshape(-1, width)
            places = counts.shape[2] * np.arange(width) + (bits >> np.uint32(shift) & last)
            for count, prefix in zip(counts, leading, strict=True):
                alike = places[(bits & known) == prefix]
                count += np.bincount(alike, minlength=count.size).reshape(count.shape)
        ends = counts.cumsum(axis=2)
        digits = (ends < ranks[..., None]).sum(axis=2)
        ranks -= np.take_along_axis(ends - counts, digits[..., None], axis=2)[..., 0]
        leading |= digits.astype(np.uint32) << np.uint32(shift)
        known |= last << np.uint32(shift)
    return from_ordered_bits(leading)


@recorded("dice")
class DICE(BlockwiseScore):
    """Energy of the logits of a sparse head.

    A weight stays if its contribution, itself times the mean of its feature over the training
    images, is above a percentile of all contributions. Source: Sun and Li 2022, with the
    percentiles of their scripts: 90 on CIFAR, 70 on ImageNet.

    Parameters
    ----------
    percentile : float
        In [0, 100): about this share of the weights becomes 0.
    """

    def __init__(self, percentile: float = 90.0):
        self.percentile = valid_percentile(percentile)

    def _learn(self, train_outputs, head):
        contributions = head.weight * mean_features(train_outputs)
        kept = contributions > np.percentile(contributions, self.percentile)
        self.weight = np.where(kept, head.weight, 0).T
        self.bias = head.bias

    def _scores(self, part):
        return log_sum_exp(rowwise_product(part.features, self.weight) + self.bias)
