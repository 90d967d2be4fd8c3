"""Blur: every pixel becomes a mean of its surroundings (see `noise` for the arguments)."""

from __future__ import annotations

import math

import numpy as np
from scipy.ndimage import gaussian_filter

from helpers.data.corruptions.noise import Generators


def defocus_blur(
    images: np.ndarray, generators: Generators, radius: float, alias: float
) -> np.ndarray:
    """A lens out of focus: the mean over a disc, whose edge is softened by a narrow Gaussian.

    `radius` is the disc's and `alias` the Gaussian's standard deviation; the image is mirrored at
    its border.
    """
    taps = 1 if radius <= 8 else 2
    reach = int(radius) + taps
    rows, columns = np.ogrid[-reach : reach + 1, -reach : reach + 1]
    disc = (rows**2 + columns**2 <= radius**2).astype(np.float32)
    disc = gaussian_filter(disc / disc.sum(), alias, radius=taps)

    around = ((0, 0), (reach, reach), (reach, reach), (0, 0))
    padded = np.pad(images, around, mode="reflect")
    size = padded.shape[1:3]
    spectrum = np.fft.rfft2(disc, size)[..., np.newaxis]
    blurred = np.empty_like(images)
    # one by one: the last bits of a transform might depend on how many are done at once
    for target, image in zip(blurred, padded, strict=True):
        mean = np.fft.irfft2(np.fft.rfft2(image, axes=(0, 1)) * spectrum, size, axes=(0, 1))
        target[:] = mean[2 * reach :, 2 * reach :]
    return blurred


def glass_blur(
    images: np.ndarray, generators: Generators, sigma: float, delta: int, iterations: int
) -> np.ndarray:
    """Frosted glass: a Gaussian blur, pixels displaced at random, and the blur once more.

    `sigma` is the Gaussian's standard deviation.  In each of `iterations` passes, from the last
    pixel to the first, each pixel receives the current value of a pixel at most `delta` away,
    which may itself have been displaced.  (The authors intended to swap both pixels, but their
    code overwrites one before it reads it.  This function does what that code and its images do.)
    """
    blur = (0, sigma, sigma, 0)
    n, height, width, channels = images.shape
    images = gaussian_filter(images, blur, mode="nearest").reshape(n, -1, channels)
    pixels = np.arange(height * width)
    grid = np.zeros((height, width), bool)
    grid[delta + 1 : height - delta + 1, delta + 1 : width - delta + 1] = True
    inside = grid.ravel()
    for _ in range(iterations):
        rows, columns = np.stack(
            [g.integers(-delta, delta, (2, height * width)) for g in generators], axis=1
        )
        source = pixels + inside * (rows * width + columns)
        # A source further on is already displaced: follow the chain to a pixel that is not.
        displaced = inside[source] & (source > pixels)
        last = np.where(displaced, source, pixels)
        while True:
            further = np.take_along_axis(last, last, axis=1)
            if (further == last).all():
                break
            last = further
        source = np.take_along_axis(source, last, axis=1)
        images = np.take_along_axis(images, source[..., np.newaxis], axis=1)
    images = images.reshape(n, height, width, channels)
    return gaussian_filter(images, blur, mode="nearest")


def motion_blur(
    images: np.ndarray, generators: Generators, radius: int, sigma: float
) -> np.ndarray:
    """A camera that moves sideways: `smear` at a random angle up to 45 degrees."""
    return smear(images, generators, radius, sigma, -45, 45)


def smear(
    layers: np.ndarray, generators: Generators, radius: int, sigma: float, low: float, high: float
) -> np.ndarray:
    """Smear layers [n, H, W, ...] along a line, each at its own angle, as ImageMagick does.

    A pixel becomes the weighted mean of the pixels that follow it in the direction of the angle,
    which is drawn from `low` to `high` degrees from the horizontal.  The ``2 * radius + 1`` steps
    of one pixel are rounded to whole pixels.  Their weights are one side of a Gaussian of standard
    deviation `sigma`.  Beyond the border the last pixel is repeated.
    """
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    weights = (weights / weights.sum()).astype(np.float32)
    reach = 2 * radius
    around = ((0, 0), (reach, reach), (reach, reach)) + ((0, 0),) * (layers.ndim - 3)
    padded = np.pad(layers, around, mode="edge")
    height, width = layers.shape[1:3]
    result = np.zeros_like(layers)
    for target, layer, generator in zip(result, padded, generators, strict=True):
        angle = math.radians(generator.uniform(low, high))
        rows = np.ceil(steps * math.sin(angle) - 0.5).astype(int) + reach
        columns = np.ceil(steps * math.cos(angle) - 0.5).astype(int) + reach
        for weight, row, column in zip(weights, rows, columns, strict=True):
            target += weight * layer[row : row + height, column : column + width]
    return result


def zoom_blur(images: np.ndarray, generators: Generators, stop: float, step: float) -> np.ndarray:
    """A camera that moves forward: the mean of the image and of its enlargements.

    These go from 1 (so the image itself counts twice) up to `stop` by `step`.  As in the authors'
    code, rounding decides whether `stop` is one of them.
    """
    factors = np.arange(1, stop, step)
    return (images + sum(enlarge(images, factor) for factor in factors)) / (len(factors) + 1)


def enlarge(layers: np.ndarray, factor: float) -> np.ndarray:
    """Enlarge layers [n, H, W, ...] around their middle, of the same size after as before.

    Linear interpolation between the centres of pixels: the first and last pixel of the middle part
    become the first and last pixel of the enlarged part, whose border is then cut off.
    """
    for axis in (1, 2):
        length = layers.shape[axis]
        part = math.ceil(length / factor)
        enlarged = round(part * factor)
        at = np.arange(length) + (enlarged - length) // 2
        at = (length - part) // 2 + at * ((part - 1) / (enlarged - 1))
        low = at.astype(int)
        weight = (at - low).astype(np.float32).reshape(-1, *(1,) * (layers.ndim - axis - 1))
        below = layers.take(low, axis)
        above = layers.take(np.minimum(low + 1, length - 1), axis)
        layers = below + (above - below) * weight
    return layers
