"""Orthogonal certificates: small networks that learn the output zero on known images."""

from __future__ import annotations

import torch

from helpers.checks import at_least_zero
from helpers.networks.heads import DEPTH, WIDTH, Imitation
from helpers.training.objectives.rnd import RND


class OC(RND):
    r"""Cross-entropy, and after it the mean square of certificates, with a penalty for layers
    that are not orthogonal.

    .. math:: \lambda\, \frac{1}{B W} \sum_i \lVert g(\varphi_i) \rVert^2
              + \mu \sum_l \frac{1}{n_l^2} \lVert W_l W_l^\top - I \rVert_F^2

    The features :math:`\varphi` are the trained network's: the classifier equals the one of `ERM`.

    Notes
    -----
    Tagasovska and Lopez-Paz 2019, equation 2, with several layers as in Belghazi and Lopez-Paz
    2021.  Their code also averages over the entries, but its loop finds no layer, so it penalises
    none.  Their text has the sum, with which training diverges at the weights that they search.  A
    layer that widens is penalised by :math:`W_l^\top W_l`.  With 128 units and the weights of trial
    0, the weight decay is stronger than the penalty, so the layers shrink.

    The native measure is `helpers.networks.heads.Certificates`.
    """

    def __init__(
        self, weight: float = 0.1, penalty: float = 0.1, width: float = WIDTH, depth: float = DEPTH
    ):
        super().__init__(weight, width, depth)
        self.penalty = at_least_zero("penalty", penalty)

    def error(self, native: Imitation, features: torch.Tensor) -> torch.Tensor:
        """Return the loss of the certificates, a scalar, for features [B, D]."""
        return super().error(native, features) + self.penalty * native.penalty()
