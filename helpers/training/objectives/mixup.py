"""Mixup: images are blended in pairs, and so are their labels."""

from __future__ import annotations

import torch
from torch import nn

from helpers.networks.heads import ALPHA, beta_quantiles
from helpers.training.objectives.erm import ERM, Batch

_LEVELS = 4096  # of the mixing shares, all equally likely


class Mixup(ERM):
    r"""Cross-entropy of mixed images with labels that are mixed with equal weights.

    .. math:: \lambda\, \mathrm{CE}(z(\tilde x), y) + (1 - \lambda)\, \mathrm{CE}(z(\tilde x), y'),
              \quad \tilde x = \lambda x + (1 - \lambda) x', \quad
              \lambda \sim \mathrm{Beta}(\alpha, \alpha)

    Notes
    -----
    Zhang et al. 2018, equations 1 and 2.  Each pair has a separate :math:`\lambda`, as in their
    text; their code and the code of Belghazi and Lopez-Paz 2021 use one for the batch.  It is one
    of 4,096 equally likely quantiles, since torch cannot draw from a Beta distribution with a given
    generator.  The other image of a pair is the next one in the batch, whose order is
    random.

    The native measure is `helpers.networks.heads.MixingGap`.
    """

    def __init__(self, alpha: float = ALPHA):
        self.levels = torch.from_numpy(beta_quantiles(alpha, _LEVELS))

    def start(self, images: int, epochs: int, device: str) -> None:
        """Bring the quantiles to the device."""
        self.levels = self.levels.to(device)

    def draw(self, images: int, generator: torch.Generator) -> torch.Tensor:
        """Return the share of each image in its pair, float32 [B]."""
        device = generator.device
        return self.levels[torch.randint(_LEVELS, (images,), device=device, generator=generator)]

    def __call__(self, classifier: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss, and the logits of the blended images."""
        images = batch.inputs.float()
        share = batch.drawn
        blended = torch.lerp(images.roll(-1, dims=0), images, share[:, None, None, None])
        blended = blended.contiguous(memory_format=torch.channels_last)
        logits = classifier(blended).float()
        partners = batch.labels.roll(-1)
        loss = nn.functional.cross_entropy(logits, batch.labels, reduction="none")
        other = nn.functional.cross_entropy(logits, partners, reduction="none")
        return torch.lerp(other, loss, share).mean(), logits
