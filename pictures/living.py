"""Living things: plants and animals of a few curves, and what is seen of them under a lens."""

from __future__ import annotations

import numpy as np

from pictures.base import (
    SIZE,
    X,
    Y,
    disc,
    each,
    family,
    mix,
    random_turn,
    rotate,
    segment_distance,
    to_bytes,
    uniform,
    value_noise,
)


def _meadow(generator: np.random.Generator, n: int) -> np.ndarray:
    """Draw grounds that are out of focus: soft patches of two greens, browns or blues."""
    tones = np.array([[0.35, 0.5, 0.2], [0.45, 0.38, 0.25], [0.55, 0.7, 0.85]], np.float32)
    tone = tones[generator.integers(0, 3, n)][:, np.newaxis, np.newaxis]
    x, y = random_turn(generator, n)
    patches = value_noise(generator, x, y, 9)
    first, second = (tone * uniform(generator, low, low + 0.5, n, 1, 1, 3) for low in (0.4, 0.9))
    return mix(first, second, patches)


@family("Leaves")
def leaves(generator: np.random.Generator, n: int) -> np.ndarray:
    """A leaf in a green, yellow or red of its own, with a midrib and side veins, entire or with
    teeth, before a ground that is out of focus.
    """
    x, y = random_turn(generator, n)
    half, width = each(uniform(generator, 11, 16, n)), each(uniform(generator, 4, 9, n))
    x = x + each(uniform(generator, -0.03, 0.03, n)) * y * y  # a bend
    along = (y / half).clip(-1, 1)
    teeth = 1 + each(uniform(generator, 0, 0.15, n)) * np.sin(4 * y)
    edge = width * (1 - along**2) * (1 + 0.5 * along) * teeth - np.abs(x)
    spacing = each(uniform(generator, 2.5, 4.5, n))
    side = np.abs((y + 0.8 * np.abs(x)) % spacing - spacing / 2)
    veins = np.maximum((1 - np.abs(x)).clip(0, 1), 0.6 * (1 - 1.5 * side).clip(0, 1))
    colour = uniform(generator, 0, 1, n, 1, 1, 3) * [0.7, 0.4, 0.15] + [0.2, 0.3, 0.02]
    light = 1 + 0.25 * np.sign(x) * each(uniform(generator, -1, 1, n)) + 0.5 * veins
    blade = colour.astype(np.float32) * light[..., np.newaxis]
    return to_bytes(mix(_meadow(generator, n), blade, (edge + 0.5).clip(0, 1)))


@family("Flowers")
def flowers(generator: np.random.Generator, n: int) -> np.ndarray:
    """A flower from above with four to thirteen petals, pointed or round, in one or two rows
    around a yellow or brown heart, before a ground that is out of focus.
    """
    image, (x, y) = _meadow(generator, n), random_turn(generator, n)
    x, y = (z - each(uniform(generator, -4, 4, n)) for z in (x, y))
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    petals = each(generator.integers(4, 14, n))
    size, form = each(uniform(generator, 9, 15, n)), each(uniform(generator, 0.2, 1.2, n))
    colour = uniform(generator, 0.3, 1, n, 1, 1, 3) * uniform(generator, 0, 1, n, 1, 1, 3) ** 0.3
    for row in range(2):  # the second, smaller and paler, lies between the first
        turn = np.abs(np.cos(petals * angle / 2 + row * np.pi / 2)) + 1e-3
        reach = size * (1 - 0.35 * row) * (0.3 + 0.7 * turn**form)
        shade = 0.6 + 0.4 * radius / size + 0.2 * turn
        petal = (colour + 0.15 * row) * shade[..., np.newaxis]
        image = mix(image, petal, (reach - radius + 0.5).clip(0, 1))
    heart = np.array([0.85, 0.65, 0.1], np.float32) * uniform(generator, 0.3, 1.1, n, 1, 1, 1)
    grain = 0.7 + 0.6 * generator.random((n, SIZE, SIZE, 1), np.float32)
    return to_bytes(
        mix(image, heart * grain, disc(x, y, size * each(uniform(generator, 0.15, 0.4, n))))
    )


