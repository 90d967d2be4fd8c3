"""Sources of batches: images in the memory of the device, or a streamed folder."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from helpers.data.images import Images
from helpers.networks.recipe import Recipe
from helpers.training.augmentation import crop_and_flip, pad

if TYPE_CHECKING:
    from helpers.data import ImageStream


class DeviceBatches:
    """Augmented batches of images stored on the device as bytes; no image is copied later."""

    def __init__(self, images: Images, recipe: Recipe, device: str):
        self.size = images.images.shape[1:3]
        self.names = recipe.augmentation
        padded = np.ascontiguousarray(pad(images.images, self.names))
        self.pixels = torch.from_numpy(padded).to(device)

    def __len__(self) -> int:
        return len(self.pixels)

    def take(self, order, batch_size, generator):
        """Yield the images of an order [N'] as uint8 [B, 3, H, W], B at a time, on the device."""
        for start in range(0, len(order), batch_size):
            indices = order[start : start + batch_size]
            yield crop_and_flip(self.pixels, indices, self.size, self.names, generator)


class StreamedBatches:
    """The same of a folder that is decoded while it is read, for data sets that no memory holds."""

    def __init__(self, stream: ImageStream, recipe: Recipe, device: str):
        self.stream = stream
        self.recipe = recipe
        self.device = device

    def __len__(self) -> int:
        return len(self.stream)

    def take(self, order, batch_size, generator):
        """Yield batches; workers decode, crop and flip, ahead of the device."""
        seed = int(torch.randint(2**62, (), device=generator.device, generator=generator))
        for _, images in self.stream.batches(
            order.cpu().numpy(),
            batch_size=batch_size,
            size=self.recipe.image_size,
            augment="flip" in self.recipe.augmentation,
            seed=seed,
        ):
            batch = images.to(self.device, non_blocking=True)
            yield batch.contiguous(memory_format=torch.channels_last)


Batches = DeviceBatches | StreamedBatches


def batches_of(images: Images | ImageStream, recipe: Recipe, device: str) -> Batches:
    """Return the source of batches for these images on the device."""
    if isinstance(images, Images):
        return DeviceBatches(images, recipe, device)
    return StreamedBatches(images, recipe, device)


def sample_of(images: Images | ImageStream, recipe: Recipe) -> np.ndarray:
    """Return images, uint8 [N, H, W, 3], from which pixel statistics are taken.

    All images in memory, or 2,000 images of a stream, evenly spaced in the order of classes.
    """
    if isinstance(images, Images):
        return images.images
    spread = np.linspace(0, len(images) - 1, min(2000, len(images))).astype(np.int64)
    batches = images.batches(spread, batch_size=100, size=recipe.image_size)
    return np.concatenate([batch.permute(0, 2, 3, 1).numpy() for _, batch in batches])


def shuffled(images: int, count: int, generator: torch.Generator) -> torch.Tensor:
    """Return `count` random indices in which no image comes a second time before all came once.

    Examples
    --------
    >>> order = shuffled(3, 7, torch.Generator().manual_seed(0))
    >>> order.bincount().sort().values
    tensor([2, 2, 3])
    """
    draw = partial(torch.randperm, images, device=generator.device, generator=generator)
    rounds = [draw() for _ in range(-(-count // images))]
    return torch.cat(rounds)[:count]
