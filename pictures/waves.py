"""Waves and slopes: one smooth function of the place, seen in two or three colours."""

from __future__ import annotations

import numpy as np

from pictures.base import (
    SIZE,
    each,
    family,
    mix,
    random_turn,
    to_bytes,
    two_colours,
    uniform,
)


@family("Gratings", citation_key="daugman1985")
def gratings(generator: np.random.Generator, n: int) -> np.ndarray:
    """Sine waves of any direction, with one and a half to ten periods in the image, between two
    colours.
    """
    across, _ = random_turn(generator, n)
    frequency = each(uniform(generator, 1.5, 10, n)) / SIZE
    phase = each(uniform(generator, 0, 1, n))
    wave = np.sin(2 * np.pi * (frequency * across + phase))
    return to_bytes(mix(*two_colours(generator, n), 0.5 + 0.5 * wave))


@family("Gradients")
def gradients(generator: np.random.Generator, n: int) -> np.ndarray:
    """Slow passages between three colours: along a line, around a point, or away from a point."""
    x, y = random_turn(generator, n)
    x, y = (z - each(uniform(generator, -SIZE / 3, SIZE / 3, n)) for z in (x, y))
    slope = x / SIZE + 0.5
    turn = np.abs(np.arctan2(y, x)) / np.pi
    distance = np.hypot(x, y) / SIZE
    kind = each(generator.integers(0, 3, n))
    amount = np.choose(kind, [slope, turn, distance]).clip(0, 1)
    first, second = two_colours(generator, n)
    third = uniform(generator, 0, 1, n, 1, 1, 3)
    start = mix(first, second, (2 * amount).clip(0, 1))
    return to_bytes(mix(start, third, (2 * amount - 1).clip(0, 1)))
