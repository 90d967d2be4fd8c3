"""Operations on pixels alone: decoding, resizing to one size, random boxes.

The resize is antialiased.  The other method, which interpolates between few pixels, is kept to
show its effect: the "resize" copies of LSUN and Tiny ImageNet were made like that, and some
detectors were praised because they find its artefacts.  `smoothness` detects these artefacts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from PIL import ExifTags, Image, ImageOps

from helpers.checks import known_name

if TYPE_CHECKING:
    import torch

#: Kernels of the antialiased resize.
KERNELS = ("bicubic", "bilinear")
BLOCK = 250  # images at once; the intermediate arrays are several times as large
# what undoes each orientation of Exif but the upright one
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
AREA = 0.08, 1.0  # area of a training crop, as a share of the image
RATIO = 3 / 4, 4 / 3  # width to height of the crop, before it is resized to a square


def image_shape(images: np.ndarray, *, least: int = 0) -> tuple[int, ...]:
    """Return the shape of uint8 images [N, H, W, 3], or raise an error that names the problem."""
    shape = np.shape(images)
    dtype = getattr(images, "dtype", None)
    if dtype != np.uint8 or len(shape) != 4 or shape[3] != 3:
        raise ValueError(f"images: uint8 [N, H, W, 3] expected, got {dtype} {list(shape)}")
    side = min(shape[1:3])
    if side < least:
        raise ValueError(f"images: at least {least} pixels a side expected, got {side}")
    return shape


def channels_last(image: np.ndarray | torch.Tensor) -> np.ndarray:
    """Return an image of shape [3, H, W] as an array [H, W, 3]."""
    return np.moveaxis(np.asarray(image), 0, 2)


def resize(
    images: np.ndarray, size: int, *, antialias: bool = True, kernel: str = "bicubic"
) -> np.ndarray:
    """Resize uint8 images [N, H, W, 3] to [N, size, size, 3].

    If an image is not square, its central square is used.  Images that have the size already are
    returned unchanged.  The antialiased resize has one of the `KERNELS`; ``bilinear`` is smoother.

    Examples
    --------
    >>> stripes = np.zeros((1, 9, 9, 3), np.uint8)
    >>> stripes[:, :, ::2] = 255  # one pixel white, one black: no 3 x 3 image can show that
    >>> resize(stripes, 3)[0, 0, :, 0]
    array([139, 126, 139], dtype=uint8)
    >>> resize(stripes, 3, antialias=False)[0, 0, :, 0]
    array([  0, 255,   0], dtype=uint8)
    """
    if size < 1:
        raise ValueError(f"size: a positive number of pixels expected, got {size}")
    known_name("kernel", kernel, KERNELS)
    if images.shape[1:3] == (size, size):
        return images
    resized = np.empty((len(images), size, size, 3), np.uint8)
    if antialias:
        method = Image.Resampling[kernel.upper()]
        for target, image in zip(resized, images, strict=True):
            target[:] = np.asarray(ImageOps.fit(Image.fromarray(image), (size, size), method))
    else:
        for start in range(0, len(images), BLOCK):
            resized[start : start + BLOCK] = _interpolate(images[start : start + BLOCK], size)
    return resized


def smoothness(images: np.ndarray) -> np.ndarray:
    """Score how steadily values change from pixel to pixel; low for the artefacts of a resize.

    For all triples a, b, c of horizontal or vertical neighbours, and for all channels::

        sum |a - c|  /  sum (|a - b| + |b - c|)

    Tack et al. (2020) found by a score of neighbouring pixels' differences that the "resize"
    versions of LSUN and Tiny ImageNet are not smooth.  Such differences also grow with an image's
    contrast; the division makes the score independent of it.  This definition is the project's.

    Examples
    --------
    >>> alternating = np.indices((4, 4)).sum(axis=0) % 2 * 255
    >>> slope, flat = 16 * np.indices((4, 4))[0], np.full((4, 4), 7)
    >>> grey = np.stack([alternating, slope, flat]).astype(np.uint8)
    >>> smoothness(grey[..., np.newaxis].repeat(3, axis=3))
    array([0., 1., 1.])
    """
    image_shape(images, least=3)
    ways = np.zeros(len(images))
    steps = np.zeros(len(images))
    for start in range(0, len(images), BLOCK):
        block = slice(start, start + BLOCK)
        for axis in (1, 2):
            lines = np.moveaxis(images[block], axis, 0).astype(np.int16)
            for total, first, second in (
                (ways, lines[:-2], lines[2:]),
                (steps, lines[:-2], lines[1:-1]),
                (steps, lines[1:-1], lines[2:]),
            ):
                total[block] += np.abs(first - second).sum(axis=(0, 2, 3))
    return np.divide(ways, steps, out=np.ones(len(images)), where=steps > 0)


def stack(images: Iterable[tuple[str, Image.Image]], size: int | None, source: str) -> np.ndarray:
    """Stack named Pillow images into one uint8 array [N, H, W, 3]."""
    arrays: list[np.ndarray] = []
    for name, image in images:
        try:
            image = rgb(image)
        except (OSError, ValueError, SyntaxError) as error:  # what Pillow's decoders raise
            raise ValueError(f"{source}: image '{name}' cannot be read: {error}") from error
        array = np.asarray(image)[np.newaxis]
        if size is not None:
            array = resize(array, size)
        if arrays and array.shape != arrays[0].shape:
            raise ValueError(
                f"{source}: the images differ in size ('{name}' is {image.width}x{image.height}); "
                "pass size= to bring them to one"
            )
        arrays.append(array)
    if not arrays:
        raise ValueError(f"{source}: no images")
    return np.concatenate(arrays)


def _interpolate(images: np.ndarray, size: int) -> np.ndarray:
    """Interpolate between the four pixels around each new pixel's centre, with no filter before."""
    side = min(images.shape[1:3])

    def places(length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        centre = (length - side) / 2 + (np.arange(size) + 0.5) * side / size - 0.5
        centre = centre.clip(0, length - 1)
        low = np.floor(centre).astype(int)
        return low, np.minimum(low + 1, length - 1), (centre - low).astype(np.float32)

    above, below, down = places(images.shape[1])
    left, right, across = places(images.shape[2])
    down = down[:, np.newaxis, np.newaxis]
    across = across[:, np.newaxis]

    def row(rows: np.ndarray) -> np.ndarray:
        lines = images[:, rows]
        return lines[:, :, left] * (1 - across) + lines[:, :, right] * across

    return np.rint(row(above) * (1 - down) + row(below) * down).astype(np.uint8)


def rgb(image: Image.Image) -> Image.Image:
    """Decode an opened image: upright, transparent pixels white, three channels of 8 bits.

    Without changes, the function returns the same object, because a copy takes a third of the time
    of decoding.

    >>> import io
    >>> program = io.BytesIO(b"%!PS-Adobe-3.0 EPSF-3.0\\n%%BoundingBox: 0 0 9 9\\n")
    >>> rgb(Image.open(program))
    Traceback (most recent call last):
        ...
    ValueError: format EPS: convert it to PNG first
    """
    if image.format == "EPS":  # Ghostscript would run it as a program
        raise ValueError("format EPS: convert it to PNG first")
    image.load()  # Pillow turns TIFF files itself
    orientation = _orientation(image)
    if orientation in _TURNS:
        image = image.transpose(_TURNS[orientation])
    if image.mode.startswith(("I", "F")):  # Pillow would clip these to white
        raise ValueError(f"mode {image.mode}: convert it to 8 bits a channel first")
    if (
        "A" in image.getbands() or "transparency" in image.info
    ):  # what lies under transparent pixels was never meant to show
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image if image.mode == "RGB" else image.convert("RGB")


def _orientation(image: Image.Image) -> object:
    """Return how a camera was held, 1 to 8; only this field of Exif is read.

    `PIL.ImageOps.exif_transpose` writes all fields again, and fails if one has an odd value.
    """
    try:
        return image.getexif().get(ExifTags.Base.Orientation)
    except Exception:  # of damaged Exif, anything; the pixels are sound
        return None


def random_crop(
    width: int, height: int, generator: np.random.Generator
) -> tuple[int, int, int, int]:
    """Draw a box that covers 8 to 100 % of an image, 3:4 to 4:3 wide to high, at a random place.

    Boxes that do not fit are drawn again, ten times; then the largest central box is returned.

    Examples
    --------
    >>> left, top, right, bottom = random_crop(100, 50, np.random.default_rng(0))
    >>> 0 <= left < right <= 100 and 0 <= top < bottom <= 50
    True
    >>> random_crop(1000, 3, np.random.default_rng(0))
    (498, 0, 502, 3)
    """
    for _ in range(10):
        area = width * height * generator.uniform(*AREA)
        ratio = np.exp(generator.uniform(*np.log(RATIO)))
        wide = round(np.sqrt(area * ratio))
        high = round(np.sqrt(area / ratio))
        if 0 < wide <= width and 0 < high <= height:
            left = int(generator.integers(width - wide + 1))
            top = int(generator.integers(height - high + 1))
            return left, top, left + wide, top + high
    wide = min(width, max(1, round(height * RATIO[1])))
    high = min(height, max(1, round(width / RATIO[0])))
    left = (width - wide) // 2
    top = (height - high) // 2
    return left, top, left + wide, top + high
