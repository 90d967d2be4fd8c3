"""Things that people make and read: a game, an instrument, a code, a sign."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from pictures.base import (
    SIZE,
    X,
    Y,
    backdrop,
    box,
    covered,
    disc,
    each,
    family,
    mix,
    random_colour,
    random_light,
    random_number,
    random_place,
    rgb,
    segment_distance,
    to_bytes,
    two_colours,
    uniform,
    value_noise,
)


@family("Dart boards")
def dart_boards(generator: Generator, n: int) -> np.ndarray:
    """Round boards of twelve to twenty sectors in two colours, with two rings in two others, a
    bull's eye and a black margin, as a whole or cut off by the image's edge.
    """
    x, y = random_place(generator, n, 7, np.pi)
    radius = random_number(generator, 11, 19, n)
    sectors = each(generator.integers(6, 11, n))
    far = np.hypot(x, y) / radius
    wave = np.sin(np.arctan2(y, x) * sectors) * far * radius / sectors  # pixels from a border
    odd = covered(wave)
    board = mix(*two_colours(generator, n), odd)
    rings = mix(*two_colours(generator, n), odd)
    edge = random_number(generator, 0.4, 0.5, n)
    ring = (np.abs(far - edge) < 0.06) | (np.abs(far - 0.72) < 0.06) | (far < 0.12)
    image = np.where(ring[..., np.newaxis], rings, board)
    image = mix(image, np.float32(0.06), covered((far - 0.8) * radius))
    return to_bytes(mix(backdrop(generator, n), image, disc(x, y, radius)))


def _polygon(x: np.ndarray, y: np.ndarray, sides: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return each pixel's depth, in pixels, in a regular polygon with a corner at the top."""
    sector = 2 * np.pi / sides
    angle = np.arctan2(x, -y) % sector - sector / 2
    return radius - np.hypot(x, y) * np.cos(angle)


@family("Clocks")
def clocks(generator: Generator, n: int) -> np.ndarray:
    """Wall clocks with a round dial, a rim, strokes at the hours and two hands that show any time
    of the day, before a wall of soft patches.
    """
    x, y = random_place(generator, n, 3, 0.15)
    radius = random_number(generator, 9, 14, n)
    angle = np.arctan2(x, -y)
    far = np.hypot(x, y)
    rim, dial = two_colours(generator, n)
    dial = np.where(dial.mean(axis=3, keepdims=True) < 0.5, 1 - dial, dial)
    ink = dial * random_light(generator, 0, 0.3, n)
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


@family("Barcodes")
def barcodes(generator: Generator, n: int) -> np.ndarray:
    """Labels with dark bars and gaps of one to three modules, turned a little, on a package of any
    colour; some are crossed by a scanner's red line.
    """
    x, y = random_place(generator, n, 2, 0.5)
    width = random_number(generator, 0.7, 1.2, n)  # of a module
    label = box(x, y, 27, random_number(generator, 14, 22, n))
    change = (generator.random((n, 40)) < 0.4) | (np.arange(40) % 3 == 0)
    bits = change.cumsum(axis=1) % 2
    which = each(np.arange(n))
    position = x / width + 11 / width
    bar = sum(bits[which, ((position + k / 3).clip(0, 31)).astype(int)] for k in (-1, 0, 1)) / 3
    bar = bar * box(x, y + 1, 22, random_number(generator, 9, 13, n))
    paper = random_colour(generator, 0.8, 1, n)
    ink = random_colour(generator, 0, 0.3, n)
    image = mix(backdrop(generator, n), mix(paper, ink, bar), label)
    laser = (1.2 - np.abs(Y - random_number(generator, -5, 5, n))).clip(0, 1)
    laser = laser * each(generator.random(n) < 0.3) * 0.8
    return to_bytes(mix(image, rgb(1, 0.1, 0.1), laser))


@family("Road signs")
def road_signs(generator: Generator, n: int) -> np.ndarray:
    """A sign on a post between sky and land: a triangle, square, octagon or disc with a rim and,
    inside, a bar, a cross, an arrow or an exclamation mark.
    """
    horizon = random_number(generator, 0, 12, n)
    x = np.broadcast_to(X, (n, SIZE, SIZE))
    clouds = value_noise(generator, x / 2, Y, 5)
    bushes = value_noise(generator, x, Y, 3)
    blue = random_light(generator, 0.5, 1, n) * rgb(0.55, 0.75, 1)
    green = random_colour(generator, 0.2, 0.6, n) * rgb(0.9, 1.1, 0.6)
    sky = mix(blue, np.float32(0.95), 0.8 * clouds**2)
    land = green * (0.5 + bushes)[..., np.newaxis]
    image = mix(sky, land, (Y - horizon + 4 * clouds + 2 * bushes).clip(0, 1))
    x, y = random_place(generator, n, 4, 0.15)
    y = y + 3
    image = mix(image, random_light(generator, 0.3, 0.6, n), box(x, y - 15, 1.8, 30))
    sides = each(np.array([3, 4, 8, 40])[generator.integers(0, 4, n)])
    radius = random_number(generator, 7, 11, n) * np.where(sides == 3, 0.65, 0.9)
    depth = _polygon(x, y, sides, radius)
    colours = np.array(
        [[0.8, 0.1, 0.1], [0.1, 0.25, 0.7], [0.95, 0.8, 0.1], [0.95, 0.95, 0.95], [0.1, 0.1, 0.1]],
        np.float32,
    )  # fmt: skip
    rim, face = (generator.integers(0, 5, n) for _ in range(2))
    face = np.where(face == rim, (face + 1) % 5, face)
    middle = each(colours[face])
    image = mix(image, each(colours[rim]), covered(depth))
    image = mix(image, middle, (depth - 1).clip(0, 1))
    size = 0.5 * radius
    bar = box(x, y, 2 * size, 0.6 * size)
    cross = np.minimum(np.abs(x - y), np.abs(x + y)) / 1.4
    cross = (0.25 * size + 0.5 - cross).clip(0, 1) * disc(x, y, size)
    arrow = (0.8 * size - np.abs(x) - np.abs(y + 0.2 * size)).clip(0, 1) * (y < -0.2 * size)
    arrow = np.maximum(arrow, box(x, y - 0.3 * size, 0.5 * size, 1.3 * size))
    mark = np.maximum(box(x, y + 0.4 * size, 0.5 * size, size), disc(x, y - 0.8 * size, 0.3 * size))
    symbol = np.choose(each(generator.integers(0, 4, n)), [bar, cross, arrow, mark])
    light = middle.mean(axis=3, keepdims=True) > 0.5
    return to_bytes(mix(image, np.where(light, 0.05, 0.95), symbol))
