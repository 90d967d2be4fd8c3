"""ReAct: the energy after large features were clipped."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, parts, register, rowwise_product, valid_percentile
from helpers.scores.energy import log_sum_exp
from helpers.scores.info import Info


@register
class ReAct(BlockwiseScore):
    """The energy of the logits that the head gives for features clipped from above.

    Features are clipped at one threshold for all of them, a percentile of all features of all
    training images.  Only the upper side is clipped: features may be negative.

    Parameters
    ----------
    percentile : float
        In [0, 100).

    Notes
    -----
    Sun et al. 2021, with their 90th percentile, which their code takes of held-out images; for a
    ResNet-50 on ImageNet it then clips at 1.
    """

    info = Info(
        name="react",
        title="ReAct",
        paper="ReAct: Out-of-distribution Detection With Rectified Activations",
        authors="Yiyou Sun, Chuan Guo, Yixuan Li",
        year=2021,
        key="sun2021",
        equation=r"s = \log \sum_k e^{z_k}, \quad z = W \min(h, c) + b",
        needs=("features", "head", "training outputs"),
        summary="The energy once features are clipped that are larger than nearly all of the "
        "training images', as single features of unknown images often are.",
        hyper_parameters={"percentile": "of all training features, where features are clipped"},
        published={"ImageNet": {"percentile": 90}},
    )

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

    Exact, and without a copy of the features: their bits, as whole numbers in the same order,
    are counted by the upper half first, then by the lower half of those with the right upper half.

    Parameters
    ----------
    outputs : Outputs
    percentile : float
        In [0, 100].

    Examples
    --------
    >>> from helpers.outputs import Outputs
    >>> features = np.array([[-3.0, 5.0], [1.0, 2.0], [4.0, 0.0]])
    >>> outputs = Outputs(np.zeros((3, 2)), features, np.zeros(3, int))
    >>> [float(percentile_of_features(outputs, q)) for q in (0, 50, 51, 100)]
    [-3.0, 1.0, 2.0, 5.0]
    """
    rank = max(int(np.ceil(percentile * outputs.features.size / 100)), 1)
    counts = sum(_counts(ordered_bits(part.features) >> 16) for part in parts(outputs))
    upper = np.searchsorted(np.cumsum(counts), rank)
    rank -= counts[:upper].sum()
    counts = 0
    for part in parts(outputs):
        bits = ordered_bits(part.features)
        counts = counts + _counts(bits[bits >> 16 == upper] & 0xFFFF)
    return from_ordered_bits(np.uint32(upper << 16 | np.searchsorted(np.cumsum(counts), rank)))[()]


def ordered_bits(features: np.ndarray) -> np.ndarray:
    """Return whole numbers, uint32 in one dimension, that are ordered as the features are."""
    bits = features.view(np.uint32).ravel()
    # larger negative numbers have larger bits; positive ones come after all of them
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))


def from_ordered_bits(bits: np.ndarray) -> np.ndarray:
    """Return the features, float32, whose `ordered_bits` these are.

    >>> from_ordered_bits(ordered_bits(np.array([-1.5, 0.0, 2.0], np.float32)))
    array([-1.5,  0. ,  2. ], dtype=float32)
    """
    return np.where(bits >> 31, bits ^ np.uint32(1 << 31), ~bits).view(np.float32)


def _counts(halves: np.ndarray) -> np.ndarray:
    return np.bincount(halves, minlength=1 << 16)
