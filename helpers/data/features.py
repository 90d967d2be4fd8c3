"""What a frozen network makes of images, in the place of their pixels: stored, found, checked.

A head that is trained on a frozen network sees features and no pixels.  They are computed once
(`workflow/features.py`), lie in packs under ``DATA_ROOT/features``, and are found by the image that
they are of, so that any subset, in any order and under any labels, finds its own.

A feature is one byte, 255 steps of its square root: the packs are a quarter as large as in float32,
and features are `Images`, whose bytes every training, output and score takes as they are.  What is
lost does not matter: of EfficientNet-Lite0 a feature is off by half a per cent on average, and a
ridge regression on 500 of its images of CIFAR-100 is as often right from bytes as from float32 or
float16, over five divisions, and no less from the roots themselves, which are what a head sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from helpers import checkpoints
from helpers.data.images import Images
from helpers.data.pixels import resize
from helpers.data.stream import ImageStream
from helpers.data.views import digests
from helpers.files import data_root

_VERSION = "1"  # of the files
_LEVELS = 255


@dataclass(frozen=True)
class Backbone:
    """A frozen network, and how it sees images: what decides their features.

    Attributes
    ----------
    network : str
        As `helpers.networks.zoo.load` knows it.
    size : int
        Pixels to which images are brought, all of each image.
    top : float
        What no feature exceeds: 6 of a network that ends in ReLU6 and a mean.
    weights : str
        What the digest of its weights begins with; "" for any, which are then those of the packs.
    """

    network: str
    size: int
    top: float = 6.0
    weights: str = ""

    @property
    def folder(self) -> Path:
        """Where its packs lie."""
        return data_root() / "features" / f"{self.network}@{self.size}"

    @property
    def transform(self) -> str:
        """What is done to an image, in words that stand in each pack."""
        return f"whole image, bicubic to {self.size} pixels"

    @property
    def facts(self) -> dict:
        """What a pack must agree with, as JSON holds it."""
        return {"network": self.network, "size": self.size, "transform": self.transform,
                "top": self.top}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class FeatureImages(Images):
    """Images as a frozen network sees them: `images` are bytes of features, uint8 [N, 1, W, 3].

    Everything that takes images takes these, if it does nothing to pixels.

    Attributes
    ----------
    pixels : ndarray of uint8, shape [N, H, W', 3]
        The images themselves, to be looked at; of a view, those that were changed.
    backbone : str
        What made the features, in words.
    """

    pixels: np.ndarray = field(default=None)  # the fields before it have defaults
    backbone: str = ""

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, features of {self.backbone})"

    def subset(self, indices) -> FeatureImages:
        """Return the images at `indices` (integers in any order, or a boolean mask [N])."""
        return replace(super().subset(indices), pixels=self.pixels[indices])

    def pictures(self, indices, *, size: int | None = None) -> np.ndarray:
        """Return some of the images themselves to look at, uint8 [M, H, W, 3]."""
        chosen = self.pixels[np.asarray(indices)]
        return chosen if size is None else resize(chosen, size)

    def resize(self, size: int, *, antialias: bool = True) -> Images:
        """Refuse: features have no size."""
        raise ValueError(f"{self.name}: features of images cannot be resized; resize the images")


def beside(images: FeatureImages, views: Sequence[FeatureImages]) -> FeatureImages:
    """Return images with their views, the rows below each image's own: uint8 [N, 1 + V, W, 3]."""
    for one in views:
        if not np.array_equal(one.pixels, images.pixels):
            raise ValueError(f"views: {one} is of other images than {images}")
    return replace(images, images=np.concatenate([images.images, *(v.images for v in views)], 1))


def encode(features: np.ndarray, top: float) -> np.ndarray:
    """Return features as bytes, 255 steps of their square root: uint8 [N, D].

    Examples
    --------
    >>> encode(np.array([[0.0, 1.5, 6.0]]), 6.0)
    array([[  0, 128, 255]], dtype=uint8)
    """
    low, high = float(np.min(features)), float(np.max(features))
    if not (low >= 0 and high <= top * (1 + 1e-6)):
        raise ValueError(
            f"features: from 0 to {top:g} (`top`) expected, got {low:g} to {high:g}; only networks "
            "whose features are not negative can be stored"
        )
    return np.rint(_LEVELS * np.sqrt(features / top)).clip(0, _LEVELS).astype(np.uint8)


def decode(codes: np.ndarray, top: float) -> np.ndarray:
    """Return features of bytes, float32 [N, D].

    Examples
    --------
    >>> decode(np.array([[0, 128, 255]], np.uint8), 6.0).round(2)
    array([[0.  , 1.51, 6.  ]], dtype=float32)
    """
    return (top * (codes.astype(np.float32) / _LEVELS) ** 2).astype(np.float32)


def as_images(codes: np.ndarray) -> np.ndarray:
    """Return bytes of features [N, D] as those of images [N, 1, W, 3], with zeros at the end.

    Examples
    --------
    >>> as_images(np.ones((2, 4), np.uint8)).shape
    (2, 1, 2, 3)
    """
    wide = -(-codes.shape[1] // 3)
    whole = np.zeros((len(codes), 3 * wide), np.uint8)
    whole[:, : codes.shape[1]] = codes
    return whole.reshape(len(codes), 1, wide, 3)


class Packs:
    """All features of a backbone that are stored."""

    def __init__(self, backbone: Backbone):
        self.backbone, self.weights = backbone, backbone.weights
        self.seconds, seen, codes = 0.0, [np.empty(0, np.uint64)], []
        for path in _files(backbone):
            facts, arrays = read(path)
            self._check(path, facts)
            seen.append(arrays["digests"])
            codes.append(arrays["codes"])
            self.seconds += facts["seconds"]
        seen = np.concatenate(seen)
        order = np.argsort(seen, kind="stable")
        self._seen, self._place = seen[order], order
        self._codes = np.concatenate(codes) if codes else np.empty((0, 0), np.uint8)

    def __len__(self) -> int:
        return len(self._seen)

    def _check(self, path: Path, facts: Mapping) -> None:
        expected = self.backbone.facts
        for name, value in expected.items():
            if facts[name] != value:
                raise ValueError(
                    f"{path}: features of another {name} ({facts[name]}) than asked for ({value}); "
                    "remove the file, or ask for what it has"
                )
        self.weights = self.weights or facts["weights"][:16]
        if not facts["weights"].startswith(self.weights):
            raise ValueError(
                f"{path}: features by other weights ({facts['weights'][:16]}) than "
                f"{self.weights}; remove the file and make it again"
            )

    def places(self, seen: np.ndarray) -> np.ndarray:
        """Return where the features of images lie by their `digests`, −1 where there are none."""
        if not len(self):
            return np.full(len(seen), -1)
        found = np.searchsorted(self._seen, seen).clip(0, len(self) - 1)
        return np.where(self._seen[found] == seen, self._place[found], -1)

    def of(self, images: Images, remedy: str = "python workflow/features.py") -> FeatureImages:
        """Return images as the backbone sees them."""
        places = self.places(digests(images))
        if lacking := int((places < 0).sum()):
            one, root = self.backbone, self.backbone.folder.parent
            others = sorted(path.name for path in root.glob("*@*") if path != one.folder)
            there = f"; there are those of {', '.join(others)}" if others else ""
            raise ValueError(
                f"{images.name}/{images.split}: no features of {lacking} of {len(images)} images "
                f"by {one.network} at {one.size} pixels in {one.folder} ({len(self)} other images "
                f"or classes have some{there}). This makes them: `{remedy}`"
            )
        return FeatureImages(
            **{one.name: getattr(images, one.name) for one in fields(Images)}
            | {"images": as_images(self._codes[places])},
            pixels=images.images,
            backbone=f"{self.backbone.network} at {self.backbone.size} pixels",
        )


def packs(backbone: Backbone) -> Packs:
    """Return all features of a backbone, read once while no pack comes or goes."""
    files = _files(backbone)
    return _packs(backbone, tuple((str(one), one.stat().st_mtime_ns) for one in files))


def _files(backbone: Backbone) -> list[Path]:
    """Return a backbone's packs; a leading dot marks a file that is still being written."""
    found = sorted(backbone.folder.glob("*.safetensors"))
    return [path for path in found if not path.name.startswith(".")]


@lru_cache(maxsize=4)
def _packs(backbone: Backbone, files: tuple) -> Packs:
    return Packs(backbone)


def leaves(structure) -> list[Images]:
    """Return the images of a structure of data classes, mappings and sequences."""
    if isinstance(structure, ImageStream):
        raise ValueError(f"{structure.name}: images in memory expected, got a stream")
    if isinstance(structure, Images):
        return [structure]
    return [one for part in _parts(structure).values() for one in leaves(part)]


def seen_by(structure, backbone: Backbone, remedy: str):
    """Return the same structure with all images as the backbone sees them."""
    if isinstance(structure, Images | ImageStream):
        (images,) = leaves(structure)
        return packs(backbone).of(images, remedy)
    changed = {
        name: seen
        for name, part in _parts(structure).items()
        if (seen := seen_by(part, backbone, remedy)) is not part
    }
    if not changed:
        return structure
    if is_dataclass(structure):
        return replace(structure, **changed)
    if isinstance(structure, Mapping):
        return {**structure, **changed}
    return type(structure)(changed.get(place, part) for place, part in enumerate(structure))


def _parts(structure) -> dict:
    if is_dataclass(structure):
        return {one.name: getattr(structure, one.name) for one in fields(structure)}
    if isinstance(structure, Mapping):
        return dict(structure)
    return dict(enumerate(structure)) if isinstance(structure, list | tuple) else {}


def write(
    backbone: Backbone, images: Images, codes: np.ndarray, *, weights: str, seconds: float
) -> Path:
    """Write the features of some images as a pack, whole or not at all; return where it is."""
    arrays = {"codes": np.ascontiguousarray(codes), "digests": digests(images)}
    facts = backbone.facts | {
        "weights": weights, "seconds": seconds, "name": images.name, "split": images.split,
        "pixels": list(images.images.shape[1:3]),
        "origin": {name: str(value) for name, value in images.origin.items()},
    }  # fmt: skip
    name = f"{images.name}-{images.split}-{checkpoints.digest(arrays)[:8]}"
    path = backbone.folder / f"{name}.safetensors"
    checkpoints.save(path, arrays, frozen_features=_VERSION, **facts)
    return path


def read(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """Read what `write` wrote: facts and arrays.  Nothing in the file is executed."""
    try:
        arrays, facts = checkpoints.load(path, framework="np")
        if facts.get("frozen_features") != _VERSION:
            found = facts.get("frozen_features", "none")
            raise ValueError(f"version {_VERSION} of stored features expected, got {found}")
    except ValueError as error:
        raise ValueError(f"{path}: not a whole pack of features ({error})") from error
    return facts, arrays


def missing(backbone: Backbone, sets: Iterable[Images]) -> dict[str, Images]:
    """Return by NAME/SPLIT the images of which there are no features yet, each once.

    Sets are looked at one by one: only what is missing stays in memory.
    """
    have, done, found = packs(backbone), np.empty(0, np.uint64), {}
    for images in sets:
        seen = digests(images)
        first = np.zeros(len(seen), bool)
        first[np.unique(seen, return_index=True)[1]] = True
        wanted = first & (have.places(seen) < 0) & ~np.isin(seen, done)
        if wanted.any():
            done = np.append(done, seen[wanted])
            found.setdefault(f"{images.name}/{images.split}", []).append(images.subset(wanted))
    return {name: _joined(parts) for name, parts in found.items()}


def _joined(parts: Sequence[Images]) -> Images:
    """Put images of one set together; their labels do not matter."""
    first = parts[0]
    return replace(
        first,
        images=np.concatenate([one.images for one in parts]),
        labels=np.full(sum(map(len, parts)), -1),
        coarse_labels=None,
    )
