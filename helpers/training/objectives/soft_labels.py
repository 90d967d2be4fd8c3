"""Soft labels: training targets below 1, and a test can compare predictions with them."""

from __future__ import annotations

import torch
from torch import nn

from helpers.networks.heads import POSITIVE
from helpers.training.objectives.erm import ERM, Batch


class SoftLabels(ERM):
    r"""Cross-entropy with target :math:`\tau` for the class and equal shares for all others.

    .. math:: -\tau \log p_y - \frac{1 - \tau}{K - 1} \sum_{k \ne y} \log p_k

    Notes
    -----
    Belghazi and Lopez-Paz 2021, the soft labeler, with the default of their code, because the 128
    in their table is not a probability.

    The native measure is `helpers.networks.heads.TargetGap`.
    """

    def __init__(self, positive: float = POSITIVE):
        if not 0 < positive <= 1:
            raise ValueError(f"positive: above 0 and at most 1 expected, got {positive}")
        self.positive = positive

    def __call__(self, classifier: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss and the logits."""
        logits = classifier(batch.inputs).float()
        others = (1 - self.positive) / (logits.shape[1] - 1)
        minus_log = -logits.log_softmax(dim=1)
        true_class = minus_log.gather(1, batch.labels[:, None])[:, 0]
        loss = (self.positive - others) * true_class + others * minus_log.sum(dim=1)
        return loss.mean(), logits
