"""Noise: pixels that are drawn, with or without regard to their neighbours."""

from __future__ import annotations

import numpy as np

from pictures.base import (
    SIZE,
    X,
    Y,
    each,
    family,
    mix,
    random_turn,
    to_bytes,
    two_colours,
    uniform,
)


@family("Gaussian noise", citation_key="liang2018", splits={"test": 10000})
def gaussian(generator: np.random.Generator, n: int) -> np.ndarray:
    """Every channel of every pixel is drawn from a normal distribution with mean 0.5 and standard
    deviation 1, and clipped to the range from 0 to 1.
    """
    return to_bytes(0.5 + generator.standard_normal((n, SIZE, SIZE, 3), np.float32))


@family("Static")
def static(generator: np.random.Generator, n: int) -> np.ndarray:
    """Television snow: blocks of one to four pixels, each a random mixture of the image's two
    colours, in equal parts or with one that prevails.
    """
    width = each(generator.integers(1, 5, n))
    blocks = uniform(generator, 0, 1, n, SIZE, SIZE) ** each(uniform(generator, -2, 2, n) ** 2 + 1)
    place = np.arange(SIZE)
    shown = blocks[each(np.arange(n)), place[:, np.newaxis] // width, place // width]
    return to_bytes(mix(*two_colours(generator, n), shown))


@family("Plasma", citation_key="field1987")
def plasma(generator: np.random.Generator, n: int) -> np.ndarray:
    """Coloured clouds: noise whose amplitude falls with a random power, 1 to 2.5, of the spatial
    frequency.
    """
    frequency = np.hypot(np.fft.fftfreq(SIZE)[:, np.newaxis], np.fft.rfftfreq(SIZE))
    frequency[0, 0] = 1  # the mean is set below
    fall = frequency.astype(np.float32) ** -each(uniform(generator, 1, 2.5, n))
    spectrum = np.fft.rfft2(generator.standard_normal((n, 3, SIZE, SIZE), np.float32))
    clouds = np.fft.irfft2(spectrum * fall[:, np.newaxis]).astype(np.float32)
    clouds -= clouds.mean(axis=(2, 3), keepdims=True)
    clouds /= clouds.std(axis=(2, 3), keepdims=True)
    mean = uniform(generator, 0.3, 0.7, n, 3, 1, 1)
    spread = uniform(generator, 0.1, 0.3, n, 3, 1, 1)
    return to_bytes(np.moveaxis(mean + spread * clouds, 1, 3))


@family("Blue noise", citation_key="field1987")
def blue_noise(generator: np.random.Generator, n: int) -> np.ndarray:
    """Grain without patches: noise whose amplitude grows with a random power, 0.5 to 1.5, of the
    spatial frequency, around one colour, grey or in colours.
    """
    frequency = np.hypot(np.fft.fftfreq(SIZE)[:, np.newaxis], np.fft.rfftfreq(SIZE))
    rise = frequency.astype(np.float32) ** each(uniform(generator, 0.5, 1.5, n))
    spectrum = np.fft.rfft2(generator.standard_normal((n, 3, SIZE, SIZE), np.float32))
    grain = np.fft.irfft2(spectrum * rise[:, np.newaxis]).astype(np.float32)
    grain /= grain.std(axis=(2, 3), keepdims=True)
    grey = generator.random((n, 1, 1, 1)) < 0.5
    grain = np.where(grey, grain[:, :1], grain) * uniform(generator, 0.1, 0.3, n, 1, 1, 1)
    return to_bytes(uniform(generator, 0.2, 0.8, n, 1, 1, 3) + np.moveaxis(grain, 1, 3))


@family("Salt and pepper")
def salt_and_pepper(generator: np.random.Generator, n: int) -> np.ndarray:
    """Black and white grains, on 3 to 40 % of the pixels, over a slow passage between two
    colours.
    """
    x, _ = random_turn(generator, n)
    image = mix(*uniform(generator, 0, 1, 2, n, 1, 1, 3), (x / SIZE + 0.5).clip(0, 1))
    share = each(uniform(generator, 0.03, 0.4, n))
    grains = generator.random((n, SIZE, SIZE), np.float32) < share
    white = generator.random((n, SIZE, SIZE), np.float32) < each(uniform(generator, 0.3, 0.7, n))
    return to_bytes(mix(image, white[..., np.newaxis].astype(np.float32), grains))


@family("Blobs")
def blobs(generator: np.random.Generator, n: int) -> np.ndarray:
    """Six large spots of light in any colours, without an edge, that run into one another as lamps
    out of focus do.
    """
    image = np.broadcast_to(uniform(generator, 0, 1, n, 1, 1, 3), (n, SIZE, SIZE, 3))
    for _ in range(6):
        x, y = (z - each(uniform(generator, -SIZE / 2, SIZE / 2, n)) for z in (X, Y))
        width = each(uniform(generator, 3, 9, n))
        amount = np.exp(-(x**2 + y**2) / (2 * width**2))
        image = mix(image, uniform(generator, 0, 1, n, 1, 1, 3), amount)
    return to_bytes(image)
