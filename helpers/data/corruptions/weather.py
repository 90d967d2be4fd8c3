"""Weather: bright things between the camera and the scene (see `noise` for the arguments)."""

from __future__ import annotations

import numpy as np

from helpers.data.corruptions.blur import enlarge, smear
from helpers.data.corruptions.noise import Generators

_GREY = np.array([0.299, 0.587, 0.114], np.float32)  # luma, as in ITU-R BT.601
_ICE = np.array([[0.16, 0.24, 0.32], [0.93, 0.97, 1.0]], np.float32)  # where it is thin and thick


def snow(
    images: np.ndarray,
    generators: Generators,
    mean: float,
    deviation: float,
    zoom: float,
    threshold: float,
    radius: int,
    sigma: float,
    light: float,
) -> np.ndarray:
    """Falling flakes over a whitened scene.

    Flakes are the values above the `threshold` in normal noise of a `mean` and `deviation`.  They
    are enlarged by `zoom`, smeared downwards (`radius`, `sigma`: see `blur.smear`), and added
    twice, once turned by 180 degrees.  `light` is the part of the scene that keeps its colours.
    """
    shape = images.shape[1:3]
    flakes = mean + deviation * np.stack([g.standard_normal(shape, np.float32) for g in generators])
    flakes = enlarge(flakes, zoom).clip(0, 1)
    flakes = smear(flakes * (flakes >= threshold), generators, radius, sigma, -135, -45)
    grey = (images * _GREY).sum(axis=-1, keepdims=True)
    scene = light * images + (1 - light) * np.maximum(images, 1.5 * grey + 0.5)
    return scene + (flakes + flakes[:, ::-1, ::-1])[..., np.newaxis]


def frost(images: np.ndarray, generators: Generators, scene: float, ice: float) -> np.ndarray:
    """A pane with ice flowers: `scene` times the image and `ice` times a picture of frost.

    The authors add a random crop of one of five photographs.  Without these, the frost is drawn:
    needles of ice in six directions, one over the other, bluish if the ice is thin and white if it
    is thick.  The pattern grows with the image.  The authors' pattern grows roughly like this,
    because they reduce the photographs for the smaller sizes.
    """
    thickness = np.stack([_needles(g, *images.shape[1:3]) for g in generators])[..., np.newaxis]
    return scene * images + ice * (_ICE[0] + (_ICE[1] - _ICE[0]) * thickness)


def fog(images: np.ndarray, generators: Generators, amount: float, decay: float) -> np.ndarray:
    """Clouds of fog: `amount` times `plasma` is added, and the whole dimmed to the old maximum."""
    height, width = images.shape[1:3]
    clouds = plasma(generators, max(height, width), decay)[:, :height, :width, np.newaxis]
    brightest = images.max(axis=(1, 2, 3), keepdims=True)
    return (images + amount * clouds) * (brightest / (brightest + amount))


def brightness(images: np.ndarray, generators: Generators, amount: float) -> np.ndarray:
    """A bright day: the amount is added to V in HSV; hue and saturation do not change."""
    value = images.max(axis=-1, keepdims=True)
    brighter = np.minimum(value + amount, 1)
    # all three channels are proportional to V; black has no hue and becomes grey
    return np.where(value > 0, images * (brighter / np.maximum(value, 1 / 255)), brighter)


def plasma(generators: Generators, side: int, decay: float) -> np.ndarray:
    """Draw clouds by diamonds and squares: midpoints are the mean of four neighbours, and noise.

    The noise shrinks by the square of `decay` from each grid to the next, which is half as wide.

    Examples
    --------
    >>> clouds = plasma([np.random.default_rng(seed) for seed in range(3)], 20, decay=2)
    >>> clouds.shape, clouds.min(axis=(1, 2)), clouds.max(axis=(1, 2))
    ((3, 32, 32), array([0., 0., 0.], dtype=float32), array([1., 1., 1.], dtype=float32))
    """
    size = 1 << (side - 1).bit_length()
    noise = np.stack([g.random((size, size), np.float32) for g in generators]) * 2 - 1
    noise[:, 0, 0] = 0
    height = noise
    step = size
    amplitude = 1.0
    while step > 1:
        half = step // 2
        corners = height[:, ::step, ::step]  # views: the code below changes only other values
        centres, sides, tops = (
            height[:, first::step, second::step]
            for first, second in ((half, half), (half, 0), (0, half))
        )
        right = np.roll(corners, -1, axis=2)
        down = np.roll(corners, -1, axis=1)
        centres *= amplitude
        centres += (corners + right + down + np.roll(right, -1, axis=1)) / 4
        sides *= amplitude
        sides += (corners + down + centres + np.roll(centres, 1, axis=2)) / 4
        tops *= amplitude
        tops += (corners + right + centres + np.roll(centres, 1, axis=1)) / 4
        step = half
        amplitude = amplitude / decay**2
    height -= height.min(axis=(1, 2), keepdims=True)
    return height / height.max(axis=(1, 2), keepdims=True)


def _needles(generator: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Draw the thickness of a sheet of ice flowers, from 0 to 1, [height, width].

    Normal noise is filtered to streaks in six directions, one layer each, and to patches.  The
    layer that is thickest at a point covers the other layers.  The numbers were chosen by eye.
    """
    layers = 6
    side = min(height, width)
    # frequencies in waves per side, so that the pattern does not depend on the number of pixels
    down = np.fft.fftfreq(height, 1 / side).astype(np.float32)[:, np.newaxis]
    right = np.fft.rfftfreq(width, 1 / side).astype(np.float32)
    turn = (generator.random() + np.arange(layers).reshape(-1, 1, 1)) * np.pi / layers
    sine = np.sin(turn).astype(np.float32)
    cosine = np.cos(turn).astype(np.float32)
    along = np.abs(cosine * right + sine * down)
    across = cosine * down - sine * right

    def filter_noise(passing: np.ndarray) -> np.ndarray:
        noise = np.fft.rfft2(generator.standard_normal((layers, height, width), np.float32))
        drawn = np.fft.irfft2(noise * passing, (height, width))
        return drawn / drawn.std()

    needles = filter_noise(np.exp(-along / 3) / np.sqrt(across**2 + 60))
    patches = filter_noise(np.exp(-(right**2 + down**2) / 6))
    thickness = (needles + 0.6 * patches).max(axis=0)
    return (0.42 + 0.22 * (thickness - thickness.mean()) / thickness.std()).clip(0, 1)
