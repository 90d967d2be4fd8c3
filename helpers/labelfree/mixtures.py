"""Which images make a mixture: as many ID as OOD ones, or in another ratio, or fewer of both."""

from __future__ import annotations

import zlib
from fractions import Fraction

import numpy as np


def counts_in_ratio(
    known: int, unknown: int, ratio: tuple[int, int] = (1, 1), size: int | None = None
) -> tuple[int, int]:
    """Return how many ID and OOD images make the largest mixture of a ratio."""
    if known < 1 or unknown < 1:
        raise ValueError(f"known, unknown: at least one image each, got {known} and {unknown}")
    times = min(Fraction(known, ratio[0]), Fraction(unknown, ratio[1]))
    if size is not None:
        times = min(times, Fraction(size, sum(ratio)))
    first, second = (max(int(times * part), 1) for part in ratio)
    return first, second


def draw_counts(known: int, unknown: int, least: int, generator: np.random.Generator) -> list[int]:
    """Draw the numbers of ID and OOD images of a mixture, each uniform from `least` to all."""
    return [
        int(generator.integers(min(least, count), count, endpoint=True))
        for count in (known, unknown)
    ]


def draw_places(name: str, count: int, chosen: int, seed: int) -> np.ndarray:
    """Return which of `count` images are chosen, int64 [chosen] in ascending order.

    They are the first of a random order that follows from name and seed: fewer are a part of more.
    """
    order = np.random.default_rng([seed, zlib.crc32(name.encode())]).permutation(count)
    return np.sort(order[:chosen])
