"""Games: boards, dice and cards, before a backdrop."""

from __future__ import annotations

import numpy as np

from pictures.base import (
    backdrop,
    box,
    disc,
    each,
    family,
    mix,
    random_place,
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
