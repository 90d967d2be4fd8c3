"""Images in memory, in one format for all sources."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from PIL import Image

from helpers.checks import known_name
from helpers.data.pixels import channels_last, image_shape, resize

if TYPE_CHECKING:
    import torch


class Labelled:
    """Methods on labels that `Images` and `ImageStream` share."""

    __dataclass_fields__: ClassVar[dict]
    labels: np.ndarray
    class_names: tuple[str, ...]
    name: str

    def subset(self, indices) -> Self:
        """Return the images at `indices` (integers in any order, or a boolean mask [N])."""
        raise NotImplementedError

    def unknown(self) -> Self:
        """Return these images for a model that knows none of their classes: all labels are -1."""
        return replace(self, labels=np.full_like(self.labels, -1))

    def select(self, class_names: Sequence[str]) -> Self:
        """Return the images of these classes only, numbered in this order."""
        for name in class_names:
            known_name(f"class of {self.name}", name, self.class_names)
        renumbered = self.renumber(dict.fromkeys(class_names))
        return renumbered.subset(renumbered.labels >= 0)

    def renumber(self, class_names: Iterable[str]) -> Self:
        """Return the same images with their classes numbered as a model numbers its own.

        Examples
        --------
        >>> pixels = np.zeros((3, 2, 2, 3), np.uint8)
        >>> few = Images(pixels, np.array([0, 1, 1]), ("cat", "dog"), "pets", "test")
        >>> few.renumber(["ant", "bee", "dog"]).labels
        array([-1,  2,  2])
        """
        names = tuple(class_names)
        return replace(
            self, labels=renumber(self.labels, self.class_names, names), class_names=names
        )


@dataclass(frozen=True, eq=False, repr=False)
class Images(Labelled):
    """One split of a data set: images, labels and names.

    The arrays are not copied, and must not be changed in place: `sha256` is computed once.

    Attributes
    ----------
    images : ndarray of uint8, shape [N, H, W, 3]
        RGB; grey images have three equal channels.
    labels : ndarray of int64, shape [N]
        Indices into `class_names`; -1 if the image's class is not among them.
    class_names : tuple of str
    name, split : str
        Name of the data set and name of the split.
    origin : dict
        Source of the images: ``title``, ``source``, ``licence``, ``citation`` and other fields
        that the source provides.
    coarse_labels : ndarray of int64, shape [N], optional
        Labels of a second, coarser classification (CIFAR-100's 20 superclasses).
    coarse_class_names : tuple of str, optional

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
        image_shape(self.images)
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
        digest.update(np.ascontiguousarray(self.images).data)
        digest.update(np.ascontiguousarray(self.labels, dtype="<i8").data)
        return digest.hexdigest()

    def subset(self, indices) -> Self:
        """Return the images at `indices` (integers in any order, or a boolean mask [N])."""
        coarse = None if self.coarse_labels is None else self.coarse_labels[indices]
        return replace(
            self,
            images=self.images[indices],
            labels=self.labels[indices],
            coarse_labels=coarse,
        )

    def pictures(self, indices, *, size: int | None = None) -> np.ndarray:
        """Return some of the images to look at, uint8 [M, H, W, 3]; `ImageStream` can do it too."""
        images = self.images[np.asarray(indices)]
        return images if size is None else resize(images, size)

    def in_order(
        self,
        *,
        batch_size: int,
        size: int | None = None,
        transform: Callable[[Image.Image], np.ndarray] | None = None,
    ) -> Iterator[torch.Tensor]:
        """Yield all images in their order, as `helpers.data.stream.ImageStream.in_order` does."""
        import torch

        # Pillow resizes outside Python's lock; without a transform, no thread is started
        with ThreadPoolExecutor() as pool:
            for start in range(0, len(self), batch_size):
                block = self.images[start : start + batch_size]
                if transform is not None:
                    pictures = map(Image.fromarray, block)
                    changed = pool.map(lambda picture: channels_last(transform(picture)), pictures)
                    block = np.stack(list(changed))
                # torch takes no reversed array, as BGR images with reversed channels are
                yield torch.from_numpy(np.ascontiguousarray(block)).permute(0, 3, 1, 2)

    def resize(self, size: int, *, antialias: bool = True) -> Images:
        """Return the images at `size` x `size` pixels (see `resize`)."""
        return replace(self, images=resize(self.images, size, antialias=antialias))


def concatenate(sets: Sequence[Images], name: str) -> Images:
    """Concatenate several sets in their order.

    Classes with equal names become one class, in the order of first appearance; label -1 stays.
    Coarse labels are left out, as their meaning may differ between sets.

    Examples
    --------
    >>> pixels = np.zeros((2, 4, 4, 3), np.uint8)
    >>> pets = Images(pixels, np.array([0, 1]), ("cat", "dog"), "pets", "test")
    >>> farm = Images(pixels, np.array([1, -1]), ("cow", "cat"), "farm", "test")
    >>> both = concatenate([pets, farm], "animals")
    >>> both, both.labels
    (Images(animals/test: 4 images of 4x4, 3 classes), array([ 0,  1,  0, -1]))
    """
    if not sets:
        raise ValueError("sets: none given; at least one is needed")
    for subset in sets:
        if subset.images.shape[1:] != sets[0].images.shape[1:]:
            raise ValueError(
                f"sets: {subset} and {sets[0]} differ in size; bring them to one with resize()"
            )
    class_names = merge_class_names(sets)
    labels = [renumber(subset.labels, subset.class_names, class_names) for subset in sets]
    texts: dict[str, dict[str, None]] = {}  # of each field of the origins, each text once
    for subset in sets:
        for title, value in subset.origin.items():
            texts.setdefault(title, {})[str(value)] = None
    return Images(
        np.concatenate([subset.images for subset in sets]),
        np.concatenate(labels),
        class_names,
        name,
        "+".join(dict.fromkeys(subset.split for subset in sets)),
        {title: "; ".join(values) for title, values in texts.items()},
    )


def merge_class_names(sets: Iterable[Labelled]) -> tuple[str, ...]:
    """Return the names of the classes of several sets, each once, in the order of appearance."""
    names: dict[str, None] = {}
    for subset in sets:
        names |= dict.fromkeys(subset.class_names)
    return tuple(names)


def renumber(labels: np.ndarray, class_names: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Return labels as indices into `names` instead of `class_names`, -1 where there is none.

    Examples
    --------
    >>> renumber(np.array([0, 1, 2, -1]), ("ant", "bee", "cow"), ("cow", "ant", "fly"))
    array([ 1, -1,  0, -1])
    """
    number = {name: label for label, name in enumerate(names)}
    if len(number) < len(names):
        raise ValueError(
            f"class_names: each name once expected, got {len(names) - len(number)} more than once"
        )
    # -1 selects the last entry
    numbers = [number.get(name, -1) for name in class_names] + [-1]
    return np.array(numbers, np.int64)[labels]


def _check_labels(argument: str, labels, names_argument: str, names, length: int) -> None:
    if getattr(labels, "dtype", None) != np.int64 or labels.shape != (length,):
        description = f"{getattr(labels, 'dtype', type(labels).__name__)} {list(np.shape(labels))}"
        raise ValueError(f"{argument}: int64 [{length}] expected, got {description}")
    if length and not (-1 <= labels.min() and labels.max() < len(names)):
        raise ValueError(
            f"{argument}: values -1 to {len(names) - 1} expected ({len(names)} {names_argument}), "
            f"got {labels.min()} to {labels.max()}"
        )
