"""Charts and drawings: numbers, maps, boards and music, as people draw them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from pictures.base import (
    SIZE,
    X,
    Y,
    box,
    disc,
    each,
    family,
    mix,
    paper,
    random_place,
    random_turn,
    segment_distance,
    to_bytes,
    uniform,
    value_noise,
    vivid,
)

_PLACE = np.arange(SIZE)


@family("Road maps")
def road_maps(generator: np.random.Generator, n: int) -> np.ndarray:
    """Town plans: bent streets between blocks of light colours, a main road in yellow, and
    perhaps a park and a river.
    """
    x, y = random_turn(generator, n)
    bend = 6 * value_noise(generator, x, y, 14)
    along, across = x + bend, y + 0.7 * bend
    spacing = each(uniform(generator, 5, 10, n))
    column = np.floor(along / spacing)
    shift = np.sin(37 * column + each(uniform(generator, 0, 7, n)))  # no two rows of blocks alike
    row = across / (1.6 * spacing) + shift
    off = np.minimum(
        np.abs(along / spacing - np.rint(along / spacing)) * spacing,
        np.abs(row - np.rint(row)) * 1.6 * spacing,
    )
    street = (each(uniform(generator, 0.4, 1.1, n)) - off + 0.5).clip(0, 1)
    block = uniform(generator, 0.75, 0.92, n, 1, 1, 3) * np.array([1, 0.98, 0.93], np.float32)
    shade = 1 - 0.12 * np.sin(53 * column + 29 * np.floor(row))[..., np.newaxis] ** 2
    park = 9 * (value_noise(generator, x, y, 9) - each(uniform(generator, 0.5, 0.9, n)))
    green = uniform(generator, 0.6, 0.85, n, 1, 1, 1) * np.array([0.8, 1, 0.7], np.float32)
    image = mix(block * shade, green, park.clip(0, 1))
    image = mix(image, uniform(generator, 0.93, 1, n, 1, 1, 1), street)
    place = y + 10 * value_noise(generator, x, 0 * y, 9) - each(uniform(generator, -10, 40, n))
    river = (each(uniform(generator, 1.5, 4, n)) - np.abs(place) + 0.5).clip(0, 1)
    image = mix(image, np.array([0.6, 0.75, 0.92], np.float32), river)
    road = np.abs(across / 2 + along - spacing * each(generator.integers(-1, 2, n)))
    road = (each(uniform(generator, 1, 1.8, n)) - road / 1.12 + 0.5).clip(0, 1)
    yellow = np.array([0.98, 0.85, 0.4], np.float32) * uniform(generator, 0.8, 1, n, 1, 1, 3)
    return to_bytes(mix(image, yellow, road))


@family("Islands")
def islands(generator: np.random.Generator, n: int) -> np.ndarray:
    """Old charts: an island with a beach, woods and perhaps a peak in flat colours, in a sea with
    lines along its shore, on paper of any tint.
    """
    x, y = random_turn(generator, n)
    centre = (each(uniform(generator, -4, 4, n)) for _ in range(2))
    stretch = each(uniform(generator, 0.7, 1, n))
    far = np.hypot(*(z - c for z, c in zip((x * stretch, y / stretch), centre, strict=True)))
    rough = 10 * value_noise(generator, x, y, 8) + 5 * value_noise(generator, x, y, 4)
    depth = each(uniform(generator, 13, 20, n)) - far - rough + 2  # pixels from the shore, about
    sea, sand, wood, peak = (
        np.array(colour, np.float32) * uniform(generator, 0.75, 1.15, n, 1, 1, 3)
        for colour in ([0.35, 0.6, 0.75], [0.9, 0.8, 0.55], [0.4, 0.6, 0.3], [0.55, 0.42, 0.35])
    )
    spacing = each(uniform(generator, 2, 4, n))
    waves = (0.5 + 0.5 * np.cos(2 * np.pi * depth / spacing)) * np.exp(np.minimum(depth, 0) / 10)
    image = mix(sea, sea + (1 - sea) * 0.6, waves)
    for start, colour in ((0, sand), (2, wood), (each(uniform(generator, 6, 11, n)), peak)):
        image = mix(image, colour, (depth - start + 0.5).clip(0, 1))
    shore = 0.7 * (1 - np.abs(depth)).clip(0, 1)
    return to_bytes(mix(image, np.array([0.25, 0.18, 0.1], np.float32), shore))


@family("Circuit boards")
def circuit_boards(generator: np.random.Generator, n: int) -> np.ndarray:
    """Printed circuits, green, blue, red or black: traces that bend by half right angles between
    bright pads, and one or two chips with rows of pins.
    """
    x, y = random_turn(generator, n)
    quarter = each(generator.random(n) < 0.7)  # most boards lie straight
    x, y = np.where(quarter, X, x), np.where(quarter, Y, y)
    boards = np.array([[0, 0.35, 0.15], [0.05, 0.15, 0.45], [0.5, 0.05, 0.08], [0.08, 0.08, 0.1]])
    board = boards[generator.integers(0, 4, n)][:, np.newaxis, np.newaxis]
    board = board * uniform(generator, 0.6, 1.3, n, 1, 1, 1)
    trace, pads = np.zeros((n, SIZE, SIZE), np.float32), np.zeros((n, SIZE, SIZE), np.float32)
    for lane in range(7):
        height = each(uniform(generator, -16, 16, n))
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
    image = mix(board, board + uniform(generator, 0.15, 0.35, n, 1, 1, 3), trace)
    image = mix(image, uniform(generator, 0.6, 1, n, 1, 1, 1) * [1, 0.9, 0.6], pads)
    for chance in (1, 0.5):
        there = each(generator.random(n) < chance)
        across, down = (z - each(uniform(generator, -11, 11, n)) for z in (x, y))
        width, height = (each(uniform(generator, 6, 13, n)) for _ in range(2))
        pins = box(across, down, width - 1, height + 3) * ((across - width / 2) % 2.5 < 1.2)
        image = mix(image, np.float32(0.8), pins * there)
        body = box(across, down, width, height) * there
        image = mix(image, uniform(generator, 0.05, 0.25, n, 1, 1, 1), body)
        dot = disc(across + width / 2 - 1.7, down + height / 2 - 1.7, 0.7)
        image = mix(image, np.float32(0.6), dot * there)
    return to_bytes(image)


@family("Networks")
def networks(generator: np.random.Generator, n: int) -> np.ndarray:
    """Graphs: five to ten nodes in one or several colours around a circle or anywhere, and up to
    fourteen edges between them, on light or dark paper.
    """
    ground, ink = paper(generator, n)
    most, count = 10, generator.integers(5, 11, n)
    angle = 2 * np.pi * (np.arange(most)[:, np.newaxis] / count + uniform(generator, 0, 1, 1, n))
    circle = np.stack([np.cos(angle), np.sin(angle)]) * uniform(generator, 8, 13, n)
    spread = uniform(generator, -13, 13, 2, most, n)
    nodes = np.where(generator.random(n) < 0.5, circle, spread).astype(np.float32)
    distance, who = np.full((n, SIZE, SIZE), np.inf, np.float32), np.arange(n)
    ends = generator.integers(0, count, (2, 14, n))
    ends[0, :5], ends[1, :5] = np.arange(5)[:, np.newaxis], np.arange(1, 6)[:, np.newaxis] % count
    for first, second in zip(*ends, strict=True):
        start, end = (tuple(each(z) for z in nodes[:, node, who]) for node in (first, second))
        distance = np.minimum(distance, segment_distance(X, Y, start, end))
    image = mix(ground, ink, (each(uniform(generator, 0.3, 0.7, n)) - distance + 0.5).clip(0, 1))
    radius, colours = each(uniform(generator, 1.7, 3.2, n)), vivid(generator, n, most)
    colours = np.where(generator.random((n, 1, 1)) < 0.4, colours[:, :1], colours)
    for node in range(most):
        x, y = X - each(nodes[0, node]), Y - each(nodes[1, node])
        there = each(node < count)
        image = mix(image, ink, disc(x, y, radius + 0.6) * there)
        colour = colours[:, node, np.newaxis, np.newaxis]
        image = mix(image, colour, disc(x, y, radius - 0.2) * there)
    return to_bytes(image)


@family("Sheet music")
def sheet_music(generator: np.random.Generator, n: int) -> np.ndarray:
    """Printed music: staves of five lines with notes at different heights, black or hollow, with
    stems up or down, some under a beam; the page is tilted and its paper white to yellow.
    """
    x, y = random_place(generator, n, 4, 0.25)
    space = each(uniform(generator, 1.8, 3.2, n))  # between two lines
    stave, note = np.rint(y / space / 8), np.rint(x / space / 2.9)  # the nearest to each pixel
    down, across = y / space - 8 * stave, x / space - 2.9 * note  # in spaces, from its middle
    which = each(np.arange(n)), stave.astype(int), note.astype(int)  # below 0: from the end

    def notes(low: float, high: float) -> np.ndarray:
        return np.floor(uniform(generator, low, high, n, 8, 16))[which]

    height, there = notes(-4, 5) / 2, notes(0, 8) > 0
    up, below = np.where(height > 0, -1, 1), down - height  # low notes have their stems above
    tilted = np.hypot(0.8 * across, below + 0.25 * across)
    head = (space * (0.55 - tilted) + 0.5).clip(0, 1)
    head -= (space * (0.3 - tilted) + 0.5).clip(0, 1) * (notes(0, 4) == 0)
    stem = box((across + 0.6 * up) * space, (below - 1.6 * up) * space, 0.9, 3.2 * space)
    beam = (0.6 * space - np.abs(below - 3 * up) * space).clip(0, 1) * (notes(0, 3) == 0)
    off = np.abs(down - np.rint(down)) * space
    line = 0.7 * (1 - off).clip(0, 1) * (np.abs(down) < 2.4)
    ink = np.maximum(line, np.maximum(head, np.maximum(stem, beam)) * there)
    bar = (1 - np.abs(x - 4.3 * space) / 0.9).clip(0, 1) * (np.abs(down) < 2)
    yellow = uniform(generator, 0, 0.3, n, 1, 1, 1) * np.array([0, 0.3, 1], np.float32)
    page = uniform(generator, 0.82, 1, n, 1, 1, 1) * (1 - yellow)
    page = page * (1 + x / 150)[..., np.newaxis]
    return to_bytes(mix(page, uniform(generator, 0, 0.25, n, 1, 1, 3), np.maximum(ink, bar)))


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
