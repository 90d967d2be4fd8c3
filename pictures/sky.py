"""The sky: planets, galaxies, clouds and lightning."""

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
    segment_distance,
    to_bytes,
    uniform,
    value_noise,
)


@family("Planets")
def planets(generator: np.random.Generator, n: int) -> np.ndarray:
    """A planet or moon in the light of its sun: a ball with bands or continents, a dark side, some
    with a ring, before a black sky with a few stars.
    """
    x, y = (z - each(uniform(generator, -4, 4, n)) for z in random_turn(generator, n))
    radius = each(uniform(generator, 6, 12, n))
    depth = np.sqrt((1 - (x**2 + y**2) / radius**2).clip(0, 1))  # towards the eye, 0 at the rim
    curve = 1 + depth  # the surface turns away at the rim
    bands = value_noise(generator, x / curve / 6, y, 2.5)
    lands = (4 * value_noise(generator, 2 * x / curve, 2 * y / curve, 4) - 1.6).clip(0, 1)
    surface = np.where(each(generator.random(n) < 0.5), bands, lands)
    first, second = uniform(generator, 0.2, 0.9, 2, n, 1, 1, 3)
    angle = each(uniform(generator, 0, 2 * np.pi, n))
    light = (np.cos(angle) * x + np.sin(angle) * y) / radius * 0.8 + 0.6 * depth
    ball = mix(first, second, surface) * (1.1 * light.clip(0.03, 1))[..., np.newaxis]
    sparks = generator.random((n, SIZE, SIZE, 1), np.float32)
    sky = 0.03 + ((sparks - 0.985) * 60).clip(0, 0.9)
    image = mix(sky, ball, disc(x, y, radius))
    ring = np.hypot(x, 3.5 * y) / radius
    ringed = each(generator.random(n) < 0.4) & ((y > 0) | (depth == 0))  # half is behind the ball
    dust = ringed * (ring > 1.25) * (ring < 2) * (0.6 + 0.3 * np.sin(14 * ring))
    return to_bytes(mix(image, 0.3 + 0.7 * second, dust))


@family("Galaxies")
def galaxies(generator: np.random.Generator, n: int) -> np.ndarray:
    """Spiral galaxies seen from any side: a warm core, two to four bluish arms wound more or less
    tightly, with knots of young stars.
    """
    x, y = random_turn(generator, n)
    y = y / each(uniform(generator, 0.3, 1, n))  # tilted against the line of sight
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    arms, wound = each(generator.integers(2, 5, n)), each(uniform(generator, 1.5, 4, n))
    turn = arms * (angle - wound * np.log(radius + 1))
    knots = 0.4 + 1.2 * value_noise(generator, x, y, 2)
    disk = np.exp(-radius / each(uniform(generator, 5, 9, n)))
    arm = disk * (0.5 + 0.5 * np.cos(turn)) ** 2 * knots
    core = np.exp(-((radius / each(uniform(generator, 1.5, 4, n))) ** 2))
    blue = np.array([0.6, 0.75, 1], np.float32) * uniform(generator, 0.8, 1.6, n, 1, 1, 3)
    warm = np.array([1, 0.85, 0.6], np.float32) * uniform(generator, 0.8, 1.2, n, 1, 1, 3)
    sparks = ((generator.random((n, SIZE, SIZE), np.float32) - 0.97) * 20).clip(0, 1)
    glow = sum(
        amount[..., np.newaxis] * colour
        for amount, colour in ((arm, blue), (core, warm), (0.25 * disk, warm), (sparks, 1))
    )
    return to_bytes(glow + 0.02)


@family("Clouds", citation_key="perlin1985")
def clouds(generator: np.random.Generator, n: int) -> np.ndarray:
    """Clouds in a sky by day or in the evening: four octaves of value noise, flatter towards the
    horizon, dark below and bright above, more or less closed.
    """
    low = each(uniform(generator, 0.8, 1.6, n))
    shift = each(uniform(generator, 0, 99, n))
    x, y = X * (1.6 + Y / SIZE) + shift, Y * low * (1.6 + Y / SIZE) + shift
    noise = sum(0.5**k * value_noise(generator, x, y, 14 / 2**k) for k in range(4)) / 1.875
    cover = ((noise - each(uniform(generator, 0.35, 0.55, n))) * 6).clip(0, 1)
    shade = (0.9 - 2.5 * np.gradient(noise, axis=1)).clip(0.5, 1.05)
    evening = uniform(generator, 0, 1, n, 1, 1, 1) ** 3
    high = np.array([0.25, 0.45, 0.85], np.float32) * uniform(generator, 0.7, 1.1, n, 1, 1, 1)
    horizon = np.float32([0.75, 0.87, 1]) * (1 - evening) + np.float32([1, 0.55, 0.35]) * evening
    sky = mix(high, horizon, np.broadcast_to(Y / SIZE + 0.5, cover.shape))
    white = 1 - 0.4 * evening * (1 - horizon)
    return to_bytes(mix(sky, white * shade[..., np.newaxis], cover))


@family("Lightning")
def lightning(generator: np.random.Generator, n: int) -> np.ndarray:
    """Lightning at night: a bright, jagged path from the clouds to the ground with two branches,
    and its glow in violet or blue on the clouds.
    """
    steps = 9
    y = np.linspace(-SIZE / 2 - 1, SIZE / 2 - 3, steps + 1, dtype=np.float32)
    jumps = generator.normal(0, 2.6, (3, n, steps + 1)).astype(np.float32)
    jumps[1:] += generator.choice(np.float32([-2, 2]), (2, n, 1))  # the branches lead away
    jumps[0, :, :1] = uniform(generator, -9, 9, n, 1)
    x = jumps[0].cumsum(axis=1)
    distance = np.full((n, SIZE, SIZE), np.inf, np.float32)
    for path, (first, last) in enumerate(((0, steps), (2, 5), (5, 8))):
        place = x[:, first]
        for k in range(first, last):
            after = x[:, k + 1] if path == 0 else place + jumps[path, :, k]
            ends = (each(place), y[k]), (each(after), y[k + 1])
            thinner = 0.35 * (path > 0)
            distance = np.minimum(distance, segment_distance(X, Y, *ends) + thinner)
            place = after
    x, y = random_turn(generator, n)
    mist = 0.5 * value_noise(generator, x, y, 10) + 0.5 * value_noise(generator, x, y, 4)
    tint = np.array([0.55, 0.45, 0.9], np.float32) * uniform(generator, 0.7, 1.3, n, 1, 1, 3)
    reach = each(uniform(generator, 4, 12, n))
    glow = (0.15 + 0.9 * np.exp(-distance / reach)) * (0.25 + 0.75 * mist)
    land = (Y > 12 + 2 * mist)[..., np.newaxis]
    sky = np.where(land, np.float32(0.03), glow[..., np.newaxis] * tint)
    bolt = (each(uniform(generator, 0.7, 1.2, n)) - distance + 0.3).clip(0, 1)
    return to_bytes(mix(sky, np.float32(1), bolt * (Y < 14)))
