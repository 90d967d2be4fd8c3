"""Charts, maps and boards in the usual styles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.random import Generator

from pictures.base import (
    SIZE,
    X,
    Y,
    box,
    covered,
    disc,
    each,
    family,
    mix,
    moved,
    paper,
    random_colour,
    random_light,
    random_number,
    random_turn,
    rgb,
    segment_distance,
    to_bytes,
    uniform,
    value_noise,
    vivid,
)


@family("Islands")
def islands(generator: Generator, n: int) -> np.ndarray:
    """Old charts: an island with a beach, woods and perhaps a peak in flat colours, in a sea with
    lines along its shore, on paper of any tint.
    """
    x, y = random_turn(generator, n)
    stretch = random_number(generator, 0.7, 1, n)
    far = np.hypot(*moved(generator, x * stretch, y / stretch, 4, n))
    rough = 10 * value_noise(generator, x, y, 8) + 5 * value_noise(generator, x, y, 4)
    depth = random_number(generator, 13, 20, n) - far - rough + 2  # pixels from the shore, about
    sea, sand, wood, peak = (
        np.array(colour, np.float32) * random_colour(generator, 0.75, 1.15, n)
        for colour in ([0.35, 0.6, 0.75], [0.9, 0.8, 0.55], [0.4, 0.6, 0.3], [0.55, 0.42, 0.35])
    )
    spacing = random_number(generator, 2, 4, n)
    waves = (0.5 + 0.5 * np.cos(2 * np.pi * depth / spacing)) * np.exp(np.minimum(depth, 0) / 10)
    image = mix(sea, sea + (1 - sea) * 0.6, waves)
    for start, colour in ((0, sand), (2, wood), (random_number(generator, 6, 11, n), peak)):
        image = mix(image, colour, covered(depth - start))
    shore = 0.7 * (1 - np.abs(depth)).clip(0, 1)
    return to_bytes(mix(image, rgb(0.25, 0.18, 0.1), shore))


@family("Circuit boards")
def circuit_boards(generator: Generator, n: int) -> np.ndarray:
    """Printed circuits, green, blue, red or black: traces that bend by half right angles between
    bright pads, and one or two chips with rows of pins.
    """
    x, y = random_turn(generator, n)
    quarter = each(generator.random(n) < 0.7)  # most boards are straight
    x = np.where(quarter, X, x)
    y = np.where(quarter, Y, y)
    boards = np.array([[0, 0.35, 0.15], [0.05, 0.15, 0.45], [0.5, 0.05, 0.08], [0.08, 0.08, 0.1]])
    board = each(boards[generator.integers(0, 4, n)])
    board = board * random_light(generator, 0.6, 1.3, n)
    trace = pads = np.zeros((n, SIZE, SIZE), np.float32)
    for lane in range(7):
        height = random_number(generator, -16, 16, n)
        left, bend, right = (
            each(column) for column in np.sort(uniform(generator, -18, 18, 3, n), axis=0)
        )
        climb = each(generator.integers(-1, 2, n)) * (right - bend) / 2
        corner = bend + np.abs(climb)
        ends = [(left, height), (bend, height), (corner, height + climb), (right, height + climb)]
        across, down = (x, y) if lane % 2 else (y, x)
        for start, end in pairwise(ends):
            line = 1.1 - segment_distance(across, down, start, end)
            trace = np.maximum(trace, line.clip(0, 1))
        for middle, height in (ends[0], ends[-1]):
            pads = np.maximum(pads, disc(across - middle, down - height, 1.3))
    image = mix(board, board + random_colour(generator, 0.15, 0.35, n), trace)
    image = mix(image, random_light(generator, 0.6, 1, n) * [1, 0.9, 0.6], pads)
    for chance in (1, 0.5):
        there = each(generator.random(n) < chance)
        across, down = moved(generator, x, y, 11, n)
        width, height = (random_number(generator, 6, 13, n) for _ in range(2))
        pins = box(across, down, width - 1, height + 3) * ((across - width / 2) % 2.5 < 1.2)
        image = mix(image, np.float32(0.8), pins * there)
        body = box(across, down, width, height) * there
        image = mix(image, random_light(generator, 0.05, 0.25, n), body)
        dot = disc(across + width / 2 - 1.7, down + height / 2 - 1.7, 0.7)
        image = mix(image, np.float32(0.6), dot * there)
    return to_bytes(image)


def _axes(generator: Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the amounts of a chart's grid lines and of its two axes, [n, 32, 32] each."""
    step = each(generator.integers(4, 9, n))
    kind = each(generator.integers(0, 3, n))  # none, across only, both
    row, column = np.indices((SIZE, SIZE))
    grid = ((30 - row) % step == 0) & (kind > 0) | ((column - 2) % step == 0) & (kind > 1)
    inside = (column >= 2) & (row <= 29)
    return 0.25 * (grid & inside), 1.0 * ((column == 2) & (row <= 29) | (row == 29) & (column >= 2))


