"""Views of images by the augmentations of training, for networks that see stored features."""

from __future__ import annotations

from dataclasses import fields

import torch

from helpers import cache
from helpers.data.images import Images
from helpers.data.views import View
from helpers.training.mixing import augmix

_COPIES = 12  # 36 chains, of which each of the nine operations gets four: of three, the first three


def _augmix(image: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    mixed = augmix(image.float().expand(_COPIES, -1, -1, -1), generator)[0]
    return mixed.round().clamp(0, 255).to(torch.uint8)


_AUGMIX = f"augmix {cache.code(f'{__name__}._augmix')[:8]}"


def by_augmix(images: Images, count: int) -> tuple[View, ...]:
    """Return so many views of images by AugMix's mixtures, of its authors' strength for CIFAR.

    Examples
    --------
    >>> import numpy as np
    >>> one = Images(np.zeros((1, 8, 8, 3), np.uint8), np.zeros(1, int), ("ant",), "pets", "train")
    >>> by_augmix(one, 2)[1]
    Images(pets/train-augmix-2: 1 images of 8x8, 1 classes)
    """
    given = {one.name: getattr(images, one.name) for one in fields(Images)}
    return tuple(
        View(
            **given | {"split": f"{images.split}-augmix-{number}"},
            made_by=f"{_AUGMIX} {number}", change=_augmix,
        )
        for number in range(1, count + 1)
    )  # fmt: skip
