"""Things that people make and read: games, instruments, displays, codes and signs."""

from __future__ import annotations

import numpy as np

from pictures.base import (
    SIZE,
    X,
    Y,
    backdrop,
    box,
    disc,
    each,
    family,
    mix,
    random_place,
    segment_distance,
    to_bytes,
    two_colours,
    uniform,
    value_noise,
)

# where the pips of a die are, from its middle, and which of them each number shows
_PLACES = [(-1, -1), (1, 1), (1, -1), (-1, 1), (-1, 0), (1, 0), (0, 0)]
_PIPS = np.array(
    [[0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 1],
     [1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0, 1], [1, 1, 1, 1, 1, 1, 0]], np.float32,
)  # fmt: skip


@family("Dart boards")
def dart_boards(generator: np.random.Generator, n: int) -> np.ndarray:
    """Round boards of twelve to twenty sectors in two colours, with two rings in two others, a
    bull's eye and a black margin, as a whole or cut off by the image's edge.
    """
    x, y = random_place(generator, n, 7, np.pi)
    radius, sectors = each(uniform(generator, 11, 19, n)), each(generator.integers(6, 11, n))
    far = np.hypot(x, y) / radius
    wave = np.sin(np.arctan2(y, x) * sectors) * far * radius / sectors  # pixels from a border
    odd = (wave + 0.5).clip(0, 1)
    board = mix(*two_colours(generator, n), odd)
    rings = mix(*two_colours(generator, n), odd)
    edge = each(uniform(generator, 0.4, 0.5, n))
    ring = (np.abs(far - edge) < 0.06) | (np.abs(far - 0.72) < 0.06) | (far < 0.12)
    image = np.where(ring[..., np.newaxis], rings, board)
    image = mix(image, np.float32(0.06), ((far - 0.8) * radius + 0.5).clip(0, 1))
    return to_bytes(mix(backdrop(generator, n), image, disc(x, y, radius)))


@family("Dice")
def dice(generator: np.random.Generator, n: int) -> np.ndarray:
    """A die of any colour seen from above, on a table: three of its faces with their pips, one in
    the light and two in the shade, and a shadow beside it.
    """
    x, y = random_place(generator, n, 3, 0.2)
    half = each(uniform(generator, 5.5, 9, n))
    yaw, pitch = each(uniform(generator, 0.35, 1.2, n)), each(uniform(generator, 0.5, 0.9, n))
    axes = [
        (np.cos(yaw), np.sin(yaw) * np.sin(pitch)),
        (-np.sin(yaw), np.cos(yaw) * np.sin(pitch)),
        (0 * yaw, -np.cos(pitch)),
    ]
    shadow = disc((x - 0.5 * half) / 1.6, y - 0.7 * half, 0.9 * half)
    image = backdrop(generator, n) * (1 - 0.5 * shadow)[..., np.newaxis]
    body = uniform(generator, 0, 1, n, 1, 1, 3)
    ink = np.where(body.mean(axis=3, keepdims=True) < 0.55, 1.0, 0.05).astype(np.float32)
    numbers = generator.random((n, 3)).argsort(axis=1) + 1  # one of each pair of opposite faces
    numbers = np.where(generator.random((n, 3)) < 0.5, numbers, 7 - numbers)
    for face, light in enumerate((0.75, 0.5, 1.0)):
        normal, (px, py), (qx, qy) = (axes[(face + k) % 3] for k in range(3))
        dx, dy = x / half - normal[0], y / half - normal[1]
        area = px * qy - py * qx
        u, v = (dx * qy - dy * qx) / area, (dy * px - dx * py) / area
        inside = ((1 - np.maximum(np.abs(u), np.abs(v))) * half * np.abs(area) + 0.6).clip(0, 1)
        image = mix(image, light * body, inside)
        for place, shown in zip(_PLACES, _PIPS[numbers[:, face]].T, strict=True):
            pip = disc((u - 0.52 * place[0]) * half, (v - 0.52 * place[1]) * half, 0.2 * half)
            image = mix(image, light * ink, pip * each(shown))
    return to_bytes(image)


