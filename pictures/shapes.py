"""Shapes: a few figures on a ground of one colour, each painted over those before."""

from __future__ import annotations

import numpy as np

from pictures.base import (
    SIZE,
    X,
    Y,
    each,
    family,
    mix,
    segment_distance,
    to_bytes,
    uniform,
)


@family("Bubbles")
def bubbles(generator: np.random.Generator, n: int) -> np.ndarray:
    """Ten balls of different sizes and colours on a ground of one colour, lit from the upper
    left, the later ones before the earlier ones.
    """
    image = np.broadcast_to(uniform(generator, 0, 1, n, 1, 1, 3), (n, SIZE, SIZE, 3))
    for _ in range(10):
        x, y = (each(uniform(generator, -SIZE / 2, SIZE / 2, n)) for _ in range(2))
        radius = each(uniform(generator, 2, 8, n))
        inside = (radius - np.hypot(X - x, Y - y) + 0.5).clip(0, 1)
        light = 1.25 - 0.9 * np.hypot(X - x + radius / 3, Y - y + radius / 3) / radius
        colour = uniform(generator, 0.2, 1, n, 1, 1, 3) * light[..., np.newaxis].clip(0, 1.25)
        image = mix(image, colour, inside)
    return to_bytes(image)


@family("Polygons")
def polygons(generator: np.random.Generator, n: int) -> np.ndarray:
    """Five convex polygons of three to six sides, each of one colour, as is the ground."""
    image = np.broadcast_to(uniform(generator, 0, 1, n, 1, 1, 3), (n, SIZE, SIZE, 3))
    for _ in range(5):
        x, y = (each(uniform(generator, -SIZE / 2, SIZE / 2, n)) for _ in range(2))
        sides, radius = each(generator.integers(3, 7, n)), each(uniform(generator, 3, 9, n))
        first = each(uniform(generator, 0, 2 * np.pi, n))
        depth = np.full((n, SIZE, SIZE), np.inf, np.float32)  # within all half-planes
        for side in range(6):  # a triangle leaves the last three out
            angle = first + 2 * np.pi * (side + each(uniform(generator, -0.2, 0.2, n))) / sides
            edge = radius - np.cos(angle) * (X - x) - np.sin(angle) * (Y - y)
            depth = np.where(side < sides, np.minimum(depth, edge), depth)
        image = mix(image, uniform(generator, 0, 1, n, 1, 1, 3), (depth + 0.5).clip(0, 1))
    return to_bytes(image)


@family("Strokes")
def strokes(generator: np.random.Generator, n: int) -> np.ndarray:
    """Scribbles: a pen that changes its direction a little from step to step draws one line in a
    dark ink on light paper.
    """
    steps, length = 16, 5
    turn = generator.normal(0, 0.8, (n, steps)).cumsum(axis=1) + uniform(generator, 0, 7, n, 1)
    start = uniform(generator, -SIZE / 3, SIZE / 3, 2, n, 1)
    moves = length * np.stack([np.cos(turn), np.sin(turn)]).astype(np.float32)
    points = np.concatenate([start, start + moves.cumsum(axis=2)], axis=2)
    # at the margin the pen turns back as in a mirror
    points = np.abs((points + SIZE / 2) % (2 * SIZE) - SIZE) - SIZE / 2
    distance = np.full((n, SIZE, SIZE), np.inf, np.float32)
    for step in range(steps):
        x0, y0, x1, y1 = (each(points[axis, :, step + end]) for end in (0, 1) for axis in (0, 1))
        distance = np.minimum(distance, segment_distance(X, Y, (x0, y0), (x1, y1)))
    ink = (each(uniform(generator, 0.4, 1.4, n)) - distance + 0.5).clip(0, 1)
    paper, colour = uniform(generator, 0.75, 1, n, 1, 1, 3), uniform(generator, 0, 0.45, n, 1, 1, 3)
    return to_bytes(mix(paper, colour, ink))
