"""Orthogonal certificates: small networks that learn to say zero to known images."""

from __future__ import annotations

import torch
from torch import nn

from helpers.networks.heads import DEPTH, WIDTH
from helpers.training.objectives.erm import Batch
from helpers.training.objectives.rnd import RND


class OC(RND):
    r"""Cross-entropy, and beside it the mean square of certificates, whose layers stay orthogonal.

    .. math:: \mathrm{CE} + \lambda\, \frac{1}{B W} \sum_i \lVert g(\varphi_i) \rVert^2
              + \mu \sum_l \frac{1}{n_l^2} \lVert W_l W_l^\top - I \rVert_F^2

    The features :math:`\varphi` are given as they are: the classifier is that of `ERM`.

    Parameters
    ----------
    weight, penalty : float
        :math:`\lambda` and :math:`\mu`.
    width, depth : int
        W, the outputs of each layer of the certificates, and their layers; :math:`n_l` is the
        smaller of a layer's inputs and outputs.

    Notes
    -----
    Tagasovska and Lopez-Paz 2019, equation 2, with several layers as in Belghazi and Lopez-Paz
    2021, whose code takes the mean over the entries as here, but of one layer, if of any.  Their
    text has the sum, with which the weights that they search diverge.  A layer that widens is
    penalised by :math:`W_l^\top W_l`.

    The measure of its own is `helpers.networks.heads.Certificates`.
    """

    def __init__(
        self, weight: float = 0.1, penalty: float = 0.1, width: float = WIDTH, depth: float = DEPTH
    ):
        super().__init__(weight, width, depth)
        if not penalty >= 0:
            raise ValueError(f"penalty: at least 0 expected, got {penalty}")
        self.penalty = penalty

    def __call__(self, classifier: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss and the logits."""
        loss, logits = super().__call__(classifier, batch)
        return loss + self.penalty * classifier.native.penalty(), logits
