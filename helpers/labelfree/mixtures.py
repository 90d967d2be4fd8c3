"""Which images make a mixture: as many ID as OOD ones, or in another ratio, or fewer of both."""

from __future__ import annotations

import zlib
from fractions import Fraction

import numpy as np


def counts_in_ratio(
    known: int, unknown: int, ratio: tuple[int, int], size: int | None
) -> tuple[int, int]:
    """Return how many ID and OOD images make the largest mixture of a ratio, at least one of each.

    >>> counts_in_ratio(10, 400, (1, 1), None), counts_in_ratio(1000, 70, (3, 7), None)
    ((10, 10), (30, 70))
    >>> counts_in_ratio(1000, 1000, (1, 4), 50), counts_in_ratio(5, 9, (1, 100), None)
    ((10, 40), (1, 9))
    """
    if known < 1 or unknown < 1:
        raise ValueError(f"known, unknown: at least one image each, got {known} and {unknown}")
    times = min(Fraction(known, ratio[0]), Fraction(unknown, ratio[1]))
    if size is not None:
        times = min(times, Fraction(size, sum(ratio)))
    known_count = max(int(times * ratio[0]), 1)
    unknown_count = max(int(times * ratio[1]), 1)
    return known_count, unknown_count


def counts_at_share(known: int, unknown: int, share: float, size: float = np.inf) -> list[int]:
    """Return how many ID and OOD images make the largest mixture with a share of OOD images.

    >>> counts_at_share(400, 150, 0.5), counts_at_share(400, 150, 0.01, 200)
    ([150, 150], [198, 2])
    """
    total = min(size, unknown / share, known / (1 - share))
    return [max(1, round((1 - share) * total)), max(1, round(share * total))]


def draw_places(name: str, count: int, size: int, seed: int) -> np.ndarray:
    """Return which of `count` images are drawn, int64 [size] in ascending order.

    They are the first of a random order that follows from name and seed: fewer are a part of more.
    """
    order = np.random.default_rng([seed, zlib.crc32(name.encode())]).permutation(count)
    return np.sort(order[:size])
