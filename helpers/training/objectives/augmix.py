"""AugMix: train for consistent predictions on three versions of an image."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from helpers.checks import closed_share
from helpers.training.mixing import augmix
from helpers.training.objectives.erm import ERM, Batch


class AugMix(ERM):
    r"""Cross-entropy of the image, and agreement with two augmented and mixed versions of it.

    .. math:: \mathrm{CE} + \lambda\, \mathrm{JSD}(p_\text{clean}, p_\text{mixed}, p_\text{mixed}')

    Notes
    -----
    Hendrycks et al. 2020, algorithm 1 and section 3; the other defaults are the paper's for
    CIFAR.
    """

    def __init__(
        self,
        weight: float = 12.0,
        severity: float = 3.0,
        width: int = 3,
        depth: int = 3,
        shear_centre: float = 0.5,
    ):
        closed_share("shear_centre", shear_centre)
        self.weight = weight
        self.mix = partial(
            augmix, severity=severity, width=width, depth=depth, shear_centre=shear_centre
        )

    def views(
        self, images: torch.Tensor, outliers: torch.Tensor | None, generator: torch.Generator
    ) -> torch.Tensor:
        """Return the images, then two mixed versions of each, in float32 of [0, 255]."""
        clean = images.float()
        mixed = self.mix(torch.cat([clean, clean]), generator)
        return torch.cat([clean, mixed]).contiguous(memory_format=torch.channels_last)

    def __call__(self, classifier: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss, and the logits of the clean images."""
        clean, first, second = classifier(batch.inputs).float().chunk(3)
        loss = nn.functional.cross_entropy(clean, batch.labels)
        probabilities = torch.stack([logits.softmax(dim=1) for logits in (clean, first, second)])
        return loss + self.weight * jensen_shannon_divergence(probabilities), clean


def jensen_shannon_divergence(probabilities: torch.Tensor) -> torch.Tensor:
    """Return the mean divergence of V distributions from their mean, a scalar, for [V, B, K].

    Examples
    --------
    >>> jensen_shannon_divergence(torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])).round(decimals=4)
    tensor(0.6931)
    """
    mixture = probabilities.mean(dim=0).clamp(1e-7, 1).log()
    # averaged over versions and images: "batchmean" divides by the first dimension alone
    divergence = nn.functional.kl_div(
        mixture.expand_as(probabilities), probabilities, reduction="batchmean"
    )
    return divergence / probabilities.shape[1]
