"""Fields: waves, light, growth and measured values all over the image."""

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
    two_colours,
    uniform,
    value_noise,
)

_PLACE = np.arange(SIZE)


@family("Ripples")
def ripples(generator: np.random.Generator, n: int) -> np.ndarray:
    """Rings that spread on water from one to four drops and cross each other, lit from one side,
    weaker the farther they have come.
    """
    height = np.zeros((n, SIZE, SIZE), np.float32)
    length, count = each(uniform(generator, 3, 7, n)), each(generator.integers(1, 5, n))
    for k in range(4):
        x, y = (z - each(uniform(generator, -18, 18, n)) for z in (X, Y))
        distance = np.hypot(x, y)
        fade = np.exp(-distance / each(uniform(generator, 8, 20, n))) * (k < count)
        height += fade * np.sin(2 * np.pi * distance / length)
    light = 0.35 * (np.gradient(height, axis=1) + np.gradient(height, axis=2)) * length / 4
    water = uniform(generator, 0.1, 0.8, n, 1, 1, 3) * [0.6, 1, 1.2]
    image = mix(water, np.float32(1), light.clip(0, 1))  # a glint towards the light
    return to_bytes(image * (1 + 1.5 * light.clip(-0.6, 0))[..., np.newaxis])


@family("Caustics")
def caustics(generator: np.random.Generator, n: int) -> np.ndarray:
    """The net of light that small waves throw on the tiles or the sand of a pool's floor."""
    x, y = random_turn(generator, n)
    spacing = each(uniform(generator, 7, 13, n))
    u, v = (9 * value_noise(generator, x, y, 8) for _ in range(2))
    net = np.zeros((n, SIZE, SIZE), np.float32)
    for turn in (0, 2.1, 4.2):
        wave = np.sin((np.cos(turn) * (x + u) + np.sin(turn) * (y + v)) * np.pi / spacing)
        net += 0.2 / (np.abs(wave) + 0.2)
    tiles = np.maximum(np.abs((x / 9) % 1 - 0.5), np.abs((y / 9) % 1 - 0.5)) > 0.45
    grain = 0.9 + 0.1 * generator.random((n, SIZE, SIZE), np.float32)
    tiled = each(generator.random(n) < 0.5)
    floor = np.where(tiled, 1 - 0.3 * tiles, grain)[..., np.newaxis]
    colour = np.array([0.25, 0.6, 0.75], np.float32) * uniform(generator, 0.6, 1.1, n, 1, 1, 3)
    return to_bytes(colour * floor * (0.3 + 0.7 * net)[..., np.newaxis])


@family("Moiré patterns")
def moire(generator: np.random.Generator, n: int) -> np.ndarray:
    """Two fine gratings of rings or lines, laid over each other with a small difference of place
    and scale, so that coarse bands show.
    """
    rings = each(generator.random(n) < 0.5)
    frequency = each(uniform(generator, 1.8, 2.6, n))
    shown = np.ones((n, SIZE, SIZE), np.float32)
    x, y = random_turn(generator, n)
    for _ in range(2):
        x = x + each(uniform(generator, -5, 5, n)) + each(uniform(generator, -0.4, 0.4, n)) * y
        frequency = frequency * each(uniform(generator, 0.88, 1.12, n))
        shown *= 0.5 + 0.5 * np.sin(frequency * np.where(rings, np.hypot(x, y), x))
    return to_bytes(mix(*two_colours(generator, n), (1.3 * shown).clip(0, 1)))


@family("Halftones")
def halftones(generator: np.random.Generator, n: int) -> np.ndarray:
    """Soft shades printed as a newspaper prints them: dots in a slanted grid, larger where it is
    darker, one grid for each of three inks.
    """
    cell = each(uniform(generator, 3, 5.5, n))
    paper = uniform(generator, 0.85, 1, n, 1, 1, 3)
    image, flat = paper, np.zeros((n, 1, 1), np.float32)
    grey = value_noise(generator, X + flat, Y + flat, 12)
    for missing in range(3):  # cyan takes the red away, magenta the green, yellow the blue
        own = value_noise(generator, X + flat, Y + flat, 16)
        shade = (0.6 * grey + 0.4 * own) * each(uniform(generator, 0.3, 1, n))
        x, y = random_turn(generator, n)
        wave = np.cos(2 * np.pi * x / cell) + np.cos(2 * np.pi * y / cell)
        dots = ((wave / 4 + 1.2 * shade - 0.5) * cell * 1.5 + 0.5).clip(0, 1)
        image = image * (1 - 0.8 * dots[..., np.newaxis] * (np.arange(3) == missing))
    return to_bytes(image)


