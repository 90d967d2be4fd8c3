"""Letters and signs of a font's scripts."""

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
    octaves,
    random_colour,
    random_number,
    random_turn,
    rgb,
    rotate,
    to_bytes,
    two_colours,
    value_noise,
)
from pictures.font import atlas, ink, page, random_glyphs, random_tilt


@family("Latin letters")
def latin(generator: Generator, n: int) -> np.ndarray:
    """One letter of the Latin alphabet, upper or lower case, slightly tilted, in one colour on
    another colour that fades to one side.
    """
    glyphs = atlas("latin")
    (x, y) = random_tilt(generator, n, 0.4, move=4)
    scale = random_number(generator, 0.6, 1.3, n)
    shown = ink(glyphs, each(random_glyphs(generator, glyphs, n)), x / scale, y / scale)
    ground, colour = two_colours(generator, n)
    fade = 1 - 0.5 * covered(random_turn(generator, n)[0] / SIZE)
    return to_bytes(mix(ground * fade[..., np.newaxis], colour, shown))


@family("Greek letters")
def greek(generator: Generator, n: int) -> np.ndarray:
    """Six Greek letters scattered over a light ground, of any size, turn and colour; later
    letters cover earlier letters.
    """
    glyphs = atlas("greek")
    image = random_colour(generator, 0.6, 1, n)
    for _ in range(6):
        scale = random_number(generator, 0.35, 0.8, n)
        x, y = moved(generator, *random_turn(generator, n), 13, n)
        shown = ink(glyphs, each(random_glyphs(generator, glyphs, n)), x / scale, y / scale)
        image = mix(image, random_colour(generator, 0, 0.8, n), shown)
    return to_bytes(image)


@family("Cyrillic print")
def cyrillic(generator: Generator, n: int) -> np.ndarray:
    """Printed pages of Cyrillic letters, five to ten pixels high, dark on light paper, with spaces
    between the words, a slight slope and a shadow over the paper.
    """
    x, y = random_tilt(generator, n, 0.15)
    shown, column, row = page(generator, "cyrillic", x, y, random_number(generator, 5, 10, n))
    shown = shown * (generator.random((n, 16, 16)) > 0.2)[each(np.arange(n)), row, column]
    shadow = 0.75 + 0.25 * value_noise(generator, x, y, 20)
    paper = random_colour(generator, 0.85, 1, n) * shadow[..., np.newaxis]
    return to_bytes(mix(paper, random_colour(generator, 0, 0.25, n), shown))


@family("Tifinagh carvings")
def tifinagh(generator: Generator, n: int) -> np.ndarray:
    """Letters of the Tuareg, cut into rough stone that is lit from one side."""
    x, y = random_tilt(generator, n, 0.3)
    shown, _, _ = page(generator, "tifinagh", x, y, random_number(generator, 10, 18, n))
    rough = octaves(generator, x, y, 8, 3, fall=0.6)
    height = 0.35 * rough - 0.3 * shown
    side = each(generator.choice([-1, 1], n))
    light = 0.75 + 1.2 * (np.gradient(height, axis=1) + side * np.gradient(height, axis=2))
    stone = rgb(0.8, 0.65, 0.5) * random_colour(generator, 0.7, 1.2, n)
    return to_bytes(stone * (light - 0.2 * shown)[..., np.newaxis])


@family("Braille")
def braille(generator: Generator, n: int) -> np.ndarray:
    """Pages in Braille: cells of raised dots on pale paper or tinted metal, lit from above."""
    x, y = random_tilt(generator, n, 0.2)
    height, _, _ = page(generator, "braille", x, y, random_number(generator, 10, 16, n))
    light = 0.8 + 0.35 * np.gradient(height, axis=1) + 0.15 * height
    paper = random_colour(generator, 0.55, 1, n)
    return to_bytes(paper * light[..., np.newaxis])


