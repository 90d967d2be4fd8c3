"""A font's glyphs as images: the letters and signs of many scripts, used by the families.

The font is DejaVu, in the file that matplotlib installs; it is read when it is needed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.random import Generator

from pictures.base import (
    SIZE,
    X,
    Y,
    each,
    random_number,
    rotate,
)

FONT = "DejaVuSans-Bold.ttf"
# first and last code points of the font's glyphs
SCRIPTS = {
    "arrows": [(0x2190, 0x2193), (0x219E, 0x21A1), (0x21D0, 0x21D3), (0x21E6, 0x21E9)],
    "braille": [(0x2801, 0x283F)],
    "chess": [(0x2654, 0x265F)],
    "cyrillic": [(0x410, 0x44F)],
    "greek": [(0x391, 0x3A1), (0x3A3, 0x3A9), (0x3B1, 0x3C9)],
    "latin": [(0x41, 0x5A), (0x61, 0x7A)],
    "mathematics": [(0x2200, 0x22A5)],
    "syllabics": [(0x1401, 0x1407), (0x142F, 0x1435), (0x144C, 0x1452), (0x146B, 0x1472)],
    "tifinagh": [(0x2D30, 0x2D65)],
}


@cache
def atlas(script: str) -> np.ndarray:
    """Render each glyph of a script once, in the middle of a separate square.

    Parameters
    ----------
    script : str
        A key of `SCRIPTS`.

    Returns
    -------
    ndarray of float32, shape [glyphs, 32, 32]
        Ink from 0 to 1, at most 28 pixels wide and high, with a free margin.

    >>> atlas("latin").shape
    (52, 32, 32)
    """
    from matplotlib import get_data_path
    from PIL import Image, ImageDraw, ImageFont

    path = f"{get_data_path()}/fonts/ttf/{FONT}"
    # the basic layout, so that an optional library for text shaping does not change the images
    font = ImageFont.truetype(path, 24, layout_engine=ImageFont.Layout.BASIC)
    drawn = []
    for first, last in SCRIPTS[script]:
        for code in range(first, last + 1):
            left, top, right, bottom = font.getbbox(chr(code))
            glyph = Image.new("L", (int(right - left), int(bottom - top)))
            ImageDraw.Draw(glyph).text((-left, -top), chr(code), fill=255, font=font)
            if max(glyph.size) > 28:
                glyph.thumbnail((28, 28))
            square = Image.new("L", (SIZE, SIZE))
            square.paste(glyph, ((SIZE - glyph.width) // 2, (SIZE - glyph.height) // 2))
            drawn.append(np.asarray(square, np.float32) / 255)
    return np.stack(drawn)


def ink(glyphs: np.ndarray, which: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Read an atlas between its pixels.

    Parameters
    ----------
    glyphs : ndarray, shape [glyphs, 32, 32]
    which : ndarray of int, shape [n, H, W] or what spreads to it
        The glyph that each pixel reads.
    x, y : ndarray, shape [n, H, W]
        Position in pixels of the atlas from the glyph's middle; there is no ink outside.

    Returns
    -------
    ndarray of float32, shape [n, H, W]
        Ink from 0 to 1.

    >>> glyph = np.zeros((1, 32, 32), np.float32)
    >>> glyph[0, 16, 16] = 1  # half a pixel right of the middle and below it
    >>> centre = np.array([0.5, 0, 90]).reshape(1, 1, 3)
    >>> ink(glyph, np.zeros((1, 1, 1), int), centre, centre * 0 + 0.5).ravel()
    array([1. , 0.5, 0. ])
    """
    # the margin is free of ink, so points outside the atlas read the margin
    x, y = ((z + (SIZE - 1) / 2).clip(0, SIZE - 1.001) for z in (x, y))
    column = x.astype(np.int32)
    row = y.astype(np.int32)
    across = x - column
    down = y - row
    pixel = (which * SIZE + row) * SIZE + column
    flat = glyphs.reshape(-1)
    top = flat[pixel] * (1 - across) + flat[pixel + 1] * across
    bottom = flat[pixel + SIZE] * (1 - across) + flat[pixel + SIZE + 1] * across
    return top * (1 - down) + bottom * down


def random_glyphs(generator: Generator, glyphs: np.ndarray, *shape: int) -> np.ndarray:
    """Draw glyphs at random."""
    return generator.integers(0, len(glyphs), shape)


def page(
    generator: Generator, script: str, x: np.ndarray, y: np.ndarray, cell: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Set a page of random glyphs in square cells; return its ink, and each pixel's column and
    row of 16, all [n, 32, 32].
    """
    glyphs = atlas(script)
    column = np.floor(x / cell)
    row = np.floor(y / cell)
    inside = ((z / cell - k - 0.5) * (SIZE - 2) for z, k in ((x, column), (y, row)))
    column = column.astype(int) % 16
    row = row.astype(int) % 16
    which = random_glyphs(generator, glyphs, len(x), 16, 16)[each(np.arange(len(x))), row, column]
    return ink(glyphs, which, *inside), column, row


def random_tilt(
    generator: Generator, n: int, most: float, move: float = 50
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels' coordinates, each [n, 32, 32], turned by at most `most` radians and
    moved by at most `move` pixels, by default to anywhere on a page.
    """
    x, y = rotate(X, Y, random_number(generator, -most, most, n))
    return tuple(z + random_number(generator, -move, move, n) for z in (x, y))