@family("Dominoes")
def dominoes(generator: np.random.Generator, n: int) -> np.ndarray:
    """A domino turned by any angle: a long tile in a light or dark colour with a line across and
    none to six pips on either half.
    """
    x, y = random_place(generator, n, 2, np.pi)
    half = each(uniform(generator, 5, 7.5, n))  # of a tile's width
    ground, body = two_colours(generator, n)
    ink = np.where(body.mean(axis=3, keepdims=True) < 0.5, 0.95, 0.1)
    grain = value_noise(generator, x / 4, y, 2)[..., np.newaxis]
    image = (
        ground
        * (0.8 + 0.3 * grain)
        * (1 - 0.4 * box(x - 1.5, y - 1.5, 2 * half, 4 * half))[..., np.newaxis]
    )
    image = mix(image, body, box(x, y, 2 * half, 4 * half))
    image = mix(image, ink, box(x, y, 1.7 * half, 0.15 * half + 0.3))
    for side in (-1, 1):
        for place, shown in zip(_PLACES, _PIPS[generator.integers(0, 7, n)].T, strict=True):
            across, along = x - 0.55 * half * place[0], y - half * (side + 0.55 * place[1])
            image = mix(image, ink, disc(across, along, 0.19 * half) * each(shown))
    return to_bytes(image)


@family("Card pips")
def card_pips(generator: np.random.Generator, n: int) -> np.ndarray:
    """A white playing card with one to six pips of one suit, red or black, turned by up to half a
    right angle to either side, before a ground of soft patches.
    """
    x, y = random_place(generator, n, 2, 0.8)
    half = each(uniform(generator, 8.5, 11, n))
    image = mix(
        backdrop(generator, n),
        uniform(generator, 0.85, 1, n, 1, 1, 3),
        box(x, y, 2 * half, 2.7 * half),
    )
    suit = generator.integers(0, 4, n)
    heart, spade, club, diamond = (each(suit == k) for k in range(4))
    red = (heart | diamond)[..., np.newaxis]
    ink = np.where(red, uniform(generator, 0.6, 0.9, n, 1, 1, 1) * [1, 0.1, 0.1], 0.1)
    size = 0.32 * half
    shown = _PIPS[generator.integers(1, 7, n)].T
    for place, there in zip(_PLACES, shown, strict=True):
        across, down = x - 0.5 * half * place[0], y - 0.85 * half * place[1]
        up = np.where(spade, -down, down)
        wedge = np.minimum((size - np.abs(across) / 0.85 - up) / 1.55, up + 0.1 * size)
        lobes = disc(np.abs(across) - 0.45 * size, up + 0.4 * size, 0.55 * size)
        hearts = np.maximum(wedge + 0.5, lobes)
        clubs = np.maximum(
            disc(np.abs(across) - 0.5 * size, down - 0.15 * size, 0.47 * size),
            disc(across, down + 0.5 * size, 0.47 * size),
        )
        stem = box(across, down - 0.6 * size, 0.3 * size, 0.9 * size) * (spade | club)
        rhomb = 0.7 * (size - 1.4 * np.abs(across) - np.abs(down)) + 0.5
        pip = np.maximum(np.select([club, diamond], [clubs, rhomb], hearts), stem)
        image = mix(image, ink, pip.clip(0, 1) * each(there))
    return to_bytes(image)


# which bars each digit lights: top, middle, bottom, left and right above, left and right below
_BARS = np.array(
    [[1, 0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 0, 1], [1, 1, 1, 0, 1, 1, 0], [1, 1, 1, 0, 1, 0, 1],
     [0, 1, 0, 1, 1, 0, 1], [1, 1, 1, 1, 0, 0, 1], [1, 1, 1, 1, 0, 1, 1], [1, 0, 0, 0, 1, 0, 1],
     [1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 1]], np.float32,
)  # fmt: skip


