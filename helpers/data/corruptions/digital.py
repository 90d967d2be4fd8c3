"""Digital: effects of processing after the photograph (see `noise` for the arguments)."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter, map_coordinates

from helpers.data.corruptions.noise import Generators
from pictures.base import to_bytes


def contrast(images: np.ndarray, generators: Generators, factor: float) -> np.ndarray:
    """Low contrast: the difference to each channel's mean, times a factor below 1."""
    # in float64 this sum is exact, so that it cannot depend on the order of its terms
    mean = images.mean(axis=(1, 2), keepdims=True, dtype=np.float64).astype(np.float32)
    return mean + factor * (images - mean)


def elastic_transform(
    images: np.ndarray, generators: Generators, amount: float, sigma: float, affine: float
) -> np.ndarray:
    """A stretched print: a random affine map, then every pixel displaced by a smooth random field.

    The map moves three corners of a square in the middle by up to `affine` pixels either way.  The
    field is uniform noise from -1 to 1 under a Gaussian of standard deviation `sigma`, times
    `amount`, drawn for both directions.  Each time pixels are interpolated linearly, and the image
    is mirrored at its border.
    """
    height, width = images.shape[1:3]
    grid = np.indices((height, width), np.float32)
    middle = np.array([height, width]) // 2
    half = min(height, width) // 3
    corners = middle + half * np.array([[1, 1], [1, -1], [-1, -1]])
    down = _gaussian_matrix(height, sigma)
    right = _gaussian_matrix(width, sigma)
    result = np.empty_like(images)
    for target, image, generator in zip(result, images, generators, strict=True):
        moved = corners + generator.uniform(-affine, affine, (3, 2))
        # the source of each pixel of the result: the map that moves the corners back
        back = np.linalg.solve(np.column_stack([moved, np.ones(3)]), corners).astype(np.float32)
        places = np.einsum("ahw,ab->bhw", grid, back[:2]) + back[2][:, np.newaxis, np.newaxis]
        noise = generator.uniform(-1, 1, (2, height, width))
        field = grid + (amount * (down @ noise @ right.T)).astype(np.float32)
        for channel in range(3):
            mapped = map_coordinates(image[..., channel], places, order=1, mode="mirror")
            target[..., channel] = map_coordinates(mapped, field, order=1, mode="reflect")
    return result


def pixelate(images: np.ndarray, generators: Generators, factor: float) -> np.ndarray:
    """Too few pixels: height and width are reduced to this part of them, and enlarged again."""
    height, width = images.shape[1:3]
    few = (int(width * factor), int(height * factor))
    box = Image.Resampling.BOX
    return _through_pillow(
        images, lambda picture: picture.resize(few, box).resize((width, height), box)
    )


def jpeg_compression(images: np.ndarray, generators: Generators, quality: int) -> np.ndarray:
    """Compression by JPEG of a quality from 1 to 100, with Pillow's choice of all else."""

    def compress(picture: Image.Image) -> Image.Image:
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=quality)
        return Image.open(file)

    return _through_pillow(images, compress)


def _through_pillow(images: np.ndarray, change) -> np.ndarray:
    changed = [np.asarray(change(Image.fromarray(image))) for image in to_bytes(images)]
    return np.stack(changed) / np.float32(255)


@cache
def _gaussian_matrix(length: int, sigma: float) -> np.ndarray:
    """Return the matrix [length, length] that filters a column by a Gaussian.

    With a Gaussian wider than the image, the product is many times faster than the filter.
    """
    return gaussian_filter(np.eye(length), (sigma, 0), mode="reflect", truncate=3)
