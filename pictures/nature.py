"""Nature from afar: what noise and a few colours make of hills, wood and the night sky."""

from __future__ import annotations

import numpy as np

from pictures.base import (
    SIZE,
    X,
    Y,
    each,
    family,
    mix,
    random_turn,
    to_bytes,
    uniform,
    value_noise,
)

# deep water, shallow water, beach, meadow, wood, rock, snow
_LAND = np.array(
    [[20, 40, 110], [50, 110, 170], [215, 200, 140], [100, 160, 60], [40, 95, 40],
     [120, 110, 100], [245, 245, 250]], np.float32,
) / 255  # fmt: skip


@family("Terrain", citation_key="perlin1985")
def terrain(generator: np.random.Generator, n: int) -> np.ndarray:
    """Relief maps: three octaves of value noise, coloured by height from deep water to snow and
    lit from one side.
    """
    x, y = np.broadcast_to(X, (n, SIZE, SIZE)), np.broadcast_to(Y, (n, SIZE, SIZE))
    height = sum(0.5**k * value_noise(generator, x, y, 12 / 2**k) for k in range(3)) / 1.75
    level = (height - each(uniform(generator, 0.2, 0.5, n))) * 12 + 2  # of the shore, 2
    colour = _LAND[level.clip(0, len(_LAND) - 1).astype(int)]
    slope = np.gradient(height, axis=1) + np.gradient(height, axis=2)
    shade = np.where(level < 2, 1, (1 + 6 * slope).clip(0.5, 1.5))  # water is flat
    tint = uniform(generator, 0.8, 1.2, n, 1, 1, 3)
    return to_bytes(colour * shade[..., np.newaxis] * tint)


@family("Wood grain", citation_key="perlin1985")
def woodgrain(generator: np.random.Generator, n: int) -> np.ndarray:
    """Sawn boards: rings around an axis outside or at the edge of the image, bent by value noise,
    between two browns.
    """
    along, across = random_turn(generator, n)
    bend = value_noise(generator, along / 3, across, 7)  # the grain runs along
    distance = np.hypot(along / 5, across - each(uniform(generator, 0, 40, n)))
    ring = (distance / each(uniform(generator, 3, 7, n)) + 2 * bend) % 1
    fibre = value_noise(generator, along / 8, across, 1)
    brown = np.array([0.82, 0.58, 0.33], np.float32) * uniform(generator, 0.7, 1.2, n, 1, 1, 1)
    light = brown * uniform(generator, 0.85, 1.15, n, 1, 1, 3)
    dark = light * uniform(generator, 0.35, 0.65, n, 1, 1, 1)
    return to_bytes(mix(light, dark, 0.75 * ring**3 + 0.25 * fibre))


@family("Stars")
def stars(generator: np.random.Generator, n: int) -> np.ndarray:
    """Night skies: up to sixty points of light, most of them weak, some with a colour, over a dark
    sky with a veil of mist.
    """
    count = 60
    place = uniform(generator, -SIZE / 2, SIZE / 2, 2, n, count, 1)
    width = uniform(generator, 0.4, 0.8, n, count, 1)
    column, row = (np.exp(-(((X[0] - p) / width) ** 2)) for p in place)  # a blob is separable
    light = uniform(generator, 0, 1, n, count, 1) ** 6 * 1.5 + 0.05
    light *= uniform(generator, 0, 1, n, count, 1) < uniform(generator, 0.2, 1, n, 1, 1)
    colour = light * uniform(generator, 0.6, 1, n, count, 3)
    blobs = column[..., np.newaxis] * colour[:, :, np.newaxis]
    points = row.swapaxes(1, 2) @ blobs.reshape(n, count, -1)
    x, y = random_turn(generator, n)
    mist = value_noise(generator, x, y, 14) * value_noise(generator, x, y, 6)
    veil = mist[..., np.newaxis] * uniform(generator, 0, 0.5, n, 1, 1, 3)
    return to_bytes(points.reshape(n, SIZE, SIZE, 3) + 0.02 + veil)
