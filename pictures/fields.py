"""Fields: waves, light and growth all over the image."""

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
    random_colour,
    random_number,
    random_turn,
    rgb,
    to_bytes,
    two_colours,
    uniform,
    value_noise,
)


@family("Ripples")
def ripples(generator: Generator, n: int) -> np.ndarray:
    """Rings that spread on water from one to four drops and cross each other, lit from one side,
    weaker the farther they have come.
    """
    height: np.ndarray = np.zeros((n, SIZE, SIZE), np.float32)
    length = random_number(generator, 3, 7, n)
    count = each(generator.integers(1, 5, n))
    for k in range(4):
        x, y = moved(generator, X, Y, 18, n)
        distance = np.hypot(x, y)
        fade = np.exp(-distance / random_number(generator, 8, 20, n)) * (k < count)
        height += fade * np.sin(2 * np.pi * distance / length)
    light = 0.35 * (np.gradient(height, axis=1) + np.gradient(height, axis=2)) * length / 4
    water = random_colour(generator, 0.1, 0.8, n) * [0.6, 1, 1.2]
    image = mix(water, np.float32(1), light.clip(0, 1))  # a glint towards the light
    return to_bytes(image * (1 + 1.5 * light.clip(-0.6, 0))[..., np.newaxis])


@family("Moiré patterns")
def moire(generator: Generator, n: int) -> np.ndarray:
    """Two fine gratings of rings or lines, laid over each other with a small difference of place
    and scale, so that coarse bands show.
    """
    rings = each(generator.random(n) < 0.5)
    frequency = random_number(generator, 1.8, 2.6, n)
    shown = np.ones((n, SIZE, SIZE), np.float32)
    x, y = random_turn(generator, n)
    for _ in range(2):
        x = x + random_number(generator, -5, 5, n) + random_number(generator, -0.4, 0.4, n) * y
        frequency = frequency * random_number(generator, 0.88, 1.12, n)
        shown *= 0.5 + 0.5 * np.sin(frequency * np.where(rings, np.hypot(x, y), x))
    return to_bytes(mix(*two_colours(generator, n), (1.3 * shown).clip(0, 1)))


@family("Halftones")
def halftones(generator: Generator, n: int) -> np.ndarray:
    """Soft shades printed as a newspaper prints them: dots in a slanted grid, larger where it is
    darker, one grid for each of three inks.
    """
    cell = random_number(generator, 3, 5.5, n)
    paper = random_colour(generator, 0.85, 1, n)
    image = paper
    flat = np.zeros((n, 1, 1), np.float32)
    grey = value_noise(generator, X + flat, Y, 12)
    for missing in range(3):  # cyan takes the red away, magenta the green, yellow the blue
        texture = value_noise(generator, X + flat, Y, 16)
        shade = (0.6 * grey + 0.4 * texture) * random_number(generator, 0.3, 1, n)
        x, y = random_turn(generator, n)
        wave = np.cos(2 * np.pi * x / cell) + np.cos(2 * np.pi * y / cell)
        dots = covered((wave / 4 + 1.2 * shade - 0.5) * cell * 1.5)
        image = image * (1 - 0.8 * dots[..., np.newaxis] * (np.arange(3) == missing))
    return to_bytes(image)


@family("Fire", citation_key="perlin1985")
def fire(generator: Generator, n: int) -> np.ndarray:
    """Flames over a fire-place of any width: noise that is drawn upwards and licks, from white
    through yellow and red to the dark, or in the blue and green of burning salts.
    """
    x = X + random_number(generator, -5, 5, n)
    rise = 0.5 - Y / SIZE  # 0 below, 1 above
    shift = random_number(generator, 0, 99, n)
    sway = 6 * rise * (value_noise(generator, shift, Y + shift, 9) - 0.5)
    flames = 0.65 * value_noise(generator, x + sway, Y / 2 + shift, 5)
    flames += 0.35 * value_noise(generator, x + sway, Y / 2 + shift, 2.5)
    width = random_number(generator, 7, 16, n)
    tall = random_number(generator, 0.8, 1.5, n)
    heat = 2.2 * flames + 0.7 - 1.8 * rise / tall - ((x + sway) / width) ** 2
    heat = heat.clip(0, 1.8)[..., np.newaxis]
    colour = heat - rgb(0, 0.5, 1.1)
    salts = each(generator.random(n) < 0.2)[..., np.newaxis]
    return to_bytes(np.where(salts, colour[..., ::-1] * [1, 1, 0.8], colour))


@family("Crystals")
def crystals(generator: Generator, n: int) -> np.ndarray:
    """A cut stone in one tint from above: straight facets whose brightness depends on their
    slope towards the lamp, with a shine on some, on a dark cloth.
    """
    facets = 18
    (x, y) = random_turn(generator, n)
    angle = 2 * np.pi * (np.arange(facets) + uniform(generator, 0, 1, n, facets)) / facets
    steep = uniform(generator, 0.15, 1, n, facets)
    steep[:, 0] = 0  # the table, the facet on top
    normal = np.stack([np.cos(angle), np.sin(angle)]) * steep
    level = steep * uniform(generator, 9, 15, n, 1) * uniform(generator, 0.85, 1.15, n, facets)
    level[:, 0] = uniform(generator, 1.5, 4, n)
    tilt = normal[..., np.newaxis, np.newaxis]
    # the stone is the region below the planes of all facets
    height = (
        level[:, :, np.newaxis, np.newaxis]
        - tilt[0] * x[:, np.newaxis]
        - tilt[1] * y[:, np.newaxis]
    )
    which = each(np.arange(n))
    nearest = height.argmin(axis=1)
    lamp = random_number(generator, 0, 2 * np.pi, n)[..., 0]
    bright = 0.55 + 0.4 * (np.cos(lamp) * normal[0] + np.sin(lamp) * normal[1])
    bright += uniform(generator, -0.15, 0.25, n, facets)  # what is seen through the stone
    light = bright[which, nearest] + 0.01 * (x + y)
    stone = random_colour(generator, 0.3, 1.4, n) * light[..., np.newaxis]
    stone = mix(stone, np.float32(1), (light - 0.75).clip(0, 1))
    fade = 1 - 0.4 * np.hypot(x, y) / SIZE
    cloth = random_colour(generator, 0.02, 0.3, n) * fade[..., np.newaxis]
    return to_bytes(mix(cloth, stone, covered(3 * height.min(axis=1))))
