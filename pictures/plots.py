"""Plots: random numbers, drawn as they are in reports and on monitors."""

from __future__ import annotations

import numpy as np

from pictures.base import (
    SIZE,
    X,
    Y,
    box,
    each,
    family,
    mix,
    paper,
    random_turn,
    to_bytes,
    uniform,
    vivid,
)

_PLACE = np.arange(SIZE)


def _curve(heights: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Draw a function's graph from its heights, [n, 33], at the columns' borders: [n, 32, 32]."""
    low = np.minimum(heights[:, :-1], heights[:, 1:])[:, np.newaxis]
    high = np.maximum(heights[:, :-1], heights[:, 1:])[:, np.newaxis]
    return (width / 2 + 0.5 - np.maximum(low - Y, Y - high).clip(0)).clip(0, 1)


def _axes(generator: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the amounts, [n, 32, 32] each, of the grid lines and of the two axes of a chart."""
    step = each(generator.integers(4, 9, n))
    kind = each(generator.integers(0, 3, n))  # none, across only, both
    row, column = np.indices((SIZE, SIZE))
    grid = ((30 - row) % step == 0) & (kind > 0) | ((column - 2) % step == 0) & (kind > 1)
    inside = (column >= 2) & (row <= 29)
    return 0.25 * (grid & inside), 1.0 * ((column == 2) & (row <= 29) | (row == 29) & (column >= 2))


@family("Bar charts")
def bar_charts(generator: np.random.Generator, n: int) -> np.ndarray:
    """Charts of three to nine bars of random lengths, upright or lying, in one colour or a colour
    for each bar, with axes and perhaps a grid.
    """
    which, count = each(np.arange(n)), each(generator.integers(3, 10, n))
    ground, ink = paper(generator, n)
    grid, axes = _axes(generator, n)
    image = mix(ground, ink, np.broadcast_to(grid, (n, SIZE, SIZE)))
    place = (X + 13) * count / 28  # the axes are at x = -13.5 and y = 13.5
    bar = np.floor(place).astype(int).clip(0, 8)
    length = uniform(generator, 2, 27, n, 9)[which, bar]
    share = each(uniform(generator, 0.5, 0.9, n))
    width = 28 / count  # of a bar with its gap
    across = (share / 2 * width - np.abs(place % 1 - 0.5) * width + 0.5).clip(0, 1)
    shown = across * (length - (13 - Y)).clip(0, 1) * (X > -13) * (Y < 13)
    colours = vivid(generator, n, 9)
    single = generator.random((n, 1, 1)) < 0.4
    colours = np.where(single, colours[:, :1], colours)
    image = mix(mix(image, colours[which, bar], shown), ink, axes)
    lying = generator.random((n, 1, 1, 1)) < 0.4
    return to_bytes(np.where(lying, image.swapaxes(1, 2)[:, ::-1, ::-1], image))


@family("Pie charts")
def pie_charts(generator: np.random.Generator, n: int) -> np.ndarray:
    """Pies and rings cut into three to seven sectors of random shares and colours, with gaps
    between them, on light or dark paper.
    """
    x, y = (z - each(uniform(generator, -2, 2, n)) for z in random_turn(generator, n))
    cuts = uniform(generator, 0.3, 1, n, 7) * (np.arange(7) < generator.integers(3, 8, (n, 1)))
    cuts = cuts.cumsum(axis=1)
    cuts = (cuts / cuts[:, -1:])[:, :, np.newaxis, np.newaxis]
    angle, far = np.arctan2(y, x) / (2 * np.pi) + 0.5, np.hypot(x, y)
    sector = (angle[:, np.newaxis] > cuts).sum(axis=1).clip(0, 6)
    off = (angle[:, np.newaxis] - cuts + 0.5) % 1 - 0.5  # from each cut, in turns
    gap = np.sin(2 * np.pi * np.abs(off).min(axis=1).clip(0, 0.25)) * far
    radius = each(uniform(generator, 9, 15, n))
    hole = radius * each(uniform(generator, 0.3, 0.6, n) * (generator.random(n) < 0.5))
    shown = (radius - far + 0.5).clip(0, 1) * (far - hole + 0.5).clip(0, 1)
    shown = shown * (gap - each(uniform(generator, -0.8, 0.5, n)) + 0.5).clip(0, 1)
    ground, _ = paper(generator, n)
    return to_bytes(mix(ground, vivid(generator, n, 7)[each(np.arange(n)), sector], shown))


@family("Line plots")
def line_plots(generator: np.random.Generator, n: int) -> np.ndarray:
    """Plots of one to three rough or smooth curves over time, in different colours, with axes and
    perhaps a grid; under some, the area is filled.
    """
    ground, ink = paper(generator, n)
    grid, axes = _axes(generator, n)
    image = mix(ground, ink, np.broadcast_to(grid, (n, SIZE, SIZE)))
    smooth = uniform(generator, 0, 0.95, n, 1)
    filled, width = each(generator.random(n) < 0.25), each(uniform(generator, 0.8, 2, n))
    for line in range(3):
        steps = generator.standard_normal((n, SIZE + 1), np.float32)
        for column in range(1, SIZE + 1):  # the steps remember each other
            steps[:, column] += smooth[:, 0] * steps[:, column - 1]
        walk = steps.cumsum(axis=1)
        low, high = (edge(axis=1, keepdims=True) for edge in (walk.min, walk.max))
        top, bottom = uniform(generator, -14, -2, n, 1), uniform(generator, 2, 13, n, 1)
        heights = top + (walk - low) / (high - low) * (bottom - top)
        amount = _curve(heights, width)
        area = 0.4 * filled * (Y > heights[:, np.newaxis, 1:])
        shown = np.maximum(amount, area) * (X > -13) * (Y < 13)
        there = each(generator.random(n) < 0.6) | (line == 0)
        image = mix(image, vivid(generator, n, 1, 1), shown * there)
    return to_bytes(mix(image, ink, axes))


@family("Scatter plots")
def scatter_plots(generator: np.random.Generator, n: int) -> np.ndarray:
    """Plots of one to three clouds of points, each of a colour and of four to twenty-four points
    spread along a line of its own, with axes and perhaps a grid.
    """
    ground, ink = paper(generator, n)
    grid, axes = _axes(generator, n)
    image = mix(ground, ink, np.broadcast_to(grid, (n, SIZE, SIZE)))
    size = uniform(generator, 0.8, 1.4, n, 1, 1)
    for cloud in range(3):
        points = generator.standard_normal((2, n, 24), np.float32)
        mixing = uniform(generator, -4, 4, 2, 2, n, 1)
        places = np.einsum("ijnk,jnp->inp", mixing, points) + uniform(generator, -7, 7, 2, n, 1)
        places = places.clip(-12, 12)[..., np.newaxis]
        column, row = (np.exp(-(((X[0] - p) / size) ** 2)) for p in places)
        absent = np.arange(24) >= generator.integers(4, 25, (n, 1))
        column[absent] = 0
        marks = (3 * row.swapaxes(1, 2) @ column - 0.6).clip(0, 1)
        there = each(generator.random(n) < 0.6) | (cloud == 0)
        image = mix(image, vivid(generator, n, 1, 1), marks * there)
    return to_bytes(mix(image, ink, axes))


@family("Box plots")
def box_plots(generator: np.random.Generator, n: int) -> np.ndarray:
    """Plots of two to five boxes with a line at the median, whiskers and a few outliers, upright
    or lying, in one colour or a colour for each box.
    """
    count = each(generator.integers(2, 6, n))
    ground, ink = paper(generator, n)
    grid, axes = _axes(generator, n)
    image = mix(ground, ink, np.broadcast_to(grid, (n, SIZE, SIZE)))
    step, colours = 28 / count, vivid(generator, n, 5, 1, 1)
    colours = np.where(generator.random((n, 1, 1, 1, 1)) < 0.5, colours[:, :1], colours)
    for k in range(5):
        x, there = X + 13 - (k + 0.5) * step, k < count
        bottom, low, middle, high, top = (
            each(row) for row in np.sort(uniform(generator, -13, 12, 5, n), axis=0)[::-1]
        )
        width = 0.65 * step
        whisker = box(x, Y - (top + bottom) / 2, 1.1, bottom - top)
        for end in (top, bottom, each(uniform(generator, -13, 12, n))):
            whisker = np.maximum(whisker, box(x, Y - end, 0.4 * width, 1.1))
        image = mix(image, ink, whisker * there)
        image = mix(
            image, colours[:, k], box(x, Y - (low + high) / 2, width, low - high + 2) * there
        )
        image = mix(image, ink, box(x, Y - middle, width, 1.1) * there)
    image = mix(image, ink, axes)
    lying = generator.random((n, 1, 1, 1)) < 0.4
    return to_bytes(np.where(lying, image.swapaxes(1, 2)[:, ::-1, ::-1], image))


@family("Cardiograms")
def cardiograms(generator: np.random.Generator, n: int) -> np.ndarray:
    """A heart's beats on squared paper or a dark monitor: one or two leads with a small wave, a
    spike and a wider wave a beat, at different rates, heights and offsets.
    """
    monitor = generator.random((n, 1, 1, 1)) < 0.5
    ground, squares, ink = (
        np.where(monitor, dark * uniform(generator, 0.4, 1, n, 1, 1, 3), light)
        for dark, light in (
            (0.15, uniform(generator, 0.9, 1, n, 1, 1, 3)),
            (0.3, np.array([0.9, 0.5, 0.5]) * uniform(generator, 0.8, 1.1, n, 1, 1, 3)),
            (0, uniform(generator, 0, 0.35, n, 1, 1, 3)),
        )
    )
    ink = np.where(monitor, np.sqrt(vivid(generator, n, 1, 1)), ink)
    step, start = each(generator.integers(3, 7, n)), each(generator.integers(0, 6, n))
    line = (_PLACE + start) % step == 0
    image = mix(ground, squares, 0.6 * (line | line.swapaxes(1, 2)))
    period, two = uniform(generator, 9, 22, n, 1), generator.random((n, 1)) < 0.4
    phase = (np.arange(SIZE + 1) + uniform(generator, 0, 22, n, 1)) % period
    for lead in range(2):
        height, beat = uniform(generator, 5, 13, n, 1), 0
        for place, size, width in (
            (2.0, 0.15, 1),
            (3.8, -0.15, 0.4),
            (4.5, 1, 0.65),
            (5.3, -0.3, 0.5),
            (7.5, 0.25, 1.2),
        ):
            size = size * uniform(generator, 0.7, 1.3, n, 1)
            beat = beat + size * np.exp(-(((phase - place) / width) ** 2) / 2)
        middle = np.where(two, 10 - 15 * lead, 5)
        heights = middle - np.where(two, 0.7, 1) * height * beat
        amount = _curve(heights, each(uniform(generator, 0.7, 1.3, n)))
        image = mix(image, ink, amount * each(two[:, 0] | (lead == 0)))
    return to_bytes(image)
