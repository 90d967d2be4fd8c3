"""Views by the augmentations of training, for networks that see stored features."""

import numpy as np
import torch

from helpers.data import Images
from helpers.training.views import by_augmix


def images_of(count, size=16):
    pixels = np.random.default_rng(0).integers(0, 256, (count, size, size, 3), dtype=np.uint8)
    return Images(pixels, np.zeros(count, int), ("ant",), "pets", "train")


def test_each_view_of_an_image_is_another_mixture():
    images = images_of(3)
    views = by_augmix(images, 3)
    assert [one.split for one in views] == [f"train-augmix-{number}" for number in (1, 2, 3)]
    found = [torch.cat([*one.in_order(batch_size=2)]) for one in views]
    assert all(one.dtype == torch.uint8 and one.shape == (3, 3, 16, 16) for one in found)
    assert len({one.numpy().tobytes() for one in found}) == 3
    changed = np.abs(found[0].permute(0, 2, 3, 1).numpy().astype(int) - images.images).mean()
    assert 2 < changed < 80