@family("Mathematical signs")
def mathematics(generator: Generator, n: int) -> np.ndarray:
    """Signs of mathematics in chalk, white or in a pale colour, on a blackboard of black, green or
    blue that was wiped badly.
    """
    x, y = random_tilt(generator, n, 0.2)
    shown, _, _ = page(generator, "mathematics", x, y, random_number(generator, 9, 16, n))
    grain = value_noise(generator, x, y, 1.2)
    wiped = 0.25 * value_noise(generator, x / 6, y, 5) * value_noise(generator, x, y, 12)
    boards = np.array([[0.1, 0.1, 0.1], [0.08, 0.25, 0.17], [0.1, 0.15, 0.3]], np.float32)
    board = each(boards[generator.integers(0, 3, n)])
    chalk = random_colour(generator, 0.75, 1, n)
    return to_bytes(mix(board, chalk, wiped + shown * (0.4 + 0.8 * grain)))


@family("Arrows")
def arrows(generator: Generator, n: int) -> np.ndarray:
    """A field of arrows, one kind per image, with directions that vary as in a map of winds,
    dark on a light ground or the reverse.
    """
    glyphs = atlas("arrows")
    cell = random_number(generator, 6.5, 11, n)
    x, y = (z / cell + random_number(generator, 8, 9, n) for z in (X, Y))
    middle = np.floor(x) + 0.5, np.floor(y) + 0.5  # all pixels of a cell read one direction
    angle = 2 * np.pi * (value_noise(generator, *middle, 4) + random_number(generator, 0, 1, n))
    x, y = ((z - m) * 24 for z, m in zip((x, y), middle, strict=True))
    x, y = rotate(x, y, angle)
    shown = ink(glyphs, each(random_glyphs(generator, glyphs, n)), x, y)
    return to_bytes(mix(*two_colours(generator, n), shown))


@family("Chess boards")
def chess(generator: Generator, n: int) -> np.ndarray:
    """Parts of chess boards, three to five fields wide: black and white pieces on half of the
    fields, whose two tones are of one colour.
    """
    glyphs = atlas("chess")
    which = each(np.arange(n))
    cell = random_number(generator, 6.5, 11, n)
    x, y = (z / cell + random_number(generator, 8, 10, n) for z in (X, Y))
    column, row = (np.floor(z).astype(int) for z in (x, y))
    light = random_colour(generator, 0.7, 0.95, n)
    dark = light * random_colour(generator, 0.45, 0.75, n)
    image = mix(light, dark, (column + row) % 2)
    piece = random_glyphs(generator, glyphs, n, 16, 16)[which, row % 16, column % 16]
    taken = (generator.random((n, 16, 16)) < 0.5)[which, row % 16, column % 16]
    # the font's white pieces are outlines: the black one, filled, is put under its lines
    x, y = ((z - k - 0.5) * 30 for z, k in ((x, column), (y, row)))
    image = mix(image, np.float32(0.98), taken * ink(glyphs, piece % 6 + 6, x, y) * (piece < 6))
    return to_bytes(mix(image, np.float32(0.08), taken * ink(glyphs, piece, x, y)))


@family("Syllabics wallpaper")
def syllabics(generator: Generator, n: int) -> np.ndarray:
    """Wallpaper: one sign of the Canadian Aboriginal syllabics, repeated without end in shifted
    rows, on stripes of two colours.
    """
    glyphs = atlas("syllabics")
    (x, y) = random_tilt(generator, n, np.pi)
    cell = random_number(generator, 5, 9, n)
    row = np.floor(y / cell)
    x = x / cell + row * random_number(generator, 0, 1, n)
    inside = (x % 1 - 0.5) * 28, (y / cell - row - 0.5) * 28
    shown = ink(glyphs, each(random_glyphs(generator, glyphs, n)), *inside)
    first, second = two_colours(generator, n)
    ground = mix(first, random_colour(generator, 0, 1, n), 0.5 * (row % 2))
    return to_bytes(mix(ground, second, shown))
