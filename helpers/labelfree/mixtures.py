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


def counts_at_share(known: int, unknown: int, share: float, size: float = np.inf) -> list[int]:
    """Return how many ID and OOD images make the largest mixture with a share of OOD images.

    >>> counts_at_share(400, 150, 0.5), counts_at_share(400, 150, 0.01, 200)
    ([150, 150], [198, 2])
    """
    total = min(size, unknown / share, known / (1 - share))
    return [max(1, round(part * total)) for part in (1 - share, share)]


def draw_places(name: str, count: int, chosen: int, seed: int) -> np.ndarray:
    """Return which of `count` images are chosen, int64 [chosen] in ascending order.

    They are the first of a random order that follows from name and seed: fewer are a part of more.
    """
    order = np.random.default_rng([seed, zlib.crc32(name.encode())]).permutation(count)
    return np.sort(order[:chosen])
