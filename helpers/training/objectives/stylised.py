"""Training on stylised images: shapes stay, textures and colours come from other images."""

from __future__ import annotations

import torch

from helpers.checks import closed_share
from helpers.training.objectives.erm import ERM


class Stylised(ERM):
    """Cross-entropy of images; a share of them has the texture of another image.

    Notes
    -----
    Geirhos et al. 2019 train on images in the style of paintings, made by a network for style
    transfer.  Without such a network, we mix amplitude spectra as in Xu et al. 2021: the phase,
    which carries shape, stays.  The stylised images are the first of the batch, and the other
    image is the next one: the batch's order is random.
    """

    def __init__(self, share: float = 0.5):
        self.share = closed_share("share", share)

    def views(
        self, images: torch.Tensor, outliers: torch.Tensor | None, generator: torch.Generator
    ) -> torch.Tensor:
        """Return the images, the first ones stylised, in float32 of [0, 255]."""
        shown = images.to(torch.float32, copy=True)
        count = round(self.share * len(images))
        if count:  # there is no Fourier transform of no images
            others = shown.roll(-1, dims=0)[:count]
            weight = torch.rand((count, 1, 1, 1), device=images.device, generator=generator)
            shown[:count] = mix_amplitudes(shown[:count], others, weight).clamp(0, 255)
        return shown


def mix_amplitudes(
    images: torch.Tensor, others: torch.Tensor, weight: torch.Tensor
) -> torch.Tensor:
    r"""Mix the amplitude spectra of images with the spectra of others and keep the phases.

    .. math:: \mathcal F^{-1}\big(((1 - \lambda)\, |\mathcal F x| + \lambda\, |\mathcal F x'|)\,
              e^{i \arg \mathcal F x}\big)

    Examples
    --------
    The amplitude of flat images is their sum:

    >>> dark, bright = torch.full((1, 1, 2, 2), 10.0), torch.full((1, 1, 2, 2), 30.0)
    >>> mix_amplitudes(dark, bright, torch.full((1, 1, 1, 1), 0.25)).flatten()
    tensor([15., 15., 15., 15.])
    """
    spectrum = torch.fft.rfft2(images)
    other = torch.fft.rfft2(others)
    amplitude = torch.lerp(spectrum.abs(), other.abs(), weight)
    return torch.fft.irfft2(torch.polar(amplitude, spectrum.angle()), s=images.shape[-2:])
