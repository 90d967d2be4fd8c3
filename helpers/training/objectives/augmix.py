"""AugMix: three versions of an image are to get the same answer."""

from __future__ import annotations

import torch
from torch import nn

from helpers.training.mixing import augmix
from helpers.training.objectives.erm import ERM, Batch


class AugMix(ERM):
    r"""Cross-entropy of the image, and agreement with two augmented and mixed versions of it.

    .. math:: \mathrm{CE} + \lambda\, \mathrm{JSD}(p_\text{clean}, p_\text{mixed}, p_\text{mixed}')

    Notes
    -----
    Hendrycks et al. 2020, algorithm 1 and section 3; the defaults of the others are theirs for
    CIFAR.
    """

    def __init__(
        self,
        weight: float = 12.0,
        severity: float = 3.0,
        width: int = 3,
        depth: int = 3,
        shear_centre: float = 0.5,
        stored: int = 0,
    ):
        if not 0 <= shear_centre <= 1:
            raise ValueError(f"shear_centre: 0 to 1 expected, got {shear_centre}")
        if stored != 0 and (stored < 2 or stored != int(stored)):
            raise ValueError(f"stored: 0, or a whole number from 2 on, expected, got {stored}")
        self.weight, self.severity = weight, severity
        self.width, self.depth, self.shear_centre = width, depth, shear_centre
        self.stored = stored

    def views(
        self, images: torch.Tensor, outliers: torch.Tensor | None, generator: torch.Generator
    ) -> torch.Tensor:
        """Return the images, then two mixed versions of each, in float32 of [0, 255]."""
        if self.stored:
            return _draw_two(images, self.stored, generator).float()
        clean = images.float()
        mixed = augmix(
            torch.cat([clean, clean]),
            generator,
            severity=self.severity,
            width=self.width,
            depth=self.depth,
            shear_centre=self.shear_centre,
        )
        return torch.cat([clean, mixed]).contiguous(memory_format=torch.channels_last)

    def __call__(self, classifier: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss, and the logits of the clean images."""
        clean, one, two = classifier(batch.inputs).float().chunk(3)
        loss = nn.functional.cross_entropy(clean, batch.labels)
        probabilities = torch.stack([logits.softmax(dim=1) for logits in (clean, one, two)])
        return loss + self.weight * jensen_shannon_divergence(probabilities), clean


def _draw_two(images: torch.Tensor, stored: int, generator: torch.Generator) -> torch.Tensor:
    """Return the first rows of images [B, 3, 1 + stored, W], then two others: [3 B, 3, 1, W]."""
    if images.shape[2] != 1 + stored:
        raise ValueError(
            f"stored: images with {stored} views each expected, got {images.shape[2] - 1} further "
            "rows; see `helpers.data.features.beside`"
        )
    draw = torch.rand((len(images), stored), device=images.device, generator=generator)
    rows = nn.functional.pad(draw.argsort(dim=1)[:, :2] + 1, (1, 0))  # the image itself is row 0
    rows = rows[:, None, :, None].expand(-1, images.shape[1], -1, images.shape[3])
    return torch.cat(images.gather(2, rows).split(1, dim=2))


def jensen_shannon_divergence(probabilities: torch.Tensor) -> torch.Tensor:
    """Return the mean divergence of V distributions from their mean, a scalar, for [V, B, K].

    Examples
    --------
    >>> jensen_shannon_divergence(torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])).round(decimals=4)
    tensor(0.6931)
    """
    mixture = probabilities.mean(dim=0).clamp(1e-7, 1).log()
    # averaged over versions and images: "batchmean" divides by the first dimension alone
    one = nn.functional.kl_div(
        mixture.expand_as(probabilities), probabilities, reduction="batchmean"
    )
    return one / probabilities.shape[1]
