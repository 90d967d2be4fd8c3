"""Iterations: a short rule, applied again and again."""

from __future__ import annotations

import numpy as np

from pictures.base import (
    SIZE,
    each,
    family,
    mix,
    random_turn,
    to_bytes,
    two_colours,
    uniform,
)

# rules that neither die out nor freeze, by Wolfram's numbers
_RULES = np.array([18, 22, 26, 30, 45, 54, 60, 73, 82, 90, 105, 106, 110, 126, 146, 150])


@family("Julia sets", citation_key="mandelbrot1982")
def julia(generator: np.random.Generator, n: int) -> np.ndarray:
    """The plane coloured by how soon z² + c grows beyond all bounds, for points c just outside the
    Mandelbrot set's largest bay, at a random turn and magnification.
    """
    angle = uniform(generator, 0, 2 * np.pi, n)
    edge = np.exp(1j * angle) / 2 - np.exp(2j * angle) / 4  # the main cardioid
    c = each((edge * uniform(generator, 1.02, 1.12, n)).astype(np.complex64))
    x, y = random_turn(generator, n)
    scale = each(uniform(generator, 0.5, 1.5, n)) / (SIZE / 2)
    z = ((x + 1j * y) * scale).astype(np.complex64)
    steps = np.zeros(z.shape, np.float32)
    for _ in range(24):
        z = z * z + c
        size = z.real**2 + z.imag**2
        steps += size < 16
        z[size > 1e6] = 1e3  # far outside already; kept from overflow
    phase, rate = uniform(generator, 0, 1, n, 1, 1, 3), uniform(generator, 0.5, 2, n, 1, 1, 1)
    return to_bytes(0.5 + 0.5 * np.cos(2 * np.pi * (rate * steps[..., np.newaxis] / 12 + phase)))


@family("Cellular automata", citation_key="wolfram1983")
def automata(generator: np.random.Generator, n: int) -> np.ndarray:
    """The histories of elementary cellular automata, a row a step, from a random first row or a
    single cell, in two colours.
    """
    table = _RULES[generator.integers(0, len(_RULES), n)][:, np.newaxis] >> np.arange(8) & 1
    row = generator.integers(0, 2, (n, SIZE))
    single = generator.random((n, 1)) < 0.3
    row = np.where(single, np.arange(SIZE) == generator.integers(0, SIZE, (n, 1)), row)
    history = []
    for _ in range(SIZE):
        history.append(row)
        around = 4 * np.roll(row, 1, axis=1) + 2 * row + np.roll(row, -1, axis=1)
        row = np.take_along_axis(table, around, axis=1)
    return to_bytes(mix(*two_colours(generator, n), np.stack(history, axis=1)))
