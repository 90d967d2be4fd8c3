"""Colour scales: values all over the image, coloured from low to high."""

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
    uniform,
    value_noise,
)

_PLACE = np.arange(SIZE)
# from low to high: viridis, hot, cool to warm, ice, and yellow to red
_SCALES = np.array(
    [[[68, 1, 84], [33, 145, 140], [253, 231, 37]], [[10, 0, 0], [230, 60, 0], [255, 250, 200]],
     [[59, 76, 192], [221, 221, 221], [180, 4, 38]], [[5, 10, 40], [40, 120, 200], [220, 250, 255]],
     [[255, 255, 204], [253, 141, 60], [128, 0, 38]]], np.float32,
) / 255  # fmt: skip


def _colour(generator: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """Colour values from 0 to 1, shape [n, H, W], by one of the scales an image."""
    low, middle, high = np.moveaxis(
        _SCALES[generator.integers(0, len(_SCALES), len(values))], 1, 0
    )[:, :, np.newaxis, np.newaxis]
    half = 2 * values.clip(0, 1)
    return mix(mix(low, middle, half.clip(0, 1)), high, (half - 1).clip(0, 1))


@family("Heat maps")
def heat_maps(generator: np.random.Generator, n: int) -> np.ndarray:
    """Matrices of five to sixteen rows, coloured by value on one of five colour scales: smooth
    over the rows, in blocks, or symmetric with a diagonal.
    """
    x, y = (np.broadcast_to(z, (n, SIZE, SIZE)) for z in (X, Y))
    cell = each(np.array([2, 3, 4, 5, 6])[generator.integers(0, 5, n)])
    values = 0.7 * value_noise(generator, x, y, 7) + 0.3 * uniform(generator, 0, 1, n, SIZE, SIZE)
    block = uniform(generator, 0, 1, n, 8, 8).repeat(4, axis=1).repeat(4, axis=2)
    kind = each(generator.integers(0, 3, n))
    values = np.where(kind == 1, 0.7 * block + 0.3 * values, values)
    values = np.where(kind == 2, (values + values.swapaxes(1, 2)) / 2, values)
    diagonal = (kind == 2) & np.eye(SIZE, dtype=bool)
    values = np.where(diagonal, 1, (values - 0.5) * 1.5 + 0.5)
    at = _PLACE // cell
    shown = values[each(np.arange(n)), at.swapaxes(1, 2), at]
    line = (_PLACE % cell == 0) & (cell > 3) & each(generator.random(n) < 0.5)
    image = _colour(generator, shown)
    return to_bytes(mix(image, np.float32(0.95), 1.0 * (line | line.swapaxes(1, 2))))


@family("Contour plots")
def contour_plots(generator: np.random.Generator, n: int) -> np.ndarray:
    """A smooth function of the place in four to ten steps of colour, with or without lines between
    them, on one of five colour scales.
    """
    x, y = random_turn(generator, n)
    hills = value_noise(generator, x, y, 13) + value_noise(generator, x, y, 7) / 2
    steps = each(generator.integers(4, 11, n))
    level = (1.6 * (hills / 1.5 - 0.5) + 0.5).clip(0, 0.999) * steps
    slope = np.hypot(*np.gradient(level, axis=(1, 2))) + 1e-3
    off = np.abs(level - np.rint(level)) / slope  # pixels from a step
    line = (1 - off).clip(0, 1) * each(uniform(generator, 0, 1, n) * (generator.random(n) < 0.6))
    image = _colour(generator, np.floor(level) / (steps - 1))
    return to_bytes(mix(image, np.float32(0.05), line))


@family("Spectrograms")
def spectrograms(generator: np.random.Generator, n: int) -> np.ndarray:
    """A voice's or a bird's sound, time across and frequency upwards: overtones of a pitch that
    rises and falls, with pauses, over noise, on one of five colour scales.
    """
    x = np.broadcast_to(X, (n, SIZE, SIZE))
    time = np.broadcast_to(X[:1], (n, 1, SIZE))
    pitch = each(uniform(generator, 3, 12, n)) * (
        0.6 + 0.8 * value_noise(generator, time, 0 * time, 9)
    )
    frequency = SIZE / 2 - Y
    overtone = frequency / pitch
    off = np.abs(overtone - np.rint(overtone).clip(1)) * pitch
    tone = np.exp(-((off / each(uniform(generator, 0.7, 1.5, n))) ** 2))
    tone = tone * np.exp(-overtone / each(uniform(generator, 1, 6, n)))
    voiced = 8 * value_noise(generator, time, 0 * time, 4) - each(uniform(generator, 1.5, 3.5, n))
    formants = 0.4 + value_noise(generator, x / 3, np.broadcast_to(Y, x.shape), 6)
    hiss = uniform(generator, 0, 1, n, SIZE, SIZE) ** 2 * each(uniform(generator, 0.1, 0.35, n))
    return to_bytes(_colour(generator, 1.5 * tone * voiced.clip(0, 1) * formants + hiss))
