"""Nature: plants, animals, land and sky, built from a few curves and noise."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from pictures.base import (
    SIZE,
    X,
    Y,
    covered,
    disc,
    each,
    family,
    mix,
    moved,
    octaves,
    random_colour,
    random_light,
    random_number,
    random_turn,
    rgb,
    segment_distance,
    to_bytes,
    uniform,
    value_noise,
)


def _meadow(generator: Generator, n: int) -> np.ndarray:
    """Draw grounds that are out of focus: soft patches of two greens, browns or blues."""
    tones = np.array([[0.35, 0.5, 0.2], [0.45, 0.38, 0.25], [0.55, 0.7, 0.85]], np.float32)
    tone = each(tones[generator.integers(0, 3, n)])
    x, y = random_turn(generator, n)
    patches = value_noise(generator, x, y, 9)
    first, second = (tone * random_colour(generator, low, low + 0.5, n) for low in (0.4, 0.9))
    return mix(first, second, patches)


@family("Leaves")
def leaves(generator: Generator, n: int) -> np.ndarray:
    """A leaf in a random green, yellow or red, with a midrib and side veins, a smooth or toothed
    edge, before a ground that is out of focus.
    """
    x, y = random_turn(generator, n)
    half = random_number(generator, 11, 16, n)
    width = random_number(generator, 4, 9, n)
    x = x + random_number(generator, -0.03, 0.03, n) * y * y  # a bend
    along = (y / half).clip(-1, 1)
    teeth = 1 + random_number(generator, 0, 0.15, n) * np.sin(4 * y)
    edge = width * (1 - along**2) * (1 + 0.5 * along) * teeth - np.abs(x)
    spacing = random_number(generator, 2.5, 4.5, n)
    side = np.abs((y + 0.8 * np.abs(x)) % spacing - spacing / 2)
    veins = np.maximum((1 - np.abs(x)).clip(0, 1), 0.6 * (1 - 1.5 * side).clip(0, 1))
    colour = random_colour(generator, 0, 1, n) * [0.7, 0.4, 0.15] + [0.2, 0.3, 0.02]
    light = 1 + 0.25 * np.sign(x) * random_number(generator, -1, 1, n) + 0.5 * veins
    blade = colour.astype(np.float32) * light[..., np.newaxis]
    return to_bytes(mix(_meadow(generator, n), blade, covered(edge)))


@family("Flowers")
def flowers(generator: Generator, n: int) -> np.ndarray:
    """A flower from above with four to thirteen petals, pointed or round, in one or two rows
    around a yellow or brown heart, before a ground that is out of focus.
    """
    image = _meadow(generator, n)
    x, y = moved(generator, *random_turn(generator, n), 4, n)
    radius = np.hypot(x, y)
    angle = np.arctan2(y, x)
    petals = each(generator.integers(4, 14, n))
    size = random_number(generator, 9, 15, n)
    form = random_number(generator, 0.2, 1.2, n)
    colour = random_colour(generator, 0.3, 1, n) * random_colour(generator, 0, 1, n) ** 0.3
    for row in range(2):  # the second row, smaller and paler, is between the first petals
        turn = np.abs(np.cos(petals * angle / 2 + row * np.pi / 2)) + 1e-3
        reach = size * (1 - 0.35 * row) * (0.3 + 0.7 * turn**form)
        shade = 0.6 + 0.4 * radius / size + 0.2 * turn
        petal = (colour + 0.15 * row) * shade[..., np.newaxis]
        image = mix(image, petal, covered(reach - radius))
    heart = rgb(0.85, 0.65, 0.1) * random_light(generator, 0.3, 1.1, n)
    grain = 0.7 + 0.6 * generator.random((n, SIZE, SIZE, 1), np.float32)
    return to_bytes(
        mix(image, heart * grain, disc(x, y, size * random_number(generator, 0.15, 0.4, n)))
    )


@family("Butterflies")
def butterflies(generator: Generator, n: int) -> np.ndarray:
    """A butterfly with spread wings: two pairs of one form, patterned in two colours with dark
    rims and an eye on each, the left wing the mirror of the right.
    """
    image = _meadow(generator, n)
    (x, y) = random_turn(generator, n)
    x = np.abs(x)
    first = random_colour(generator, 0.2, 1, n) * [1, 0.8, 0.6]
    second = random_colour(generator, 0, 1, n)
    pattern = 0.5 + 0.5 * np.sin(random_number(generator, 0.3, 0.9, n) * np.hypot(x, y + 4))
    wing = mix(first, second, pattern * random_number(generator, 0.2, 1, n))
    for low in (True, False):
        length = random_number(generator, 6, 8, n)
        width = random_number(generator, 3.5, 5.5, n)
        tilt = random_number(generator, 0.3, 0.8, n) * (1 if low else -1)
        along = np.cos(tilt) * x + np.sin(tilt) * y - length
        across = np.cos(tilt) * y - np.sin(tilt) * x
        depth = (
            1 - np.hypot(along / length, across / (width * (0.7 + 0.4 * along / length)))
        ) * width
        rim = (depth - random_number(generator, 0.5, 1.5, n)).clip(0, 1)
        eye = disc(along - length / 3, across, 1.5)
        dark = mix(wing, np.float32(0.08), np.maximum(1 - rim, 0.9 * eye))
        image = mix(image, dark, covered(depth))
    body = (1.2 - segment_distance(x, y, (0, -5), (0, 5))).clip(0, 1)
    feeler = (0.9 - segment_distance(x, y, (0, -5), (3, -10))).clip(0, 0.8)
    return to_bytes(mix(image, np.float32(0.1), np.maximum(body, feeler)))


@family("Trees", citation_key="mandelbrot1982")
def trees(generator: Generator, n: int) -> np.ndarray:
    """Bare trees that fork many times, always by two angles and lengths, which differ from
    tree to tree, before an evening sky.
    """
    sky = mix(
        random_colour(generator, 0.3, 0.8, n) * [0.7, 0.8, 1.2],
        random_colour(generator, 0.6, 1, n) * [1.1, 0.9, 0.7],
        Y / SIZE + 0.5,
    )
    bend = uniform(generator, 0.2, 0.7, n, 2) * [-1, 1]
    shrink = uniform(generator, 0.65, 0.85, n, 2)
    x = uniform(generator, -5, 5, n, 1)
    y = np.full((n, 1), SIZE / 2, np.float32)
    direction = uniform(generator, -0.15, 0.15, n, 1)
    length = uniform(generator, 7, 11, n, 1)
    nearest = np.full((n, SIZE, SIZE), np.inf, np.float32)
    for level in range(5):
        end = x + length * np.sin(direction), y - length * np.cos(direction)
        thick = 1.6 * 0.62**level
        for k in range(x.shape[1]):
            left, low, right, high = (each(z[:, k]).astype(np.float32) for z in (x, y, *end))
            distance = segment_distance(X, Y, (left, low), (right, high))
            nearest = np.minimum(nearest, distance - thick)
        x, y = (np.repeat(z, 2, axis=1) for z in end)
        direction = np.repeat(direction, 2, axis=1) + np.tile(bend, 2**level)
        length = np.repeat(length, 2, axis=1) * np.tile(shrink, 2**level)
    bark = random_colour(generator, 0, 0.3, n)
    return to_bytes(mix(sky, bark, (0.5 - nearest).clip(0, 1)))


# deep water, shallow water, beach, meadow, wood, rock, snow
_LAND = np.array(
    [[20, 40, 110], [50, 110, 170], [215, 200, 140], [100, 160, 60], [40, 95, 40],
     [120, 110, 100], [245, 245, 250]], np.float32,
) / 255  # fmt: skip


@family("Terrain", citation_key="perlin1985")
def terrain(generator: Generator, n: int) -> np.ndarray:
    """Relief maps: three octaves of value noise, coloured by height from deep water to snow and
    lit from one side.
    """
    x = np.broadcast_to(X, (n, SIZE, SIZE))
    height = octaves(generator, x, Y, 12, 3) / 1.75
    level = (height - random_number(generator, 0.2, 0.5, n)) * 12 + 2  # of the shore, 2
    colour = _LAND[level.clip(0, len(_LAND) - 1).astype(int)]
    slope = np.gradient(height, axis=1) + np.gradient(height, axis=2)
    shade = np.where(level < 2, 1, (1 + 6 * slope).clip(0.5, 1.5))  # water is flat
    tint = random_colour(generator, 0.8, 1.2, n)
    return to_bytes(colour * shade[..., np.newaxis] * tint)


@family("Wood grain", citation_key="perlin1985")
def woodgrain(generator: Generator, n: int) -> np.ndarray:
    """Sawn boards: rings around an axis outside or at the edge of the image, bent by value noise,
    between two browns.
    """
    along, across = random_turn(generator, n)
    bend = value_noise(generator, along / 3, across, 7)  # the grain runs along
    distance = np.hypot(along / 5, across - random_number(generator, 0, 40, n))
    ring = (distance / random_number(generator, 3, 7, n) + 2 * bend) % 1
    fibre = value_noise(generator, along / 8, across, 1)
    brown = rgb(0.82, 0.58, 0.33) * random_light(generator, 0.7, 1.2, n)
    light = brown * random_colour(generator, 0.85, 1.15, n)
    dark = light * random_light(generator, 0.35, 0.65, n)
    return to_bytes(mix(light, dark, 0.75 * ring**3 + 0.25 * fibre))


@family("Stars")
def stars(generator: Generator, n: int) -> np.ndarray:
    """Night skies: up to sixty points of light, most of them weak, some with a colour, over a dark
    sky with a veil of mist.
    """
    count = 60
    centres = uniform(generator, -SIZE / 2, SIZE / 2, 2, n, count, 1)
    width = uniform(generator, 0.4, 0.8, n, count, 1)
    column, row = (np.exp(-(((X[0] - p) / width) ** 2)) for p in centres)  # a blob is separable
    light = uniform(generator, 0, 1, n, count, 1) ** 6 * 1.5 + 0.05
    light *= uniform(generator, 0, 1, n, count, 1) < uniform(generator, 0.2, 1, n, 1, 1)
    colour = light * uniform(generator, 0.6, 1, n, count, 3)
    blobs = column[..., np.newaxis] * colour[:, :, np.newaxis]
    points = row.swapaxes(1, 2) @ blobs.reshape(n, count, -1)
    x, y = random_turn(generator, n)
    mist = value_noise(generator, x, y, 14) * value_noise(generator, x, y, 6)
    veil = mist[..., np.newaxis] * random_colour(generator, 0, 0.5, n)
    return to_bytes(points.reshape(n, SIZE, SIZE, 3) + 0.02 + veil)


@family("Galaxies")
def galaxies(generator: Generator, n: int) -> np.ndarray:
    """Spiral galaxies seen from any side: a warm core, two to four bluish arms with random
    tightness, with knots of young stars.
    """
    x, y = random_turn(generator, n)
    y = y / random_number(generator, 0.3, 1, n)  # tilted against the line of sight
    radius = np.hypot(x, y)
    angle = np.arctan2(y, x)
    arms = each(generator.integers(2, 5, n))
    wound = random_number(generator, 1.5, 4, n)
    turn = arms * (angle - wound * np.log(radius + 1))
    knots = 0.4 + 1.2 * value_noise(generator, x, y, 2)
    disk = np.exp(-radius / random_number(generator, 5, 9, n))
    arm = disk * (0.5 + 0.5 * np.cos(turn)) ** 2 * knots
    core = np.exp(-((radius / random_number(generator, 1.5, 4, n)) ** 2))
    blue = rgb(0.6, 0.75, 1) * random_colour(generator, 0.8, 1.6, n)
    warm = rgb(1, 0.85, 0.6) * random_colour(generator, 0.8, 1.2, n)
    sparks = ((generator.random((n, SIZE, SIZE), np.float32) - 0.97) * 20).clip(0, 1)
    glow = arm[..., np.newaxis] * blue
    glow = glow + core[..., np.newaxis] * warm
    glow = glow + 0.25 * disk[..., np.newaxis] * warm
    return to_bytes(glow + sparks[..., np.newaxis] + 0.02)


@family("Clouds", citation_key="perlin1985")
def clouds(generator: Generator, n: int) -> np.ndarray:
    """Clouds in a sky by day or in the evening: four octaves of value noise, flatter towards the
    horizon, dark below and bright above, with a random density.
    """
    low = random_number(generator, 0.8, 1.6, n)
    shift = random_number(generator, 0, 99, n)
    x = X * (1.6 + Y / SIZE) + shift
    y = Y * low * (1.6 + Y / SIZE) + shift
    noise = octaves(generator, x, y, 14, 4) / 1.875
    cover = ((noise - random_number(generator, 0.35, 0.55, n)) * 6).clip(0, 1)
    shade = (0.9 - 2.5 * np.gradient(noise, axis=1)).clip(0.5, 1.05)
    evening = random_light(generator, 0, 1, n) ** 3
    high = rgb(0.25, 0.45, 0.85) * random_light(generator, 0.7, 1.1, n)
    day = rgb(0.75, 0.87, 1)
    dusk = rgb(1, 0.55, 0.35)
    horizon = day * (1 - evening) + dusk * evening
    sky = mix(high, horizon, Y / SIZE + 0.5)
    white = 1 - 0.4 * evening * (1 - horizon)
    return to_bytes(mix(sky, white * shade[..., np.newaxis], cover))
