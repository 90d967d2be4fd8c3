"""Which images make a mixture: as many ID as OOD ones, or in another ratio, or fewer of both."""

from __future__ import annotations

import zlib
from fractions import Fraction

import numpy as np


def counts_in_ratio(
    known: int, unknown: int, ratio: tuple[int, int] = (1, 1), size: int | None = None
) -> tuple[int, int]:
    """Return how many ID and OOD images make the largest mixture of a ratio.

    Examples
    --------
    >>> counts_in_ratio(800, 500), counts_in_ratio(800, 500, size=50)
    ((500, 500), (25, 25))
    >>> counts_in_ratio(800, 500, (1, 10)), counts_in_ratio(800, 60, (1, 100))
    ((50, 500), (1, 60))
    """
    if known < 1 or unknown < 1:
        raise ValueError(f"known, unknown: at least one image each, got {known} and {unknown}")
    if min(ratio) < 1:
        raise ValueError(f"ratio: positive numbers expected, got {list(ratio)}")
    times = min(Fraction(known, ratio[0]), Fraction(unknown, ratio[1]))
    if size is not None:
        times = min(times, Fraction(size, sum(ratio)))
    first, second = (max(int(times * part), 1) for part in ratio)
    return first, second


def draw_counts(
    known: int, unknown: int, least: int, generator: np.random.Generator
) -> tuple[int, int]:
    """Draw how many ID and OOD images make a mixture, each uniform from `least` to all there are.

    Examples
    --------
    >>> draw_counts(800, 60, 100, np.random.default_rng(0))[1]
    60
    """
    first, second = (
        int(generator.integers(min(least, count), count, endpoint=True))
        for count in (known, unknown)
    )
    return first, second


def draw_places(name: str, count: int, chosen: int, seed: int) -> np.ndarray:
    """Return which of `count` images are chosen, int64 [chosen] in ascending order.

    The first of a random order that follows from the name and the seed: fewer images are a part
    of more, so that a variant differs from another by what it leaves out.

    Examples
    --------
    >>> few, more = draw_places("mazes", 9, 3, 0), draw_places("mazes", 9, 5, 0)
    >>> set(few) < set(more), len(more)
    (True, 5)
    """
    order = np.random.default_rng([seed, zlib.crc32(name.encode())]).permutation(count)
    return np.sort(order[:chosen])
