"""ASH: the energy after small features of an image were removed and the others enlarged."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, register, rowwise_product, valid_percentile
from helpers.scores.energy import log_sum_exp
from helpers.scores.info import Info


def shaping(features: np.ndarray, percentile: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Return where an image's largest features begin, and the factor by which it is enlarged.

    The factor is :math:`e^{r}`, with r the sum of all features over that of the largest ones:
    between e, when the others are 0, and :math:`e^{100 / (100 - q)}` or so, when all are equal.

    Parameters
    ----------
    features : ndarray of float32, shape [N, D]
        Negative ones count as 0 in both sums; without positive ones, r is 1.
    percentile : float
        The share of an image's features that are not among the largest; one always is.

    Returns
    -------
    smallest : ndarray of float32, shape [N]
        The smallest of the largest features.
    factor : ndarray of float64, shape [N]

    Examples
    --------
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


@register
class ASH(BlockwiseScore):
    """The energy of the logits for an image's largest features, enlarged by the others.

    All other features become 0; the largest are multiplied by the exponential of the sum of
    all over the sum of the largest.

    Parameters
    ----------
    percentile : float
        Share of each image's features that become 0, in [0, 100).

    Notes
    -----
    Djurisic et al. 2023, their variant ASH-S, on the features before the head, with the
    percentiles of their code (95 on CIFAR; on ImageNet 90, for a DenseNet 99).  Of features that
    equal the smallest one kept, all are kept.  The paper's features are never negative; here
    negative ones count as 0 in the sums, which otherwise could give any factor.
    """

    info = Info(
        name="ash",
        title="Activation shaping (ASH-S)",
        paper="Extremely Simple Activation Shaping for Out-of-Distribution Detection",
        authors="Andrija Djurisic, Nebojsa Bozanic, Arjun Ashok, Rosanne Liu",
        year=2023,
        key="djurisic2023",
        equation=r"s = \log \sum_k e^{z_k}, \quad z = e^{r} W (h \odot m) + b, \quad"
        r" m_j = [h_j \ge q(h)], \quad r = \frac{\sum_j h_j}{\sum_j m_j h_j}",
        needs=("features", "head"),
        summary="The energy of an image that is reduced to its largest features, these enlarged "
        "by as much as was taken away.",
        hyper_parameters={"percentile": "share of an image's features that become 0, in percent"},
        published={
            "CIFAR-10": {"percentile": 95},
            "CIFAR-100": {"percentile": 95},
            "ImageNet": {"percentile": 90},
        },
    )

    def __init__(self, percentile: float = 90.0):
        self.percentile = valid_percentile(percentile)

    def _learn(self, train_outputs, head):
        self.head = head

    def _scores(self, part):
        smallest, factor = shaping(part.features, self.percentile)
        kept = np.where(part.features < smallest[:, None], 0, part.features)  # NaN is kept, too
        products = rowwise_product(kept, self.head.weight.T)
        return log_sum_exp(factor[:, None] * products + self.head.bias)
