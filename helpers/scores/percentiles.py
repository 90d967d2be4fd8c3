"""Exact percentiles of features, without a copy of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.scores.base import blocks


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
    leading = np.zeros(ranks.shape, np.uint32)
    known = np.uint32(0)
    digit = 16 if pooled else 8
    for shift in range(32 - digit, -1, -digit):
        counts = np.zeros((*ranks.shape, 1 << digit), np.int64)
        last = np.uint32((1 << digit) - 1)
        for block in blocks(outputs):
            bits = ordered_bits(block.features).reshape(-1, width)
            bins = counts.shape[2] * np.arange(width) + (bits >> np.uint32(shift) & last)
            for count, prefix in zip(counts, leading, strict=True):
                alike = bins[(bits & known) == prefix]
                count += np.bincount(alike, minlength=count.size).reshape(count.shape)
        ends = counts.cumsum(axis=2)
        digits = (ends < ranks[..., None]).sum(axis=2)
        ranks -= np.take_along_axis(ends - counts, digits[..., None], axis=2)[..., 0]
        leading |= digits.astype(np.uint32) << np.uint32(shift)
        known |= last << np.uint32(shift)
    return from_ordered_bits(leading)
