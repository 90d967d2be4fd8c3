"""Tilings: the plane cut into cells, each of one colour."""

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

_PLACE = np.arange(SIZE)


@family("Checkerboards")
def checkerboards(generator: np.random.Generator, n: int) -> np.ndarray:
    """Boards of two colours, with fields of two and a half to nine pixels, turned by any angle."""
    width = each(uniform(generator, 2.5, 9, n))
    # a cosine cut off at ±1 is a row of fields whose edges are one pixel soft
    rows = [
        (np.cos(np.pi * (z / width + each(uniform(generator, 0, 2, n)))) * width / 2).clip(-1, 1)
        for z in random_turn(generator, n)
    ]
    return to_bytes(mix(*two_colours(generator, n), 0.5 + 0.5 * rows[0] * rows[1]))


@family("Plaid")
def plaid(generator: np.random.Generator, n: int) -> np.ndarray:
    """Tartan cloth: the same random order of threads in three colours as warp and as weft, in a
    twill.
    """
    colours = uniform(generator, 0, 1, n, 3, 3)
    width, period = (generator.integers(low, high, (n, 1)) for low, high in ((1, 4), (3, 8)))
    threads = generator.integers(0, 3, (n, SIZE))
    threads[:, :2] = 0, 1  # never a cloth of one colour
    order = np.take_along_axis(threads, (_PLACE // width) % period, axis=1)
    sett = np.take_along_axis(colours, order[..., np.newaxis], axis=1)  # [n, 32, 3]
    warp_above = (_PLACE + _PLACE[:, np.newaxis]) % 4 < 2
    return to_bytes(
        np.where(warp_above[..., np.newaxis], sett[:, np.newaxis], sett[:, :, np.newaxis])
    )


@family("Mazes")
def mazes(generator: np.random.Generator, n: int) -> np.ndarray:
    """Perfect mazes, grown as binary trees: from every cell a way leads on to the one beside it or
    the one below; corridors and walls are one to three pixels wide.
    """
    free = np.zeros((n, SIZE, SIZE), bool)
    free[:, ::2, ::2] = True
    beside = generator.random((n, SIZE // 2, SIZE // 2)) < each(uniform(generator, 0.35, 0.65, n))
    free[:, ::2, 1::2] = beside
    free[:, 1::2, ::2] = ~beside
    width = each(generator.integers(1, 4, n))
    shown = free[each(np.arange(n)), _PLACE[:, np.newaxis] // width, _PLACE // width]
    mirrored = each(generator.random(n) < 0.5)  # or all ways would lead to one corner
    shown = np.where(mirrored, shown[:, :, ::-1], shown)
    return to_bytes(mix(*two_colours(generator, n), shown))


@family("Voronoi cells", citation_key="worley1996")
def voronoi(generator: np.random.Generator, n: int) -> np.ndarray:
    """Five to twenty random points; every pixel takes the colour of the nearest, and the borders
    are dark.
    """
    most = 20
    sites = uniform(generator, -SIZE / 2, SIZE / 2, 2, n, most, 1, 1)
    distance = (X - sites[0]) ** 2 + (Y - sites[1]) ** 2
    absent = np.arange(most) >= generator.integers(5, most + 1, (n, 1))
    distance += 1e6 * absent[..., np.newaxis, np.newaxis]
    nearest = distance.argmin(axis=1)
    first, second = np.moveaxis(np.sqrt(np.partition(distance, 1, axis=1)[:, :2]), 1, 0)
    colour = uniform(generator, 0, 1, n, most, 3)[each(np.arange(n)), nearest]
    border = ((second - first) / each(uniform(generator, 0.5, 2, n))).clip(0.15, 1)
    return to_bytes(colour * border[..., np.newaxis])