@family("Reaction and diffusion")
def reaction_diffusion(generator: np.random.Generator, n: int) -> np.ndarray:
    """Spots, stripes and labyrinths as on the skins of animals, grown from noise by near
    attraction and far repulsion, in two colours, flat or lit as if they stood out.
    """
    frequency = np.hypot(np.fft.fftfreq(SIZE)[:, np.newaxis], np.fft.rfftfreq(SIZE))
    best = each(uniform(generator, 0.08, 0.17, n))
    gain = np.exp(-(((frequency / best) ** 2 - 1) ** 2) * 4).astype(np.float32)
    excess = each(uniform(generator, -0.6, 0.6, n))  # of one colour: spots rather than stripes
    state = generator.standard_normal((n, SIZE, SIZE), np.float32)
    for _ in range(8):
        state = np.fft.irfft2(np.fft.rfft2(state) * gain).astype(np.float32)
        state /= state.std(axis=(1, 2), keepdims=True)
        state = np.tanh(1.5 * (state + excess))
    soft = each(uniform(generator, 0.5, 3, n))
    image = mix(*two_colours(generator, n), 0.5 + 0.5 * np.tanh(soft * state))
    slope = np.gradient(state, axis=1) + np.gradient(state, axis=2)
    light = 1 + each(uniform(generator, 0, 0.5, n)) * slope
    return to_bytes(image * light[..., np.newaxis])


@family("Fire", citation_key="perlin1985")
def fire(generator: np.random.Generator, n: int) -> np.ndarray:
    """Flames over a fire-place of any width: noise that is drawn upwards and licks, from white
    through yellow and red to the dark, or in the blue and green of burning salts.
    """
    x = np.broadcast_to(X, (n, SIZE, SIZE)) + each(uniform(generator, -5, 5, n))
    rise = 0.5 - Y / SIZE  # 0 below, 1 above
    shift = each(uniform(generator, 0, 99, n))
    sway = 6 * rise * (value_noise(generator, x * 0 + shift, Y + shift, 9) - 0.5)
    flames = 0.65 * value_noise(generator, x + sway, Y / 2 + shift, 5)
    flames += 0.35 * value_noise(generator, x + sway, Y / 2 + shift, 2.5)
    width, tall = each(uniform(generator, 7, 16, n)), each(uniform(generator, 0.8, 1.5, n))
    heat = 2.2 * flames + 0.7 - 1.8 * rise / tall - ((x + sway) / width) ** 2
    heat = heat.clip(0, 1.8)[..., np.newaxis]
    colour = heat - np.array([0, 0.5, 1.1], np.float32)
    salts = each(generator.random(n) < 0.2)[..., np.newaxis]
    return to_bytes(np.where(salts, colour[..., ::-1] * [1, 1, 0.8], colour))


@family("Crystals")
def crystals(generator: np.random.Generator, n: int) -> np.ndarray:
    """A cut stone in one tint from above: straight facets, each as bright as its slope towards the
    lamp makes it, with a shine on some, on a cloth in the dark.
    """
    facets, (x, y) = 18, random_turn(generator, n)
    angle = 2 * np.pi * (np.arange(facets) + uniform(generator, 0, 1, n, facets)) / facets
    steep = uniform(generator, 0.15, 1, n, facets)
    steep[:, 0] = 0  # the table, the facet on top
    normal = np.stack([np.cos(angle), np.sin(angle)]) * steep
    level = steep * uniform(generator, 9, 15, n, 1) * uniform(generator, 0.85, 1.15, n, facets)
    level[:, 0] = uniform(generator, 1.5, 4, n)
    tilt = normal[..., np.newaxis, np.newaxis]
    # the stone is what lies below all of the facets' planes
    height = (
        level[:, :, np.newaxis, np.newaxis]
        - tilt[0] * x[:, np.newaxis]
        - tilt[1] * y[:, np.newaxis]
    )
    which, nearest = each(np.arange(n)), height.argmin(axis=1)
    lamp = each(uniform(generator, 0, 2 * np.pi, n))[..., 0]
    bright = 0.55 + 0.4 * (np.cos(lamp) * normal[0] + np.sin(lamp) * normal[1])
    bright += uniform(generator, -0.15, 0.25, n, facets)  # what is seen through the stone
    light = bright[which, nearest] + 0.01 * (x + y)
    stone = uniform(generator, 0.3, 1.4, n, 1, 1, 3) * light[..., np.newaxis]
    stone = mix(stone, np.float32(1), (light - 0.75).clip(0, 1))
    fade = 1 - 0.4 * np.hypot(x, y) / SIZE
    cloth = uniform(generator, 0.02, 0.3, n, 1, 1, 3) * fade[..., np.newaxis]
    return to_bytes(mix(cloth, stone, (3 * height.min(axis=1) + 0.5).clip(0, 1)))


