"""Noise: pixels that are drawn, with or without regard to their neighbours."""

from __future__ import annotations

import numpy as np

from helpers.data.generated.base import SIZE, each, family, mix, to_bytes, two_colours, uniform


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
