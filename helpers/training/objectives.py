"""What training minimises: one small class per algorithm."""

from __future__ import annotations

import torch
from torch import nn


class ERM:
    """Empirical risk minimisation: the mean cross-entropy of the batch (Vapnik 1992)."""

    def __call__(
        self, classifier: nn.Module, images: torch.Tensor, labels: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss, a scalar, and the logits [B, K] for uint8 images [B, 3, H, W]."""
        logits = classifier(images)
        return nn.functional.cross_entropy(logits.float(), labels), logits
