"""Augmentation of whole batches, on the device that holds the images."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

PADDING = 4


def pad(images: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Put the border that random crops need around images [N, H, W, 3]: a reflection, or black."""
    around = ((0, 0), (PADDING, PADDING), (PADDING, PADDING), (0, 0))
    if "crop" in names:
        return np.pad(images, around, mode="reflect")
    return np.pad(images, around) if "crop_zeros" in names else images


def crop_and_flip(
    images: torch.Tensor,
    indices: torch.Tensor,
    size: tuple[int, int],
    names: tuple[str, ...],
    generator: torch.Generator,
) -> torch.Tensor:
    """Take a batch, each image cropped at a random place and flipped by a fair coin.

    One gather does selection, crop and flip together; no image is touched twice.
    """
    device = images.device
    batch = len(indices)
    rows = torch.arange(size[0], device=device).expand(batch, -1)
    columns = torch.arange(size[1], device=device).expand(batch, -1)
    if "flip" in names:
        flipped = torch.rand((batch, 1), device=device, generator=generator) < 0.5
        columns = torch.where(flipped, size[1] - 1 - columns, columns)
    if "crop" in names or "crop_zeros" in names:
        draw = partial(torch.randint, 2 * PADDING + 1, (batch, 1), device=device)
        rows = rows + draw(generator=generator)
        columns = columns + draw(generator=generator)
    height, width = images.shape[1:3]
    pixels = ((indices[:, None] * height + rows) * width)[:, :, None] + columns[:, None, :]
    picked = images.reshape(-1, 3).index_select(0, pixels.flatten())
    return picked.view(batch, *size, 3).permute(0, 3, 1, 2)