@family("Bar charts")
def bar_charts(generator: Generator, n: int) -> np.ndarray:
    """Charts of three to nine bars of random lengths, vertical or horizontal, in one colour or a
    colour for each bar, with axes and perhaps a grid.
    """
    which = each(np.arange(n))
    count = each(generator.integers(3, 10, n))
    ground, ink = paper(generator, n)
    grid, axes = _axes(generator, n)
    image = mix(ground, ink, grid)
    position = (X + 13) * count / 28  # the axes are at x = -13.5 and y = 13.5
    bar = np.floor(position).astype(int).clip(0, 8)
    length = uniform(generator, 2, 27, n, 9)[which, bar]
    share = random_number(generator, 0.5, 0.9, n)
    width = 28 / count  # of a bar with its gap
    across = covered(share / 2 * width - np.abs(position % 1 - 0.5) * width)
    shown = across * (length - (13 - Y)).clip(0, 1) * (X > -13) * (Y < 13)
    colours = vivid(generator, n, 9)
    single = generator.random((n, 1, 1)) < 0.4
    colours = np.where(single, colours[:, :1], colours)
    image = mix(mix(image, colours[which, bar], shown), ink, axes)
    lying = generator.random((n, 1, 1, 1)) < 0.4
    return to_bytes(np.where(lying, image.swapaxes(1, 2)[:, ::-1, ::-1], image))


@family("Pie charts")
def pie_charts(generator: Generator, n: int) -> np.ndarray:
    """Pies and rings cut into three to seven sectors of random shares and colours, with gaps
    between them, on light or dark paper.
    """
    x, y = moved(generator, *random_turn(generator, n), 2, n)
    cuts = uniform(generator, 0.3, 1, n, 7) * (np.arange(7) < generator.integers(3, 8, (n, 1)))
    cuts = cuts.cumsum(axis=1)
    cuts = (cuts / cuts[:, -1:])[:, :, np.newaxis, np.newaxis]
    angle = np.arctan2(y, x) / (2 * np.pi) + 0.5
    far = np.hypot(x, y)
    sector = (angle[:, np.newaxis] > cuts).sum(axis=1).clip(0, 6)
    off = (angle[:, np.newaxis] - cuts + 0.5) % 1 - 0.5  # from each cut, in turns
    gap = np.sin(2 * np.pi * np.abs(off).min(axis=1).clip(0, 0.25)) * far
    radius = random_number(generator, 9, 15, n)
    hole = radius * each(uniform(generator, 0.3, 0.6, n) * (generator.random(n) < 0.5))
    shown = covered(radius - far) * covered(far - hole)
    shown = shown * covered(gap - random_number(generator, -0.8, 0.5, n))
    ground, _ = paper(generator, n)
    return to_bytes(mix(ground, vivid(generator, n, 7)[each(np.arange(n)), sector], shown))
