"""Images in memory, the same whatever they came from, and how they are brought to one size."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from PIL import Image, ImageOps


@dataclass(frozen=True, eq=False, repr=False)
class Images:
    """One split of a data set: images, labels and what they are called.

    The arrays are not copied, and must not be changed in place: `sha256` is computed once.

    Attributes
    ----------
    images : ndarray of uint8, shape [N, H, W, 3]
        RGB; grey images have three equal channels.
    labels : ndarray of int64, shape [N]
        Indices into `class_names`; -1 where the image's class is none of them.
    class_names : tuple of str
    name, split : str
        The data set's name and the split's.
    origin : dict
        Where the images come from: ``title``, ``source``, ``licence``, ``citation`` and what
        else the source says of itself.
    coarse_labels : ndarray of int64, shape [N], optional
        Labels of a second, coarser classification (CIFAR-100's 20 superclasses).
    coarse_class_names : tuple of str, optional

    Raises
    ------
    ValueError
        An array of another type or shape, or a label out of range.  No images at all is allowed.

    Examples
    --------
    >>> pixels = np.zeros((3, 2, 2, 3), np.uint8)
    >>> few = Images(pixels, np.array([0, 1, 1]), ("cat", "dog"), "pets", "test")
    >>> few
    Images(pets/test: 3 images of 2x2, 2 classes)
    >>> few.subset(few.labels == 1).labels
    array([1, 1])
    """

    images: np.ndarray
    labels: np.ndarray
    class_names: tuple[str, ...]
    name: str
    split: str
    origin: dict = field(default_factory=dict)
    coarse_labels: np.ndarray | None = None
    coarse_class_names: tuple[str, ...] | None = None

    def __post_init__(self):
        shape, dtype = np.shape(self.images), getattr(self.images, "dtype", None)
        if dtype != np.uint8 or len(shape) != 4 or shape[3] != 3:
            raise ValueError(f"images: uint8 [N, H, W, 3] expected, got {dtype} {list(shape)}")
        _check_labels("labels", self.labels, "class_names", self.class_names, len(self))
        if self.coarse_labels is not None:
            names = self.coarse_class_names or ()
            _check_labels(
                "coarse_labels", self.coarse_labels, "coarse_class_names", names, len(self)
            )

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        height, width = self.images.shape[1:3]
        return (
            f"Images({self.name}/{self.split}: {len(self)} images of {height}x{width}, "
            f"{len(self.class_names)} classes)"
        )

    @cached_property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the images (shape and bytes) and the labels: a content key."""
        digest = hashlib.sha256(repr(self.images.shape).encode())
        digest.update(np.ascontiguousarray(self.images))
        digest.update(np.ascontiguousarray(self.labels, dtype="<i8"))
        return digest.hexdigest()

    def subset(self, indices) -> Images:
        """Return the images at `indices` (integers in any order, or a boolean mask [N])."""
        coarse = None if self.coarse_labels is None else self.coarse_labels[indices]
        return replace(
            self,
            images=self.images[indices],
            labels=self.labels[indices],
            coarse_labels=coarse,
        )

    def resized(self, size: int) -> Images:
        """Return the images at `size` x `size` pixels (see `resize`); itself if they are so."""
        return replace(self, images=resize(self.images, size))


def resize(images: np.ndarray, size: int) -> np.ndarray:
    """Resize uint8 images [N, H, W, 3] to [N, size, size, 3].

    Pillow's bicubic filter, antialiased when it reduces; of an image that is not square, the
    central square.  Images that have the size already are returned as they are.

    Examples
    --------
    >>> stripes = np.zeros((1, 8, 8, 3), np.uint8)
    >>> stripes[:, :, ::2] = 255  # one pixel white, one black: no 2 x 2 image can show that
    >>> bool(np.ptp(resize(stripes, 2)) < 40)
    True
    """
    if size < 1:
        raise ValueError(f"size: a positive number of pixels expected, got {size}")
    if images.shape[1:3] == (size, size):
        return images
    resized = np.empty((len(images), size, size, 3), np.uint8)
    for target, image in zip(resized, images, strict=True):
        target[:] = _fitted(Image.fromarray(image), size)
    return resized


def stack(images: Iterable[tuple[str, Image.Image]], size: int | None, source: str) -> np.ndarray:
    """Stack named Pillow images into one uint8 array [N, H, W, 3].

    Parameters
    ----------
    images : iterable of (str, PIL.Image.Image)
        The name stands in messages.  Opened files are decoded here, one at a time.
    size : int or None
        Bring each image to `size` x `size` pixels as `resize` does; None leaves them alone.
    source : str
        What the images are of, for messages.

    Raises
    ------
    ValueError
        No image, an unreadable one, one with more than 8 bits a channel, or (without `size`)
        images of different sizes.
    """
    arrays: list[np.ndarray] = []
    for name, image in images:
        try:
            image = _rgb(image)
        except (OSError, ValueError, SyntaxError) as error:  # what Pillow's decoders raise
            raise ValueError(f"{source}: image '{name}' cannot be read: {error}") from error
        array = np.asarray(image if size is None else _fitted(image, size))
        if arrays and array.shape != arrays[0].shape:
            raise ValueError(
                f"{source}: the images differ in size ('{name}' is {image.width}x{image.height}); "
                "pass size= to bring them to one"
            )
        arrays.append(array)
    if not arrays:
        raise ValueError(f"{source}: no images")
    return np.stack(arrays)


def _fitted(image: Image.Image, size: int) -> Image.Image:
    return ImageOps.fit(image, (size, size), Image.Resampling.BICUBIC)


def _rgb(image: Image.Image) -> Image.Image:
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith(("I", "F")):  # Pillow would clip these to white
        raise ValueError(f"mode {image.mode}: convert it to 8 bits a channel first")
    if (
        "A" in image.getbands() or "transparency" in image.info
    ):  # what lies under transparent pixels was never meant to show
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _check_labels(argument: str, labels, names_argument: str, names, length: int) -> None:
    if getattr(labels, "dtype", None) != np.int64 or labels.shape != (length,):
        found = f"{getattr(labels, 'dtype', type(labels).__name__)} {list(np.shape(labels))}"
        raise ValueError(f"{argument}: int64 [{length}] expected, got {found}")
    if length and not (-1 <= labels.min() and labels.max() < len(names)):
        raise ValueError(
            f"{argument}: values -1 to {len(names) - 1} expected ({len(names)} {names_argument}), "
            f"got {labels.min()} to {labels.max()}"
        )
