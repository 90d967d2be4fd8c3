"""Knowledge distillation: a network learns from the labels and from another network."""

from __future__ import annotations

import torch
from torch import nn

from helpers.checks import closed_share, positive_number
from helpers.networks.backbones import Classifier
from helpers.training.objectives.erm import ERM, Batch


class Distillation(ERM):
    r"""Cross-entropy, and agreement with the softened probabilities of a teacher.

    .. math:: (1 - \lambda)\, \mathrm{CE} + \lambda\, T^2\,
              \mathrm{KL}(\mathrm{softmax}(z' / T) \,\|\, \mathrm{softmax}(z / T))

    with the teacher's logits :math:`z'` on these augmented images.  The factor
    :math:`T^2` keeps the size of the second term's gradients.

    Notes
    -----
    Hinton et al. 2015, section 2, with the divergence instead of their cross-entropy: both have
    equal gradients.  Default weight and temperature are usual for CIFAR, but not from the paper.
    """

    needs_teacher = True

    def __init__(self, weight: float = 0.9, temperature: float = 4.0):
        self.weight = closed_share("weight", weight)
        self.temperature = positive_number("temperature", temperature)

    def __call__(self, classifier: Classifier, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss, and the logits of the network that learns."""
        loss, logits = super().__call__(classifier, batch)
        with torch.no_grad():
            taught = self.teacher(batch.inputs).float()
        divergence = softened_divergence(logits, taught, self.temperature)
        return (1 - self.weight) * loss + self.weight * divergence, logits


def softened_divergence(
    logits: torch.Tensor, teacher_logits: torch.Tensor, temperature: float
) -> torch.Tensor:
    """Return T² times the mean divergence of the teacher's probabilities, a scalar, for [B, K].

    Examples
    --------
    >>> logits = torch.tensor([[0.0, 0.0]])
    >>> softened_divergence(logits, logits, 4.0)
    tensor(0.)
    >>> softened_divergence(logits, torch.tensor([[9.0, -9.0]]), 1.0).round(decimals=4)  # log 2
    tensor(0.6931)
    """
    divergence = nn.functional.kl_div(
        (logits / temperature).log_softmax(dim=1),
        (teacher_logits / temperature).log_softmax(dim=1),
        reduction="batchmean",
        log_target=True,
    )
    return temperature**2 * divergence
