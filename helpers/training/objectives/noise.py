"""Training with noise: a part of each batch comes with Gaussian or speckle noise."""

from __future__ import annotations

import torch

from helpers.checks import at_least_zero, closed_share
from helpers.training.objectives.erm import ERM


class NoiseTraining(ERM):
    r"""Cross-entropy of images, with a share of noisy ones, clipped to the range of pixels.

    .. math:: x \cdot (1 + \sigma_\text{speckle}\, n) + \sigma_\text{Gaussian}\, n', \quad
              n, n' \sim \mathcal N(0, 1)

    with independent draws for each pixel and channel.

    Notes
    -----
    Rusak et al. 2020: training with a tuned standard deviation; half of the images stay clean.
    The noisy images are the first of the batch, whose order is random.
    """

    def __init__(self, gaussian: float = 0.0, speckle: float = 0.0, share: float = 0.5):
        self.gaussian = at_least_zero("gaussian", gaussian)
        self.speckle = at_least_zero("speckle", speckle)
        self.share = closed_share("share", share)

    def views(
        self, images: torch.Tensor, outliers: torch.Tensor | None, generator: torch.Generator
    ) -> torch.Tensor:
        """Return the images, the first ones with noise, in float32 of [0, 255]."""
        shown = images.to(torch.float32, copy=True)
        noisy = shown[: round(self.share * len(images))]
        if self.speckle:
            noisy *= 1 + self.speckle * torch.empty_like(noisy).normal_(generator=generator)
        if self.gaussian:
            noisy += 255 * self.gaussian * torch.empty_like(noisy).normal_(generator=generator)
        noisy.clamp_(0, 255)
        return shown