@family("Butterflies")
def butterflies(generator: np.random.Generator, n: int) -> np.ndarray:
    """A butterfly with spread wings: two pairs of one form, patterned in two colours with dark
    rims and an eye on each, the left wing the mirror of the right.
    """
    image, (x, y) = _meadow(generator, n), random_turn(generator, n)
    x = np.abs(x)
    first = uniform(generator, 0.2, 1, n, 1, 1, 3) * [1, 0.8, 0.6]
    second = uniform(generator, 0, 1, n, 1, 1, 3)
    pattern = 0.5 + 0.5 * np.sin(each(uniform(generator, 0.3, 0.9, n)) * np.hypot(x, y + 4))
    wing = mix(first, second, pattern * each(uniform(generator, 0.2, 1, n)))
    for low in (True, False):
        length, width = each(uniform(generator, 6, 8, n)), each(uniform(generator, 3.5, 5.5, n))
        tilt = each(uniform(generator, 0.3, 0.8, n)) * (1 if low else -1)
        along = np.cos(tilt) * x + np.sin(tilt) * y - length
        across = np.cos(tilt) * y - np.sin(tilt) * x
        depth = (
            1 - np.hypot(along / length, across / (width * (0.7 + 0.4 * along / length)))
        ) * width
        rim = (depth - each(uniform(generator, 0.5, 1.5, n))).clip(0, 1)
        eye = disc(along - length / 3, across, 1.5)
        dark = mix(wing, np.float32(0.08), np.maximum(1 - rim, 0.9 * eye))
        image = mix(image, dark, (depth + 0.5).clip(0, 1))
    body = (1.2 - segment_distance(x, y, (0, -5), (0, 5))).clip(0, 1)
    feeler = (0.9 - segment_distance(x, y, (0, -5), (3, -10))).clip(0, 0.8)
    return to_bytes(mix(image, np.float32(0.1), np.maximum(body, feeler)))


@family("Fish")
def fish(generator: np.random.Generator, n: int) -> np.ndarray:
    """Two to four fish of one kind, with a tail, an eye and stripes or a dark back, swimming in
    water that gets darker with depth.
    """
    colour = uniform(generator, 0.3, 1, n, 1, 1, 3)
    stripe, other = each(uniform(generator, 0.8, 2.5, n)), uniform(generator, 0, 1, n, 1, 1, 3)
    slim, count = each(uniform(generator, 0.35, 0.7, n)), each(generator.integers(2, 5, n))
    water = uniform(generator, 0.2, 0.7, n, 1, 1, 3) * [0.4, 1, 1.3]
    wave = value_noise(generator, np.broadcast_to(X / 3, (n, SIZE, SIZE)), Y + 0 * count, 3)
    image = water * (1 - 0.4 * Y / SIZE + 0.25 * wave)[..., np.newaxis]
    for k in range(4):
        size = each(uniform(generator, 4, 8, n))
        facing = each(generator.choice([-1, 1], n))
        x = (X - each(uniform(generator, -10, 10, n))) * facing / size
        y = (Y - each(uniform(generator, -12, 12, n))) / size
        body = slim * (1 - (x - 0.1) ** 2) - np.abs(y)
        tail = np.minimum(0.7 * (-0.5 - x), x + 1.5) - np.abs(y)
        inside = (np.maximum(body, tail) * size + 0.5).clip(0, 1) * (k < count)
        shade = 1.1 - 0.6 * (y < -slim / 3) - 0.3 * y
        skin = mix(colour, other, 0.8 * (np.sin(2 * np.pi * stripe * x) > 0.3))
        skin = skin * shade[..., np.newaxis].clip(0.4, 1.4)
        eye = disc((x - 0.65) * size, (y + 0.1) * size, 0.7)
        image = mix(image, mix(skin, np.float32(0.05), eye), inside)
    return to_bytes(image)