def _polygon(x: np.ndarray, y: np.ndarray, sides: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return how deep in a regular polygon with a corner above each pixel is, in pixels."""
    sector = 2 * np.pi / sides
    angle = np.arctan2(x, -y) % sector - sector / 2
    return radius - np.hypot(x, y) * np.cos(angle)


@family("Clocks")
def clocks(generator: np.random.Generator, n: int) -> np.ndarray:
    """Wall clocks with a round dial, a rim, strokes at the hours and two hands that show any time
    of the day, before a wall of soft patches.
    """
    x, y = random_place(generator, n, 3, 0.15)
    radius, angle = each(uniform(generator, 9, 14, n)), np.arctan2(x, -y)
    far = np.hypot(x, y)
    rim, dial = two_colours(generator, n)
    dial = np.where(dial.mean(axis=3, keepdims=True) < 0.5, 1 - dial, dial)
    ink = dial * uniform(generator, 0, 0.3, n, 1, 1, 1)
    image = mix(backdrop(generator, n), rim, disc(x, y, radius))
    image = mix(image, dial, disc(x, y, 0.86 * radius))
    off = far * np.abs((6 * angle / np.pi + 0.5) % 1 - 0.5) * np.pi / 6  # from the next hour
    stroke = (1 - off).clip(0, 1) * (1 - np.abs(far / radius - 0.73) * 8).clip(0, 1)
    image = mix(image, ink, stroke)
    hours = uniform(generator, 0, 12, n)
    for turns, length, width in ((hours / 12, 0.45, 0.9), (hours % 1, 0.7, 0.5)):
        tip = each(2 * np.pi * turns)
        end = length * radius * np.sin(tip), -length * radius * np.cos(tip)
        image = mix(image, ink, (width + 0.5 - segment_distance(x, y, (0, 0), end)).clip(0, 1))
    return to_bytes(image)


@family("Gauges")
def gauges(generator: np.random.Generator, n: int) -> np.ndarray:
    """Round meters with a scale in three colours, a needle and a hub, on a panel of brushed metal;
    the colours, their shares, the opening of the scale and the reading vary.
    """
    x, y = random_place(generator, n, 3, 0.1)
    radius, far, angle = each(uniform(generator, 9, 15, n)), np.hypot(x, y), np.arctan2(x, -y)
    opening = each(uniform(generator, 1.3, 2.5, n))  # of the scale, to either side
    metal = uniform(generator, 0, 1, n, SIZE, 1) * 0.15 + each(uniform(generator, 0.3, 0.8, n))
    image = (
        metal[..., np.newaxis]
        * uniform(generator, 0.85, 1.1, n, 1, 1, 3)
        * (1 - Y / 80)[..., np.newaxis]
    )
    image = np.broadcast_to(image, (n, SIZE, SIZE, 3))
    dark = uniform(generator, 0, 0.25, n, 1, 1, 3)
    face = np.where(generator.random((n, 1, 1, 1)) < 0.5, dark, 1 - dark)
    image = mix(image, face, disc(x, y, radius))
    zones = uniform(generator, 0, 1, n, 3, 3)
    zone = (angle / opening > each(uniform(generator, -0.6, 0, n))).astype(int)
    zone += angle / opening > each(uniform(generator, 0.1, 0.7, n))
    band = (2 - np.abs(far - 0.75 * radius)).clip(0, 1) * (opening > np.abs(angle))
    image = mix(image, zones[each(np.arange(n)), zone], band)
    tip = opening * each(uniform(generator, -1, 1, n))
    end = 0.85 * radius * np.sin(tip), -0.85 * radius * np.cos(tip)
    needle = np.maximum(1.1 - segment_distance(x, y, (0, 0), end), disc(x, y, 2))
    return to_bytes(mix(image, 1 - face, needle.clip(0, 1)))


@family("Seven-segment displays")
def seven_segments(generator: np.random.Generator, n: int) -> np.ndarray:
    """Displays of two to four digits made of seven bars each, which shine on a dark panel or are
    dark on a light one; the bars that are off show a little.
    """
    x, y = random_place(generator, n, 2, 0.12)
    x = x + each(uniform(generator, 0, 0.2, n)) * y  # slanted
    count, lit = each(generator.integers(2, 5, n)), np.zeros((n, SIZE, SIZE), np.float32)
    step = each(uniform(generator, 24, 30, n)) / count
    width, height = 0.6 * step, each(uniform(generator, 5, 9, n))  # the height of half a digit
    thick, idle = each(uniform(generator, 1.2, 2, n)), each(uniform(generator, 0, 0.15, n))
    for digit in range(4):
        across = x - step * (digit - (count - 1) / 2)
        on = _BARS[generator.integers(0, 10, n)].T * (digit < count[:, 0, 0])
        bars = [box(across, y - k * height, width - 0.6, thick) for k in (-1, 0, 1)]
        for k in (-0.5, 0.5):
            for side in (-0.5, 0.5):
                bars.append(box(across - side * width, y - k * height, thick, height - 0.9))
        for bar, shown in zip(bars, on, strict=True):
            lit = np.maximum(
                lit, bar * each(np.maximum(shown, idle[:, 0, 0] * (digit < count[:, 0, 0])))
            )
    glow = uniform(generator, 0.2, 1, n, 1, 1, 3)
    glow = glow / glow.max(axis=3, keepdims=True)
    dark = generator.random((n, 1, 1, 1)) < 0.6
    panel = np.where(dark, uniform(generator, 0, 0.2, n, 1, 1, 3), 0.45 + 0.45 * glow)
    return to_bytes(mix(panel * (1 - Y / 100)[..., np.newaxis], np.where(dark, glow, 0.12), lit))


@family("Barcodes")
def barcodes(generator: np.random.Generator, n: int) -> np.ndarray:
    """Labels with dark bars and gaps of one to three modules, turned a little, on a package of any
    colour; some are crossed by a scanner's red line.
    """
    x, y = random_place(generator, n, 2, 0.5)
    width = each(uniform(generator, 0.7, 1.2, n))  # of a module
    label = box(x, y, 27, each(uniform(generator, 14, 22, n)))
    change = (generator.random((n, 40)) < 0.4) | (np.arange(40) % 3 == 0)
    bits = change.cumsum(axis=1) % 2
    which, place = each(np.arange(n)), (x / width + 11 / width)
    bar = sum(bits[which, ((place + k / 3).clip(0, 31)).astype(int)] for k in (-1, 0, 1)) / 3
    bar = bar * box(x, y + 1, 22, each(uniform(generator, 9, 13, n)))
    paper, ink = uniform(generator, 0.8, 1, n, 1, 1, 3), uniform(generator, 0, 0.3, n, 1, 1, 3)
    image = mix(backdrop(generator, n), mix(paper, ink, bar), label)
    laser = (1.2 - np.abs(Y - each(uniform(generator, -5, 5, n)))).clip(0, 1)
    laser = laser * each(generator.random(n) < 0.3) * 0.8
    return to_bytes(mix(image, np.array([1, 0.1, 0.1], np.float32), laser))


@family("Matrix codes")
def matrix_codes(generator: np.random.Generator, n: int) -> np.ndarray:
    """Square codes of 21 by 21 random modules with a finder pattern in three of the corners, dark
    on light, turned by any angle, as a whole or from near.
    """
    modules, which = 21, each(np.arange(n))
    code = generator.random((n, modules, modules)) < 0.5
    ring = np.maximum(*np.abs(np.indices((8, 8)) - 3))  # from a finder's middle
    finder = (ring != 2) & (ring != 4)
    code[:, :8, :8] = finder
    code[:, :8, -8:] = finder[:, ::-1]
    code[:, -8:, :8] = finder[::-1]
    x, y = random_place(generator, n, 4, np.pi)
    width = each(uniform(generator, 1, 1.9, n))
    dark = np.zeros((n, SIZE, SIZE), np.float32)
    for k in (-0.25, 0.25):
        for m in (-0.25, 0.25):
            column, row = ((z / width + modules / 2).astype(int) for z in (x + k, y + m))
            dark += code[which, row.clip(0, modules - 1), column.clip(0, modules - 1)] / 4
    dark *= box(x, y, modules * width, modules * width)
    ink, paper = uniform(generator, 0, 0.4, n, 1, 1, 3), uniform(generator, 0.75, 1, n, 1, 1, 3)
    label = box(x, y, (modules + 3) * width, (modules + 3) * width)
    return to_bytes(mix(backdrop(generator, n), mix(paper, ink, dark), label))


@family("Road signs")
def road_signs(generator: np.random.Generator, n: int) -> np.ndarray:
    """A sign on a post between sky and land: a triangle, square, octagon or disc with a rim and,
    inside, a bar, a cross, an arrow or an exclamation mark.
    """
    horizon = each(uniform(generator, 0, 12, n))
    x, y = np.broadcast_to(X, (n, SIZE, SIZE)), np.broadcast_to(Y, (n, SIZE, SIZE))
    clouds, bushes = value_noise(generator, x / 2, y, 5), value_noise(generator, x, y, 3)
    blue = uniform(generator, 0.5, 1, n, 1, 1, 1) * np.array([0.55, 0.75, 1], np.float32)
    green = uniform(generator, 0.2, 0.6, n, 1, 1, 3) * np.array([0.9, 1.1, 0.6], np.float32)
    sky = mix(blue, np.float32(0.95), 0.8 * clouds**2)
    land = green * (0.5 + bushes)[..., np.newaxis]
    image = mix(sky, land, (Y - horizon + 4 * clouds + 2 * bushes).clip(0, 1))
    x, y = random_place(generator, n, 4, 0.15)
    y = y + 3
    image = mix(image, uniform(generator, 0.3, 0.6, n, 1, 1, 1), box(x, y - 15, 1.8, 30))
    sides = each(np.array([3, 4, 8, 40])[generator.integers(0, 4, n)])
    radius = each(uniform(generator, 7, 11, n)) * np.where(sides == 3, 0.65, 0.9)
    depth = _polygon(x, y, sides, radius)
    colours = np.array(
        [[0.8, 0.1, 0.1], [0.1, 0.25, 0.7], [0.95, 0.8, 0.1], [0.95, 0.95, 0.95], [0.1, 0.1, 0.1]],
        np.float32,
    )  # fmt: skip
    rim, face = (generator.integers(0, 5, n) for _ in range(2))
    face = np.where(face == rim, (face + 1) % 5, face)
    rim, face = colours[rim][:, np.newaxis, np.newaxis], colours[face][:, np.newaxis, np.newaxis]
    image = mix(image, rim, (depth + 0.5).clip(0, 1))
    image = mix(image, face, (depth - 1).clip(0, 1))
    size = 0.5 * radius
    bar = box(x, y, 2 * size, 0.6 * size)
    cross = np.minimum(np.abs(x - y), np.abs(x + y)) / 1.4
    cross = (0.25 * size + 0.5 - cross).clip(0, 1) * disc(x, y, size)
    arrow = (0.8 * size - np.abs(x) - np.abs(y + 0.2 * size)).clip(0, 1) * (y < -0.2 * size)
    arrow = np.maximum(arrow, box(x, y - 0.3 * size, 0.5 * size, 1.3 * size))
    mark = np.maximum(box(x, y + 0.4 * size, 0.5 * size, size), disc(x, y - 0.8 * size, 0.3 * size))
    symbol = np.choose(each(generator.integers(0, 4, n)), [bar, cross, arrow, mark])
    light = face.mean(axis=3, keepdims=True) > 0.5
    return to_bytes(mix(image, np.where(light, 0.05, 0.95), symbol))
