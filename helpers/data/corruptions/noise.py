"""Noise: every value of every pixel is disturbed by itself.

As in all these modules, a corruption takes levels from 0 to 1, float32 [n, H, W, 3], one random
generator an image, and its parameters; it returns levels of the same shape, which may leave the
range.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Generators = Sequence[np.random.Generator]


def gaussian_noise(images: np.ndarray, generators: Generators, deviation: float) -> np.ndarray:
    """Poor light: normal noise of one standard deviation is added."""
    shape = images.shape[1:]
    return images + deviation * np.stack([g.standard_normal(shape, np.float32) for g in generators])


def shot_noise(images: np.ndarray, generators: Generators, photons: float) -> np.ndarray:
    """Shot noise of light: a Poisson number of photons, with mean `photons` for white."""
    drawn = [g.poisson(image * photons) for image, g in zip(images, generators, strict=True)]
    return np.stack(drawn) / np.float32(photons)


def impulse_noise(images: np.ndarray, generators: Generators, amount: float) -> np.ndarray:
    """Salt and pepper: this part of the values becomes black or white, either as often."""
    chance = np.stack([g.random(images.shape[1:], np.float32) for g in generators])
    return np.where(chance < amount / 2, 0, np.where(chance >= 1 - amount / 2, 1, images))