# from low to high: viridis, hot, cool to warm, ice, and yellow to red
_SCALES = np.array(
    [[[68, 1, 84], [33, 145, 140], [253, 231, 37]], [[10, 0, 0], [230, 60, 0], [255, 250, 200]],
     [[59, 76, 192], [221, 221, 221], [180, 4, 38]], [[5, 10, 40], [40, 120, 200], [220, 250, 255]],
     [[255, 255, 204], [253, 141, 60], [128, 0, 38]]], np.float32,
) / 255  # fmt: skip


def _colour(generator: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """Colour values from 0 to 1, shape [n, H, W], by one of the scales an image."""
    low, middle, high = np.moveaxis(
        _SCALES[generator.integers(0, len(_SCALES), len(values))], 1, 0
    )[:, :, np.newaxis, np.newaxis]
    half = 2 * values.clip(0, 1)
    return mix(mix(low, middle, half.clip(0, 1)), high, (half - 1).clip(0, 1))


@family("Heat maps")
def heat_maps(generator: np.random.Generator, n: int) -> np.ndarray:
    """Matrices of five to sixteen rows, coloured by value on one of five colour scales: smooth
    over the rows, in blocks, or symmetric with a diagonal.
    """
    x, y = (np.broadcast_to(z, (n, SIZE, SIZE)) for z in (X, Y))
    cell = each(np.array([2, 3, 4, 5, 6])[generator.integers(0, 5, n)])
    values = 0.7 * value_noise(generator, x, y, 7) + 0.3 * uniform(generator, 0, 1, n, SIZE, SIZE)
    block = uniform(generator, 0, 1, n, 8, 8).repeat(4, axis=1).repeat(4, axis=2)
    kind = each(generator.integers(0, 3, n))
    values = np.where(kind == 1, 0.7 * block + 0.3 * values, values)
    values = np.where(kind == 2, (values + values.swapaxes(1, 2)) / 2, values)
    diagonal = (kind == 2) & np.eye(SIZE, dtype=bool)
    values = np.where(diagonal, 1, (values - 0.5) * 1.5 + 0.5)
    at = _PLACE // cell
    shown = values[each(np.arange(n)), at.swapaxes(1, 2), at]
    line = (_PLACE % cell == 0) & (cell > 3) & each(generator.random(n) < 0.5)
    image = _colour(generator, shown)
    return to_bytes(mix(image, np.float32(0.95), 1.0 * (line | line.swapaxes(1, 2))))


@family("Contour plots")
def contour_plots(generator: np.random.Generator, n: int) -> np.ndarray:
    """A smooth function of the place in four to ten steps of colour, with or without lines between
    them, on one of five colour scales.
    """
    x, y = random_turn(generator, n)
    hills = value_noise(generator, x, y, 13) + value_noise(generator, x, y, 7) / 2
    steps = each(generator.integers(4, 11, n))
    level = (1.6 * (hills / 1.5 - 0.5) + 0.5).clip(0, 0.999) * steps
    slope = np.hypot(*np.gradient(level, axis=(1, 2))) + 1e-3
    off = np.abs(level - np.rint(level)) / slope  # pixels from a step
    line = (1 - off).clip(0, 1) * each(uniform(generator, 0, 1, n) * (generator.random(n) < 0.6))
    image = _colour(generator, np.floor(level) / (steps - 1))
    return to_bytes(mix(image, np.float32(0.05), line))


@family("Spectrograms")
def spectrograms(generator: np.random.Generator, n: int) -> np.ndarray:
    """A voice's or a bird's sound, time across and frequency upwards: overtones of a pitch that
    rises and falls, with pauses, over noise, on one of five colour scales.
    """
    x = np.broadcast_to(X, (n, SIZE, SIZE))
    time = np.broadcast_to(X[:1], (n, 1, SIZE))
    pitch = each(uniform(generator, 3, 12, n)) * (
        0.6 + 0.8 * value_noise(generator, time, 0 * time, 9)
    )
    frequency = SIZE / 2 - Y
    overtone = frequency / pitch
    off = np.abs(overtone - np.rint(overtone).clip(1)) * pitch
    tone = np.exp(-((off / each(uniform(generator, 0.7, 1.5, n))) ** 2))
    tone = tone * np.exp(-overtone / each(uniform(generator, 1, 6, n)))
    voiced = 8 * value_noise(generator, time, 0 * time, 4) - each(uniform(generator, 1.5, 3.5, n))
    formants = 0.4 + value_noise(generator, x / 3, np.broadcast_to(Y, x.shape), 6)
    hiss = uniform(generator, 0, 1, n, SIZE, SIZE) ** 2 * each(uniform(generator, 0.1, 0.35, n))
    return to_bytes(_colour(generator, 1.5 * tone * voiced.clip(0, 1) * formants + hiss))
