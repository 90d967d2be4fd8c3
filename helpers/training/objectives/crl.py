"""Correctness ranking loss: more confidence for images that are more often correct."""

from __future__ import annotations

import torch
from torch import nn

from helpers.training.objectives.erm import ERM, Batch


class CRL(ERM):
    r"""Cross-entropy plus the correctness ranking loss of neighbours in the batch.

    .. math:: \mathrm{CE} + \frac{\lambda}{B} \sum_i
              \max(0, -t_{ij} (\kappa_i - \kappa_j) + |c_i - c_j|), \quad
              t_{ij} = \mathrm{sign}(c_i - c_j)

    with j the next image of the batch, :math:`\kappa` the maximum probability and c the share of
    all epochs, past and future, in which the image was classified correctly so far.  If both
    shares are equal, t reduces the difference between the two confidences.

    Notes
    -----
    Moon et al. 2020, equations 2 to 4.  The code of Kim et al. 2023 also has these ties, a weight
    of 1, and c that grows with the epochs; Moon et al. divide by the number of past epochs.  Images
    are evaluated with the augmentation of training.
    """

    def __init__(self, weight: float = 1.0):
        self.weight = weight

    def start(self, images: int, epochs: int, device: str) -> None:
        """Begin with an empty history: how often each image was right."""
        self.right = torch.zeros(images, device=device)
        self.epochs = epochs

    def __call__(self, classifier: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss and the logits, and take down which images were right."""
        logits = classifier(batch.inputs).float()
        confidence = logits.softmax(dim=1).amax(dim=1)
        share = self.right[batch.indices] / self.epochs
        loss = nn.functional.cross_entropy(logits, batch.labels)
        loss = loss + self.weight * ranking_loss(confidence, share)
        right = (logits.detach().argmax(dim=1) == batch.labels).float()
        self.right.index_add_(0, batch.indices, right)
        return loss, logits

    def state(self) -> dict[str, torch.Tensor]:
        """Return the history."""
        return {"right": self.right}


def ranking_loss(confidence: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    """Return the mean correctness ranking loss of each image and the next, a scalar.

    Examples
    --------
    >>> ranking_loss(torch.tensor([0.9, 0.6]), torch.tensor([0.5, 1.0])).round(decimals=3)
    tensor(0.8000)
    """
    difference = share - share.roll(-1)
    gap = confidence - confidence.roll(-1)
    # equal shares: the sign that makes any gap between the confidences a loss
    sign = torch.where(difference == 0, -torch.sign(gap.detach()), torch.sign(difference))
    return (difference.abs() - sign * gap).clamp(min=0).mean()
