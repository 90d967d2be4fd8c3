"""The fifteen common corruptions of ImageNet-C and CIFAR-10-C, each at five severities.

Hendrycks and Dietterich (2019) corrupt test images in fifteen ways, from four groups, to measure
a classifier on images that are not clean.  This package implements their formulas with NumPy,
SciPy and Pillow; their parameters are in ``parameters.yaml``.  Differences from their images:

* Frost is drawn by a formula, because their photographs are not available (see `weather.frost`).
* Steps that they compute with OpenCV, scikit-image or ImageMagick follow the same definition,
  but without the rounding to bytes between two steps of a corruption.
* Values are rounded to the nearest byte; theirs are rounded down.
* Their softened disc of radius 8 or 10 makes an image 1 % brighter (defocus blur); ours does not.
* The affine map of the elastic transform is mirrored at the diagonal.
* ImageNet-C is stored as JPEG files of quality 85; here no image is compressed a second time.

>>> from helpers.data import load
>>> corrupt_set(load("cifar10_mini", "test").subset(slice(5)), "fog", 3)
Images(cifar10_mini-fog-3/test: 5 images of 32x32, 10 classes)
"""

from __future__ import annotations

import functools
import hashlib
import math
from dataclasses import replace

import numpy as np

from helpers.checks import known_name
from helpers.data.corruptions import blur, digital, noise, weather
from helpers.data.images import Images
from helpers.data.pixels import image_shape
from helpers.files import content_of
from pictures.base import to_bytes

_FUNCTIONS = {
    "noise": (noise.gaussian_noise, noise.shot_noise, noise.impulse_noise),
    "blur": (blur.defocus_blur, blur.glass_blur, blur.motion_blur, blur.zoom_blur),
    "weather": (weather.snow, weather.frost, weather.fog, weather.brightness),
    "digital": (
        digital.contrast,
        digital.elastic_transform,
        digital.pixelate,
        digital.jpeg_compression,
    ),
}
_BY_NAME = {function.__name__: function for group in _FUNCTIONS.values() for function in group}

#: The corruptions in the paper's order, each with its group: noise, blur, weather or digital.
NAMES = {
    function.__name__: group for group, functions in _FUNCTIONS.items() for function in functions
}
SEVERITIES = (1, 2, 3, 4, 5)

_BLOCK_VALUES = 2**20  # values worked on at once: bounds the memory, and does not change the result


@functools.cache
def parameters() -> dict[str, dict[int, list]]:
    """Return the parameters by corruption and size: a list with an entry for each severity."""
    return content_of(__file__, "parameters")


def nearest_size(side: int) -> int:
    """Return the published size nearest to a height or width in pixels, by their ratio.

    Lengths in the parameters are not scaled to sizes in between.

    Examples
    --------
    >>> [nearest_size(side) for side in (28, 45, 46, 96, 119, 120, 384)]
    [32, 32, 64, 64, 64, 224, 224]
    """
    return min((32, 64, 224), key=lambda size: abs(math.log(side / size)))


def corrupt(images: np.ndarray, name: str, severity: int, *, seed: int) -> np.ndarray:
    """Corrupt images, each by itself.

    The random numbers for an image depend only on the seed, the name, the severity and the
    content of the image.  The result for an image is therefore equal at any place, in any subset
    and in batches of any size, and equal images give equal results.  Another severity or another
    seed gives new random numbers.

    Parameters
    ----------
    images : ndarray of uint8, shape [N, H, W, 3]
        RGB, at least 8 pixels in height and width.
    name : str
        One of `NAMES`.
    severity : int
        1 (weakest) to 5.
    seed : int

    Returns
    -------
    ndarray of uint8, shape [N, H, W, 3]

    Notes
    -----
    The code uses the parameters of the published size nearest to the shorter side (see
    `nearest_size`).  A severity is a row of the authors' tables, not a distance.  For glass and
    motion blur, snow, frost, fog and elastic transform, the next severity may leave the images
    nearer to the original, because one parameter grows and another shrinks.

    Examples
    --------
    >>> grey = np.full((2, 32, 32, 3), 128, np.uint8)
    >>> corrupt(grey, "brightness", 4, seed=0)[0, 0, 0]  # by 0.2 of the range
    array([179, 179, 179], dtype=uint8)
    >>> corrupt(grey, "gaussian_nose", 1, seed=0)
    Traceback (most recent call last):
        ...
    ValueError: unknown corruption 'gaussian_nose'; did you mean 'gaussian_noise'? There are: ...
    """
    known_name("corruption", name, NAMES)
    if not isinstance(severity, int | np.integer) or severity not in SEVERITIES:
        raise ValueError(f"severity: an integer from 1 to 5 expected, got {severity!r}")
    shape = image_shape(images, least=8)
    setting = parameters()[name][nearest_size(min(shape[1:3]))][severity - 1]
    settings = setting if isinstance(setting, list) else [setting]
    recipe = f"{name}/{severity}/{seed}/{shape[1:]}/".encode()
    result = np.empty_like(images, order="C")
    block = max(1, _BLOCK_VALUES // math.prod(shape[1:]))
    for start in range(0, len(images), block):
        part = np.ascontiguousarray(images[start : start + block])
        generators = [
            np.random.default_rng(
                int.from_bytes(hashlib.blake2b(recipe + image.tobytes(), digest_size=16).digest())
            )
            for image in part
        ]
        levels = part / np.float32(255)
        result[start : start + block] = to_bytes(_BY_NAME[name](levels, generators, *settings))
    return result


def corrupt_set(images: Images, name: str, severity: int, *, seed: int = 0) -> Images:
    """Corrupt a data set: `corrupt` with labels, classes and origin kept.

    Examples
    --------
    >>> pixels = np.full((1, 32, 32, 3), 128, np.uint8)
    >>> grey = Images(pixels, np.array([0]), ("grey",), "plain", "test")
    >>> corrupt_set(grey, "contrast", 2).origin
    {'corruption': 'contrast, severity 2, seed 0'}
    """
    return replace(
        images,
        images=corrupt(images.images, name, severity, seed=seed),
        name=f"{images.name}-{name}-{severity}",
        origin=images.origin | {"corruption": f"{name}, severity {severity}, seed {seed}"},
    )
