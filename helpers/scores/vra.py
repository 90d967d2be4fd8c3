"""VRA: the energy after small features were removed and large ones clipped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.scores.base import BlockwiseScore, parts, register, rowwise_product
from helpers.scores.energy import log_sum_exp
from helpers.scores.info import Info
from helpers.scores.react import from_ordered_bits, ordered_bits


@register
class VariationalRectifiedActivation(BlockwiseScore):
    """The energy of the logits that the head gives for features that are neither small nor large.

    A feature below its lower threshold becomes 0, and one above its upper threshold becomes that
    threshold.  Both are percentiles of this feature over the training images, so that each feature
    has thresholds of its own.

    Parameters
    ----------
    low, high : float
        Percentiles: 0 ≤ low < high ≤ 100.

    Notes
    -----
    Xu et al. 2023, their variant VRA-P.  Their code takes the percentiles of each feature on CIFAR,
    as here, and interpolates between two images; on ImageNet it has two numbers for all features of
    an architecture (0.5 and 1 for a ResNet-50).  For CIFAR-100 they chose the percentiles for
    ODIN's score instead of the energy.  OpenOOD has one pair of percentiles for all features
    together, and raises small features to the lower threshold instead of removing them.
    """

    info = Info(
        name="vra",
        title="Variational rectified activation (VRA)",
        paper="VRA: Variational Rectified Activation for Out-of-distribution Detection",
        authors="Mingyu Xu, Zheng Lian, Bin Liu, Jianhua Tao",
        year=2023,
        key="xulian2023",
        equation=r"s = \log \sum_k e^{z_k}, \quad z = W \tilde h + b, \quad"
        r" \tilde h_j = [h_j \ge \alpha_j] \min(h_j, \beta_j)",
        needs=("features", "head", "training outputs"),
        summary="The energy once features are removed that are small for the training images, and "
        "clipped that are large for them.",
        hyper_parameters={
            "low": "percentile of each feature below which it becomes 0",
            "high": "percentile of each feature at which it is clipped",
        },
        published={"CIFAR-10": {"low": 60, "high": 90}, "CIFAR-100": {"low": 60, "high": 95}},
    )

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


def percentiles_by_feature(outputs, percentiles: Sequence[float]) -> np.ndarray:
    """Return the smallest value of each feature that enough images do not exceed.

    Exact, and without a copy of the features: the eight leading bits of each are counted first,
    then the next eight of those that agree with the percentile's so far, and so on.

    Parameters
    ----------
    outputs : Outputs
    percentiles : sequence of float
        P shares of the images, in percent.

    Returns
    -------
    ndarray of float32, shape [P, D]

    Examples
    --------
    >>> from helpers.outputs import Outputs
    >>> features = np.array([[-3.0, 5.0], [1.0, 2.0], [4.0, 0.0]])
    >>> outputs = Outputs(np.zeros((3, 2)), features, np.zeros(3, int))
    >>> percentiles_by_feature(outputs, [50, 100])
    array([[1., 2.],
           [4., 5.]], dtype=float32)
    """
    images, width = outputs.features.shape
    ranks = np.maximum(np.ceil(np.multiply(percentiles, images) / 100), 1).astype(np.int64)
    ranks = np.repeat(ranks[:, None], width, axis=1)
    found, known = np.zeros(ranks.shape, np.uint32), np.uint32(0)
    for shift in (24, 16, 8, 0):
        counts = np.zeros((*ranks.shape, 256), np.int64)
        for part in parts(outputs):
            bits = ordered_bits(part.features).reshape(-1, width)
            places = 256 * np.arange(width) + (bits >> np.uint32(shift) & np.uint32(255))
            for count, prefix in zip(counts, found, strict=True):
                alike = places[(bits & known) == prefix]
                count += np.bincount(alike, minlength=256 * width).reshape(width, 256)
        ends = counts.cumsum(axis=2)
        digits = (ends < ranks[..., None]).sum(axis=2)
        ranks -= np.take_along_axis(ends - counts, digits[..., None], axis=2)[..., 0]
        found |= digits.astype(np.uint32) << np.uint32(shift)
        known |= np.uint32(255 << shift)
    return from_ordered_bits(found)
