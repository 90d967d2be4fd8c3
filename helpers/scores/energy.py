"""Energy: the logarithm of the softmax's denominator."""

from __future__ import annotations

import numpy as np

from helpers.scores.base import BlockwiseScore, register
from helpers.scores.info import Info


def log_sum_exp(logits: np.ndarray) -> np.ndarray:
    r"""Return :math:`\log \sum_k e^{z_k}` of each row of logits [N, K], float64 [N].

    Examples
    --------
    >>> log_sum_exp(np.log([[1.0, 2.0, 5.0]])).round(6)  # log(8)
    array([2.079442])
    """
    largest = logits.max(axis=1).astype(np.float64)
    shifted = logits.astype(np.float64)
    shifted -= largest[:, None]
    # In place: for arrays of this size new memory takes longer than the exponentials.
    np.exp(shifted, out=shifted)
    return largest + np.log(shifted.sum(axis=1))


@register
class Energy(BlockwiseScore):
    """Minus the energy: the log of the sum of the exponentials of the logits, at temperature 1.

    A number c added to all logits adds c to it, though no probability changes.

    Notes
    -----
    Liu et al. 2020, equation 7 with T = 1, without their fine-tuning.  Of an ensemble, whose
    logits are logarithms of probabilities, it is 0 for every image and says nothing.
    """

    info = Info(
        name="energy",
        title="Energy",
        paper="Energy-based Out-of-distribution Detection",
        authors="Weitang Liu, Xiaoyun Wang, John D. Owens, Yixuan Li",
        year=2020,
        key="liu2020",
        equation=r"s = \log \sum_k e^{z_k}",
        needs=("logits", "level of the logits"),
        summary="A smooth version of the largest logit that counts the other large ones too.",
        sign="The energy is its negative; high for known images.",
    )

    def _scores(self, part):
        return log_sum_exp(part.logits)
