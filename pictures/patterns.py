"""Patterns: noise, tilings, waves, shapes and iterated rules."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from pictures.base import (
    SIZE,
    X,
    Y,
    covered,
    each,
    family,
    mix,
    moved,
    random_colour,
    random_light,
    random_number,
    random_turn,
    to_bytes,
    two_colours,
    uniform,
)

_PLACE = np.arange(SIZE)
_FREQUENCY = np.hypot(np.fft.fftfreq(SIZE)[:, np.newaxis], np.fft.rfftfreq(SIZE))


@family("Gaussian noise", citation_key="liang2018", splits={"test": 10000})
def gaussian(generator: Generator, n: int) -> np.ndarray:
    """Every channel of every pixel is drawn from a normal distribution with mean 0.5 and standard
    deviation 1, and clipped to the range from 0 to 1.
    """
    return to_bytes(0.5 + generator.standard_normal((n, SIZE, SIZE, 3), np.float32))


@family("Static")
def static(generator: Generator, n: int) -> np.ndarray:
    """Television snow: blocks of one to four pixels, each a random mixture of the image's two
    colours, in equal parts or with one dominant colour.
    """
    width = each(generator.integers(1, 5, n))
    blocks = uniform(generator, 0, 1, n, SIZE, SIZE) ** each(uniform(generator, -2, 2, n) ** 2 + 1)
    shown = blocks[each(np.arange(n)), _PLACE[:, np.newaxis] // width, _PLACE // width]
    return to_bytes(mix(*two_colours(generator, n), shown))


@family("Plasma", citation_key="field1987")
def plasma(generator: Generator, n: int) -> np.ndarray:
    """Coloured clouds: noise whose amplitude falls with a random power, 1 to 2.5, of the spatial
    frequency.
    """
    frequency = _FREQUENCY.copy()
    frequency[0, 0] = 1  # the mean is set below
    fall = frequency.astype(np.float32) ** -random_number(generator, 1, 2.5, n)
    spectrum = np.fft.rfft2(generator.standard_normal((n, 3, SIZE, SIZE), np.float32))
    clouds = np.fft.irfft2(spectrum * fall[:, np.newaxis]).astype(np.float32)
    clouds -= clouds.mean(axis=(2, 3), keepdims=True)
    clouds /= clouds.std(axis=(2, 3), keepdims=True)
    mean = uniform(generator, 0.3, 0.7, n, 3, 1, 1)
    spread = uniform(generator, 0.1, 0.3, n, 3, 1, 1)
    return to_bytes(np.moveaxis(mean + spread * clouds, 1, 3))


@family("Blue noise", citation_key="field1987")
def blue_noise(generator: Generator, n: int) -> np.ndarray:
    """Grain without patches: noise whose amplitude grows with a random power, 0.5 to 1.5, of the
    spatial frequency, around one colour, grey or in colours.
    """
    rise = _FREQUENCY.astype(np.float32) ** random_number(generator, 0.5, 1.5, n)
    spectrum = np.fft.rfft2(generator.standard_normal((n, 3, SIZE, SIZE), np.float32))
    grain = np.fft.irfft2(spectrum * rise[:, np.newaxis]).astype(np.float32)
    grain /= grain.std(axis=(2, 3), keepdims=True)
    grey = generator.random((n, 1, 1, 1)) < 0.5
    grain = np.where(grey, grain[:, :1], grain) * random_light(generator, 0.1, 0.3, n)
    return to_bytes(random_colour(generator, 0.2, 0.8, n) + np.moveaxis(grain, 1, 3))


@family("Salt and pepper")
def salt_and_pepper(generator: Generator, n: int) -> np.ndarray:
    """Black and white grains, on 3 to 40 % of the pixels, over a slow passage between two
    colours.
    """
    x, _ = random_turn(generator, n)
    first, second = uniform(generator, 0, 1, 2, n, 1, 1, 3)
    image = mix(first, second, covered(x / SIZE))
    share = random_number(generator, 0.03, 0.4, n)
    grains = generator.random((n, SIZE, SIZE), np.float32) < share
    white = generator.random((n, SIZE, SIZE), np.float32) < random_number(generator, 0.3, 0.7, n)
    return to_bytes(mix(image, white[..., np.newaxis].astype(np.float32), grains))


@family("Blobs")
def blobs(generator: Generator, n: int) -> np.ndarray:
    """Six large spots of light in any colours, without an edge, that overlap like lamps out of
    focus.
    """
    image = random_colour(generator, 0, 1, n)
    for _ in range(6):
        x, y = moved(generator, X, Y, SIZE / 2, n)
        width = random_number(generator, 3, 9, n)
        amount = np.exp(-(x**2 + y**2) / (2 * width**2))
        image = mix(image, random_colour(generator, 0, 1, n), amount)
    return to_bytes(image)


@family("Checkerboards")
def checkerboards(generator: Generator, n: int) -> np.ndarray:
    """Boards of two colours, with fields of two and a half to nine pixels, turned by any angle."""
    width = random_number(generator, 2.5, 9, n)
    # a cosine cut off at ±1 is a row of fields whose edges are one pixel soft
    rows = [
        (np.cos(np.pi * (z / width + random_number(generator, 0, 2, n))) * width / 2).clip(-1, 1)
        for z in random_turn(generator, n)
    ]
    return to_bytes(mix(*two_colours(generator, n), 0.5 + 0.5 * rows[0] * rows[1]))


@family("Plaid")
def plaid(generator: Generator, n: int) -> np.ndarray:
    """Tartan cloth: a random order of threads in three colours, equal for warp and weft, in a
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
def mazes(generator: Generator, n: int) -> np.ndarray:
    """Perfect mazes, grown as binary trees: every cell has a way to the next cell or to the cell
    below, and corridors and walls are one to three pixels wide.
    """
    free = np.zeros((n, SIZE, SIZE), bool)
    free[:, ::2, ::2] = True
    beside = generator.random((n, SIZE // 2, SIZE // 2)) < random_number(generator, 0.35, 0.65, n)
    free[:, ::2, 1::2] = beside
    free[:, 1::2, ::2] = ~beside
    width = each(generator.integers(1, 4, n))
    shown = free[each(np.arange(n)), _PLACE[:, np.newaxis] // width, _PLACE // width]
    mirrored = each(generator.random(n) < 0.5)  # or all ways would lead to one corner
    shown = np.where(mirrored, shown[:, :, ::-1], shown)
    return to_bytes(mix(*two_colours(generator, n), shown))


@family("Voronoi cells", citation_key="worley1996")
def voronoi(generator: Generator, n: int) -> np.ndarray:
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
    border = ((second - first) / random_number(generator, 0.5, 2, n)).clip(0.15, 1)
    return to_bytes(colour * border[..., np.newaxis])


@family("Gratings", citation_key="daugman1985")
def gratings(generator: Generator, n: int) -> np.ndarray:
    """Sine waves of any direction, with one and a half to ten periods in the image, between two
    colours.
    """
    across, _ = random_turn(generator, n)
    frequency = random_number(generator, 1.5, 10, n) / SIZE
    phase = random_number(generator, 0, 1, n)
    wave = np.sin(2 * np.pi * (frequency * across + phase))
    return to_bytes(mix(*two_colours(generator, n), 0.5 + 0.5 * wave))


@family("Gradients")
def gradients(generator: Generator, n: int) -> np.ndarray:
    """Slow passages between three colours: along a line, around a point, or away from a point."""
    x, y = moved(generator, *random_turn(generator, n), SIZE / 3, n)
    slope = x / SIZE + 0.5
    turn = np.abs(np.arctan2(y, x)) / np.pi
    distance = np.hypot(x, y) / SIZE
    kind = each(generator.integers(0, 3, n))
    amount = np.choose(kind, [slope, turn, distance]).clip(0, 1)
    first, second = two_colours(generator, n)
    third = random_colour(generator, 0, 1, n)
    start = mix(first, second, (2 * amount).clip(0, 1))
    return to_bytes(mix(start, third, (2 * amount - 1).clip(0, 1)))


@family("Bubbles")
def bubbles(generator: Generator, n: int) -> np.ndarray:
    """Ten balls of different sizes and colours on a ground of one colour, lit from the upper
    left; later balls cover earlier balls.
    """
    image = random_colour(generator, 0, 1, n)
    for _ in range(10):
        x, y = moved(generator, X, Y, SIZE / 2, n)
        radius = random_number(generator, 2, 8, n)
        inside = covered(radius - np.hypot(x, y))
        light = 1.25 - 0.9 * np.hypot(x + radius / 3, y + radius / 3) / radius
        colour = random_colour(generator, 0.2, 1, n) * light[..., np.newaxis].clip(0, 1.25)
        image = mix(image, colour, inside)
    return to_bytes(image)


@family("Polygons")
def polygons(generator: Generator, n: int) -> np.ndarray:
    """Five convex polygons of three to six sides, each of one colour, on a ground of one colour."""
    image = random_colour(generator, 0, 1, n)
    for _ in range(5):
        x, y = moved(generator, X, Y, SIZE / 2, n)
        sides = each(generator.integers(3, 7, n))
        radius = random_number(generator, 3, 9, n)
        first = random_number(generator, 0, 2 * np.pi, n)
        depth = np.full((n, SIZE, SIZE), np.inf, np.float32)  # within all half-planes
        for side in range(6):  # a triangle leaves the last three out
            angle = first + 2 * np.pi * (side + random_number(generator, -0.2, 0.2, n)) / sides
            edge = radius - np.cos(angle) * x - np.sin(angle) * y
            depth = np.where(side < sides, np.minimum(depth, edge), depth)
        image = mix(image, random_colour(generator, 0, 1, n), covered(depth))
    return to_bytes(image)


# rules that neither die out nor freeze, by Wolfram's numbers
_RULES = np.array([18, 22, 26, 30, 45, 54, 60, 73, 82, 90, 105, 106, 110, 126, 146, 150])


@family("Julia sets", citation_key="mandelbrot1982")
def julia(generator: Generator, n: int) -> np.ndarray:
    """The plane coloured by the number of steps until z² + c grows beyond all bounds, for points
    c just outside the Mandelbrot set's largest bay, at a random turn and magnification.
    """
    angle = uniform(generator, 0, 2 * np.pi, n)
    edge = np.exp(1j * angle) / 2 - np.exp(2j * angle) / 4  # the main cardioid
    c = each((edge * uniform(generator, 1.02, 1.12, n)).astype(np.complex64))
    x, y = random_turn(generator, n)
    scale = random_number(generator, 0.5, 1.5, n) / (SIZE / 2)
    z = ((x + 1j * y) * scale).astype(np.complex64)
    steps = np.zeros(z.shape, np.float32)
    for _ in range(24):
        z = z * z + c
        size = z.real**2 + z.imag**2
        steps += size < 16
        z[size > 1e6] = 1e3  # far outside already; kept from overflow
    phase = random_colour(generator, 0, 1, n)
    rate = random_light(generator, 0.5, 2, n)
    return to_bytes(0.5 + 0.5 * np.cos(2 * np.pi * (rate * steps[..., np.newaxis] / 12 + phase)))


@family("Cellular automata", citation_key="wolfram1983")
def automata(generator: Generator, n: int) -> np.ndarray:
    """The histories of elementary cellular automata, one row per step, from a random first row
    or a single cell, in two colours.
    """
    table = _RULES[generator.integers(0, len(_RULES), n)][:, np.newaxis] >> np.arange(8) & 1
    row = generator.integers(0, 2, (n, SIZE))
    single = generator.random((n, 1)) < 0.3
    row = np.where(single, np.arange(SIZE) == generator.integers(0, SIZE, (n, 1)), row)
    history = []
    for _ in range(SIZE):
        history.append(row)
        around = 4 * np.roll(row, 1, axis=1) + 2 * row + np.roll(row, -1, axis=1)
        row = np.take_along_axis(table, around, axis=1)
    return to_bytes(mix(*two_colours(generator, n), np.stack(history, axis=1)))