@family("Cells under a microscope")
def cells(generator: np.random.Generator, n: int) -> np.ndarray:
    """A stained smear: a dozen cells, round to oval, with a bright margin and most with a dark
    nucleus, in two shades of the stain on a pale, uneven ground.
    """
    x, y = random_turn(generator, n)
    stain = uniform(generator, 0.35, 0.9, n, 1, 1, 3)
    ground = 1 - 0.3 * (1 - stain) - 0.08 * value_noise(generator, x, y, 10)[..., np.newaxis]
    image, grain = ground, value_noise(generator, x, y, 1.5)
    typical = each(uniform(generator, 2.5, 5, n))
    for _ in range(12):
        place, turn = uniform(generator, -18, 18, 2, n), each(uniform(generator, 0, 3.2, n))
        u, v = X - each(place[0]), Y - each(place[1])
        u, v = rotate(u, v, turn)
        oval, radius = (
            each(uniform(generator, 0.65, 1, n)),
            typical * each(uniform(generator, 0.7, 1.3, n)),
        )
        nucleus = disc(u + radius / 5, v / oval, radius * each(uniform(generator, 0, 0.55, n)))
        depth = (0.35 + 0.3 * grain) * disc(u, v / oval, radius) + 0.45 * nucleus
        edge = 0.5 * disc(u, v / oval, radius + 0.7) * (1 - disc(u, v / oval, radius))
        image = mix(image, stain * 0.7, depth)
        image = mix(image, np.float32(1), edge)
    return to_bytes(image)


@family("Fingerprints")
def fingerprints(generator: np.random.Generator, n: int) -> np.ndarray:
    """Prints of a fingertip: ridges as whorls, loops or arches, broken here and there, in ink on
    paper or as powder on a dark ground, weaker towards the rim.
    """
    x, y = (z - each(uniform(generator, -3, 3, n)) for z in random_turn(generator, n))
    whorl = np.hypot(x, 0.8 * y)
    loop = np.hypot(x, np.minimum(y, 0)) + 0.25 * np.abs(y)
    arch = y + 6 * np.exp(-((x / 6) ** 2))
    flow = np.choose(each(generator.integers(0, 3, n)), [whorl, loop, arch])
    flow = flow + 2.5 * value_noise(generator, x, y, 8)
    ridge = 0.5 + 0.5 * np.sin(2 * np.pi * flow / each(uniform(generator, 2.6, 4, n)))
    broken = (3 * value_noise(generator, x, y, 2) - 0.3).clip(0, 1)
    pressed = (1.3 - np.hypot(x / 12, y / 15) ** 2).clip(0, 1)
    paper, dark = uniform(generator, 0.8, 1, n, 1, 1, 3), uniform(generator, 0, 0.35, n, 1, 1, 3)
    powder = each(generator.random(n) < 0.3)[..., np.newaxis]
    ground, colour = np.where(powder, dark, paper), np.where(powder, paper, dark)
    return to_bytes(mix(ground, colour, ridge**1.5 * broken * pressed))


@family("Trees", citation_key="mandelbrot1982")
def trees(generator: np.random.Generator, n: int) -> np.ndarray:
    """Bare trees that fork again and again by the same two angles and lengths, which differ from
    tree to tree, before an evening sky.
    """
    sky = mix(
        uniform(generator, 0.3, 0.8, n, 1, 1, 3) * [0.7, 0.8, 1.2],
        uniform(generator, 0.6, 1, n, 1, 1, 3) * [1.1, 0.9, 0.7],
        np.broadcast_to(Y / SIZE + 0.5, (n, SIZE, SIZE)),
    )
    bend = uniform(generator, 0.2, 0.7, n, 2) * [-1, 1]
    shrink = uniform(generator, 0.65, 0.85, n, 2)
    x, y = uniform(generator, -5, 5, n, 1), np.full((n, 1), SIZE / 2, np.float32)
    direction, length = uniform(generator, -0.15, 0.15, n, 1), uniform(generator, 7, 11, n, 1)
    nearest = np.full((n, SIZE, SIZE), np.inf, np.float32)
    for level in range(5):
        end = x + length * np.sin(direction), y - length * np.cos(direction)
        thick = 1.6 * 0.62**level
        for k in range(x.shape[1]):
            tips = [tuple(each(z[:, k]).astype(np.float32) for z in tip) for tip in ((x, y), end)]
            nearest = np.minimum(nearest, segment_distance(X, Y, *tips) - thick)
        x, y = (np.repeat(z, 2, axis=1) for z in end)
        direction = np.repeat(direction, 2, axis=1) + np.tile(bend, 2**level)
        length = np.repeat(length, 2, axis=1) * np.tile(shrink, 2**level)
    bark = uniform(generator, 0, 0.3, n, 1, 1, 3)
    return to_bytes(mix(sky, bark, (0.5 - nearest).clip(0, 1)))
