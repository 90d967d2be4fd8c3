"""AugMix's images: chains of simple operations, mixed, in batches on the device."""

from __future__ import annotations

import math

import torch
from torch import nn

GEOMETRIC = ("rotate", "shear_x", "shear_y", "translate_x", "translate_y")
#: The operations of AugMix that do not occur in the usual test corruptions.
OPERATIONS = ("autocontrast", "equalize", "posterize", "solarize", *GEOMETRIC)


def augmix(
    images: torch.Tensor,
    generator: torch.Generator,
    *,
    severity: float = 3.0,
    width: int = 3,
    depth: int = 3,
    shear_centre: float = 0.5,
) -> torch.Tensor:
    """Mix each image with `width` chains of 1 to `depth` random operations on it.

    Notes
    -----
    Hendrycks et al. 2020, algorithm 1: weights of the chains from a Dirichlet, of the image
    against them from a Beta distribution, both with parameter 1.

    At each position of the chains, every operation is applied to the same number of images, which
    are chosen at random, so that no shape depends on a draw.  Each image's operations have the same
    distribution as with separate draws.
    """
    count = len(images)
    device = images.device
    chains = images.repeat(width, 1, 1, 1)
    shape_of_all = (len(chains), 1, 1, 1)
    length = torch.randint(1, depth + 1, shape_of_all, device=device, generator=generator)
    for position in range(depth):
        order = torch.randperm(len(chains), device=device, generator=generator)
        changed = torch.empty_like(chains)
        for name, group in zip(OPERATIONS, order.tensor_split(len(OPERATIONS)), strict=True):
            # a level of 0.1 up to the severity, as a share of the highest, 10
            shape_of_group = (len(group), 1, 1, 1)
            level = torch.rand(shape_of_group, device=device, generator=generator)
            level = 0.1 + (severity - 0.1) * level
            sign = 2.0 * torch.randint(2, shape_of_group, device=device, generator=generator) - 1
            changed[group] = apply(name, chains[group], level / 10, sign, shear_centre)
        chains = torch.where(position < length, changed, chains)
    # exponentials divided by their sum are Dirichlet; a uniform number is Beta(1, 1)
    weights = torch.empty((width, count, 1, 1, 1), device=device)
    weights.exponential_(generator=generator)
    weights /= weights.sum(dim=0)
    share = torch.rand((count, 1, 1, 1), device=device, generator=generator)
    mixture = (weights * chains.view(width, count, *images.shape[1:])).sum(dim=0)
    return (1 - share) * images + share * mixture


def apply(
    name: str,
    images: torch.Tensor,
    strength: torch.Tensor,
    sign: torch.Tensor,
    shear_centre: float = 0.5,
) -> torch.Tensor:
    """Apply one operation to all images."""
    if not len(images):
        return images
    if name == "autocontrast":
        low = images.amin(dim=(2, 3), keepdim=True)
        high = images.amax(dim=(2, 3), keepdim=True)
        return torch.where(high > low, (images - low) * 255 / (high - low).clamp(min=1), images)
    if name == "equalize":
        return _equalize(images)
    if name == "posterize":
        step = 2.0 ** (4 + (strength * 4).floor())  # keeps the highest 4 - int(4 strength) bits
        return (images / step).floor() * step
    if name == "solarize":
        return torch.where(images >= 256 - (strength * 256).floor(), 255 - images, images)
    return _affine(name, images, strength.flatten(), sign.flatten(), shear_centre)


def _equalize(images: torch.Tensor) -> torch.Tensor:
    """Give each channel of each image a flat histogram, as Pillow does."""
    shape = images.shape
    levels = images.round().long().flatten(2).flatten(0, 1)
    counts = torch.zeros((len(levels), 256), device=images.device)
    counts.scatter_add_(1, levels, torch.ones_like(levels, dtype=torch.float32))
    last = counts.gather(1, levels.amax(dim=1, keepdim=True))  # pixels of the highest level
    step = ((levels.shape[1] - last) / 255).floor()
    before = counts.cumsum(dim=1) - counts
    table = ((before + (step / 2).floor()) / step.clamp(min=1)).floor().clamp(max=255)
    equal = table.gather(1, levels)
    # too few different levels to spread: they stay
    return torch.where(step > 0, equal, levels.float()).view(shape)


def _affine(
    name: str,
    images: torch.Tensor,
    strength: torch.Tensor,
    sign: torch.Tensor,
    shear_centre: float,
) -> torch.Tensor:
    """Turn, shear or move; pixels from outside the image are black."""
    matrix = torch.eye(2, 3, device=images.device).repeat(len(images), 1, 1)
    if name == "rotate":
        angle = sign * (30 * strength).floor() * (math.pi / 180)
        matrix[:, 0, 0] = angle.cos()
        matrix[:, 0, 1] = -angle.sin()
        matrix[:, 1, 0] = angle.sin()
        matrix[:, 1, 1] = angle.cos()
    elif name in ("shear_x", "shear_y"):
        axis = int(name == "shear_y")
        slope = 0.3 * sign * strength
        matrix[:, axis, 1 - axis] = slope
        matrix[:, axis, 2] = slope * (1 - 2 * shear_centre)
    else:  # coordinates run from -1 to 1: a pixel is 2 / size
        axis, size = (0, images.shape[3]) if name == "translate_x" else (1, images.shape[2])
        matrix[:, axis, 2] = sign * (size / 3 * strength).floor() * (2 / size)
    grid = nn.functional.affine_grid(matrix, list(images.shape), align_corners=False)
    return nn.functional.grid_sample(images, grid, align_corners=False)
