"""The class of generated families, the registry, and functions that many families use."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.random import Generator

from helpers.checks import known_name

SIZE = 32
Y, X = np.indices((SIZE, SIZE), np.float32) - (SIZE - 1) / 2  # pixel centres, from the middle
BATCH = 250  # images drawn at once: their intermediate arrays stay within a processor's cache

Draw = Callable[[Generator, int], np.ndarray]


@dataclass(frozen=True)
class Family:
    """One generated family.

    Attributes
    ----------
    name : str
        The function's name, also the name in `helpers.data.load`.
    title : str
    what : str
        One sentence about the images and their variation (the function's docstring).
    draw : callable
        Takes a random generator and a number n, returns uint8 [n, 32, 32, 3].
    splits : dict of str to int
        The number of images of each split.
    citation_key : str
    """

    name: str
    title: str
    what: str
    draw: Draw
    splits: dict[str, int]
    citation_key: str


FAMILIES: dict[str, Family] = {}


def family(
    title: str, *, citation_key: str = "known_unknowns", splits: dict[str, int] | None = None
) -> Callable[[Draw], Draw]:
    """Register the decorated function as a family; its docstring becomes the description.

    Parameters
    ----------
    title : str
    citation_key : str
        Source that described the pattern, or the book itself.
    splits : dict of str to int, optional
        The number of images of each split; 2,000 to train and 500 to test by default.

    Raises
    ------
    ValueError
        A family of this name exists already.
    """

    def register(draw: Draw) -> Draw:
        name = draw.__name__
        if name in FAMILIES:
            raise ValueError(f"generated family '{name}' is registered already")
        if not draw.__doc__:
            raise ValueError(f"generated family '{name}': a docstring expected, which describes it")
        what = " ".join(draw.__doc__.split())
        sizes = splits or {"train": 2000, "test": 500}
        FAMILIES[name] = Family(name, title, what, draw, sizes, citation_key)
        return draw

    return register


def draw(name: str, split: str) -> np.ndarray:
    """Draw one split of a family, the same images in every process.

    Parameters
    ----------
    name : str
        A key of `FAMILIES`.
    split : str
        A split of the family; each split has a separate seed, made from both names.

    Returns
    -------
    ndarray of uint8, shape [n, 32, 32, 3]

    Raises
    ------
    ValueError
        Unknown family or split.
    """
    chosen = FAMILIES[known_name("generated family", name, FAMILIES)]
    count = chosen.splits[known_name(f"split of {name}", split, chosen.splits)]
    # crc32, because hash() of a string differs from process to process
    generator = np.random.default_rng(zlib.crc32(f"{name}/{split}".encode()))
    batches = [
        chosen.draw(generator, min(BATCH, count - start)) for start in range(0, count, BATCH)
    ]
    return np.concatenate(batches)


def to_bytes(images: np.ndarray) -> np.ndarray:
    """Turn values from 0 to 1 into bytes from 0 to 255; values outside are clipped.

    >>> to_bytes(np.array([-1, 0.5, 1.0]))
    array([  0, 128, 255], dtype=uint8)
    """
    return np.rint(images.clip(0, 1) * 255).astype(np.uint8)


def uniform(generator: Generator, low: float, high: float, *shape: int) -> np.ndarray:
    """Draw float32 numbers of a shape, uniform from `low` to `high`."""
    return low + (high - low) * generator.random(shape, np.float32)


def each(values: np.ndarray) -> np.ndarray:
    """Return one number per image, shape [n], with the axes of the pixels: [n, 1, 1]."""
    return values[:, np.newaxis, np.newaxis]


def random_number(generator: Generator, low: float, high: float, n: int) -> np.ndarray:
    """Draw one number per image, uniform from `low` to `high`, shape [n, 1, 1]."""
    return uniform(generator, low, high, n, 1, 1)


def random_light(generator: Generator, low: float, high: float, n: int) -> np.ndarray:
    """Draw one brightness per image, uniform from `low` to `high`, shape [n, 1, 1, 1]."""
    return uniform(generator, low, high, n, 1, 1, 1)


def random_colour(generator: Generator, low: float, high: float, n: int) -> np.ndarray:
    """Draw one colour per image, each channel uniform from `low` to `high`, shape [n, 1, 1, 3]."""
    return uniform(generator, low, high, n, 1, 1, 3)


def two_colours(generator: Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw two colours per image, each [n, 1, 1, 3], far apart in every channel."""
    first = random_colour(generator, 0, 1, n)
    return first, (first + random_colour(generator, 0.35, 0.65, n)) % 1


def vivid(generator: Generator, *shape: int) -> np.ndarray:
    """Draw colours of all hues, shape [..., 3], without pale and dark colours."""
    hue = uniform(generator, 0, 1, *shape, 1) + np.array([0, 1 / 3, 2 / 3], np.float32)
    return uniform(generator, 0.7, 0.95, *shape, 1) * (0.55 + 0.45 * np.cos(2 * np.pi * hue))


def paper(generator: Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a ground and an ink, each [n, 1, 1, 3].

    Three quarters of the images are dark on light, and one quarter is light on dark.
    """
    ground = random_colour(generator, 0.82, 1, n)
    ink = random_colour(generator, 0, 0.35, n)
    dark = generator.random((n, 1, 1, 1)) < 0.25
    return np.where(dark, 1 - ground, ground), np.where(dark, 1 - ink, ink)


def mix(first: np.ndarray, second: np.ndarray | np.floating, amount: np.ndarray) -> np.ndarray:
    """Blend colours [n, 1, 1, 3] or images [n, H, W, 3] by an amount [n, H, W] in [0, 1]."""
    between = second - first
    shape = (*np.broadcast_shapes(between.shape[:-1], amount.shape), between.shape[-1])
    first, between = (np.broadcast_to(array, shape) for array in (first, between))
    mixed = np.empty(shape, np.result_type(first, between, amount))
    for channel in range(shape[-1]):  # numpy is slow along a short axis
        mixed[..., channel] = first[..., channel] + between[..., channel] * amount
    return mixed


def rotate(x: np.ndarray, y: np.ndarray, angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn coordinates [n, H, W] by an angle in radians, [n, 1, 1] or one per pixel."""
    return np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x


def random_turn(generator: Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels' coordinates, each [n, 32, 32], turned by a random angle per image."""
    return rotate(X, Y, random_number(generator, 0, 2 * np.pi, n))


def random_place(
    generator: Generator, n: int, shift: float, tilt: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels' coordinates, each [n, 32, 32], moved and turned at random.

    The middle moves by up to `shift` pixels, and the angle is at most `tilt` to either side.
    """
    x, y = moved(generator, X, Y, shift, n)
    return rotate(x, y, random_number(generator, -tilt, tilt, n))


def moved(
    generator: Generator, x: np.ndarray, y: np.ndarray, most: float, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates, moved in each image by up to `most` pixels in both directions."""
    return x - random_number(generator, -most, most, n), y - random_number(
        generator, -most, most, n
    )


def rgb(red: float, green: float, blue: float) -> np.ndarray:
    """Return a colour as three float32 numbers."""
    return np.array([red, green, blue], np.float32)


def covered(depth: np.ndarray) -> np.ndarray:
    """Return the covered share of a pixel that is `depth` pixels inside an edge.

    >>> covered(np.array([-1, 0, 1]))
    array([0. , 0.5, 1. ])
    """
    return (depth + 0.5).clip(0, 1)


def disc(x: np.ndarray, y: np.ndarray, radius: np.ndarray | float) -> np.ndarray:
    """Return how much of each pixel a disc around the origin of the coordinates covers.

    Parameters
    ----------
    x, y : ndarray, shape [n, H, W] or what spreads to it
        Coordinates in pixels, from the disc's centre.
    radius : ndarray or float
        Radius in pixels.

    Returns
    -------
    ndarray, shape [n, H, W]
        0 outside and 1 inside, over an edge one pixel wide.

    >>> disc(np.array([0, 1, 2, 3]), np.array([0]), 2)
    array([1. , 1. , 0.5, 0. ])
    """
    return covered(radius - np.hypot(x, y))


def box(
    x: np.ndarray, y: np.ndarray, width: np.ndarray | float, height: np.ndarray | float
) -> np.ndarray:
    """Return how much of each pixel a rectangle around the origin of the coordinates covers.

    Parameters
    ----------
    x, y : ndarray, shape [n, H, W] or what spreads to it
        Coordinates in pixels, from the rectangle's centre and along its sides.
    width, height : ndarray or float
        Sizes in pixels; a side of less than one pixel is drawn one pixel wide, but weaker.

    Returns
    -------
    ndarray, shape [n, H, W]
        0 outside and 1 inside, over edges one pixel wide.

    >>> box(np.array([0, 1, 2, 3]), np.array([0]), 4, 2)
    array([1. , 1. , 0.5, 0. ])
    >>> box(np.array([0.0, 1.0]), np.array([0]), 0.5, 2)
    array([0.5, 0. ])
    """
    across, down = (
        (side / 2 - np.abs(z) + 0.5).clip(0, np.minimum(side, 1))
        for z, side in ((x, width), (y, height))
    )
    return across * down


def segment_distance(
    x: np.ndarray,
    y: np.ndarray,
    start: tuple[np.ndarray | float, np.ndarray | float],
    end: tuple[np.ndarray | float, np.ndarray | float],
) -> np.ndarray:
    """Return how far each pixel is from a segment of a line.

    Parameters
    ----------
    x, y : ndarray, shape [n, H, W] or what spreads to it
        Coordinates in pixels.
    start, end : tuple of two ndarrays or floats
        The segment's ends, (x, y) each, [n, 1, 1] for one segment per image; a point if both ends
        are equal.

    Returns
    -------
    ndarray, shape [n, H, W]
        Distances in pixels.

    >>> segment_distance(np.array([-3, 0, 2, 4]), np.array([1, 1, 1, 0]), (0, 0), (4, 0)).round(3)
    array([3.162, 1.   , 1.   , 0.   ])
    """
    (x0, y0) = start
    (x1, y1) = end
    dx = x1 - x0
    dy = y1 - y0
    along = ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy + 1e-6)
    along = along.clip(0, 1)  # position of the nearest point on the segment
    return np.hypot(x - x0 - along * dx, y - y0 - along * dy)


def value_noise(generator: Generator, x: np.ndarray, y: np.ndarray, spacing: float) -> np.ndarray:
    """Interpolate random values on a grid smoothly: noise without details below `spacing`.

    Parameters
    ----------
    generator : numpy.random.Generator
    x, y : ndarray, shape [n, H, W]
        Coordinates in pixels; the pattern repeats after 16 grid cells.
    spacing : float
        Pixels between two grid points.

    Returns
    -------
    ndarray of float32, shape [n, H, W]
        From 0 to 1.
    """
    n = len(x)
    cells = 16
    grid = generator.random((n, cells, cells), np.float32)
    column = np.floor(x / spacing)
    row = np.floor(y / spacing)
    across = x / spacing - column
    down = y / spacing - row
    across, down = (t * t * (3 - 2 * t) for t in (across, down))  # no kinks at the grid lines
    column = column.astype(int)
    row = row.astype(int)
    which = each(np.arange(n))
    rows = [(which * cells + (row + below) % cells) * cells for below in (0, 1)]
    columns = [(column + right) % cells for right in (0, 1)]

    def at(below: int, right: int) -> np.ndarray:
        return grid.take(rows[below] + columns[right])  # one index is faster than three

    top = at(0, 0) + (at(0, 1) - at(0, 0)) * across
    bottom = at(1, 0) + (at(1, 1) - at(1, 0)) * across
    return top + (bottom - top) * down


def octaves(
    generator: Generator,
    x: np.ndarray,
    y: np.ndarray,
    spacing: float,
    count: int,
    fall: float = 0.5,
) -> np.ndarray:
    """Add value noise of half the spacing `count` times, each weaker by the factor `fall`."""
    layers = (fall**k * value_noise(generator, x, y, spacing / 2**k) for k in range(count))
    return reduce(np.add, layers)


def backdrop(generator: Generator, n: int) -> np.ndarray:
    """Draw grounds [n, 32, 32, 3]: soft patches of two near colours, under a light from a side."""
    x, y = random_turn(generator, n)
    patches = (value_noise(generator, x, y, 11) + value_noise(generator, x, y, 4) / 2) / 1.5
    first = random_colour(generator, 0.1, 0.9, n)
    second = first + random_colour(generator, -0.35, 0.35, n)
    return mix(first, second, patches) * (1 + x / SIZE / 2)[..., np.newaxis]
