"""Image folders that no memory holds: scanned once, then decoded while they are read.

>>> import tempfile
>>> from pathlib import Path
>>> from PIL import Image
>>> folder = Path(tempfile.mkdtemp()) / "pets"
>>> for name in ("cat", "dog"):
...     (folder / name).mkdir(parents=True)
...     Image.new("RGB", (40, 30), "white").save(folder / name / "1.png")
>>> stream = ImageStream.scan(folder)
>>> stream
ImageStream(pets/test: 2 images, 2 classes, 0 files skipped)
>>> [tuple(images.shape) for images in stream.in_order(batch_size=5, size=32, workers=0)]
[(2, 3, 32, 32)]
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import PIL
from PIL import Image

from helpers import cache
from helpers.data.listing import Listing
from helpers.data.pixels import channels_last, random_crop, rgb
from helpers.files import socket_folder

if TYPE_CHECKING:
    import torch

MARGIN = 256 / 224  # of the shorter side to the crop's, when images are evaluated
SOCKET = "/pymp-12345678/listener-12345678"  # where multiprocessing puts a socket
CHUNK = 100  # files that a thread verifies before it returns

DECODES = cache.code("helpers.data.stream._Batches")  # hash of this code for keys

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class ImageStream(Listing):
    """One split of an image folder, one subfolder a class; the images stay on the disk.

    Made by `scan` or `open`.  It has all members of `helpers.data.Listing`, and the members of
    `helpers.data.Images` that need no pixels.

    Attributes
    ----------
    sizes : ndarray of int64, shape [N]
        Sizes of the files in bytes.
    contents : ndarray of uint64, shape [N]
        Digests of the bytes of each file, as numbers.
    skipped : tuple of str
        The files of the folder that cannot be read as images, and are not among `files`.
    """

    sizes: np.ndarray
    contents: np.ndarray
    skipped: tuple[str, ...] = ()

    @classmethod
    def scan(cls, path: str | os.PathLike, *, split: str = "test") -> ImageStream:
        """List the images of a folder, and find out which of them are broken.

        Classes are numbered as in `helpers.data.sources.listing`.  To use only some of the images,
        choose them from a `Listing` and `open` it.  Every image is decoded once, and images that
        cannot be decoded are left out.  The result is cached until a path, size or time of
        modification changes: the replacement of a file by another file with equal size and time is
        not detected.
        """
        return cls.open(Listing.scan(path, split=split))

    @classmethod
    def open(cls, listed: Listing) -> ImageStream:
        """Look at the files of a listing, and find out which of them are broken, as `scan`."""
        statuses = [os.stat(os.path.join(listed.root, file)) for file in listed.files]
        sizes = np.array([status.st_size for status in statuses], np.int64)
        digest = hashlib.sha256()
        for file, status in zip(listed.files, statuses, strict=True):
            digest.update(f"{file}\n{status.st_size} {status.st_mtime_ns}\n".encode())
        key = cache.key(
            folder=str(Path(listed.root).resolve()),
            files=digest.hexdigest(),
            pillow=PIL.__version__,
            code=DECODES,
        )
        digests, broken = cache.value("verified", key, partial(_verify, listed))
        if broken:
            first, reason = next(iter(broken.items()))
            log.warning(
                "%s: %d of %d images cannot be read and are skipped; the first is %s: %s",
                listed.root, len(broken), len(listed), first, reason,
            )  # fmt: skip
        if broken and len(broken) == len(listed):
            raise ValueError(
                f"image folder {listed.root}: none of its {len(listed)} images can be read"
            )
        sound = np.array([file not in broken for file in listed.files], bool)
        contents = np.array([int(digits, 16) for digits in digests], np.uint64)
        stream = cls(sizes=sizes, contents=contents, skipped=tuple(broken), **vars(listed))
        return stream.subset(sound)

    def __repr__(self) -> str:
        return (
            f"ImageStream({self.name}/{self.split}: {len(self)} images, "
            f"{len(self.class_names)} classes, {len(self.skipped)} files skipped)"
        )

    @cached_property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the paths within the folder, the files' contents and the labels.

        Copies of the folder have equal digests at any place and time.  The digest changes if a file
        is replaced, even by a file of equal size.
        """
        # decoding depends on the code and on Pillow, too
        digest = hashlib.sha256(f"{DECODES} {PIL.__version__}\n".encode())
        rows = zip(self.files, self.sizes, self.contents, self.labels, strict=True)
        for file, size, content, label in rows:
            digest.update(f"{file}\n{size} {content} {label}\n".encode())
        return digest.hexdigest()

    def subset(self, indices) -> Self:
        """Return the images at `indices` (integers in any order, or a boolean mask [N])."""
        positions = np.arange(len(self))[indices]
        rest = super().subset(positions)
        return replace(rest, sizes=self.sizes[positions], contents=self.contents[positions])

    def pictures(self, indices, *, size: int | None = None) -> np.ndarray:
        """Return some of the images to look at, uint8 [M, size, size, 3]; 64 pixels by default."""
        size = 64 if size is None else size
        read = self.batches(indices, batch_size=max(len(indices), 1), size=size, workers=0)
        return np.concatenate([images.permute(0, 2, 3, 1).numpy() for _, images in read])

    def in_order(self, *, size: int | None = None, **options) -> Iterator[torch.Tensor]:
        """Yield all images in their order, as models are evaluated; options as in `batches`."""
        size = 224 if size is None else size
        for _, images in self.batches(np.arange(len(self)), size=size, **options):
            yield images

    def batches(
        self,
        indices,
        *,
        batch_size: int,
        size: int = 224,
        augment: bool = False,
        seed: int = 0,
        transform: Callable[[Image.Image], np.ndarray] | None = None,
        workers: int | None = None,
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Read images in any order, ahead of the consumer.

        For evaluation, the shorter side is resized to 256/224 of `size` and the centre is cropped.
        For training, a crop of 8 to 100 % of the area with a ratio of 3:4 to 4:3 at a random place
        is resized to `size`, and flipped with probability one half.  Both resizes are bilinear and
        antialiased, as torchvision's on Pillow images.
        """
        import torch
        from torch.utils.data import DataLoader

        for argument, value in (("batch_size", batch_size), ("size", size)):
            if value < 1:
                raise ValueError(f"{argument}: a positive number expected, got {value}")
        indices = np.asarray(indices)
        if indices.ndim != 1 or indices.dtype.kind not in "iu":
            raise ValueError(f"indices: integers [M] expected, got {indices.dtype} {indices.shape}")
        if len(indices) and not 0 <= indices.min() <= indices.max() < len(self):
            raise ValueError(
                f"indices: 0 to {len(self) - 1} expected, got {indices.min()} to {indices.max()}"
            )
        decoded: Any = _Batches(  # torch needs no base class
            self, indices.astype(np.int64), batch_size, size, augment, seed, transform
        )
        workers = min(processors(), 16) if workers is None else workers
        if socket_folder(SOCKET) is None:
            workers = 0  # a worker's batches would never arrive
        loader: DataLoader = DataLoader(
            decoded,
            batch_size=None,  # each item is a batch already, made whole by one worker
            num_workers=min(workers, len(decoded)),
            worker_init_fn=_shorten_sockets,
            pin_memory=torch.cuda.is_available(),
            generator=torch.Generator(),  # or it would draw from torch's own
        )
        for positions, images, problem in loader:
            if problem:
                raise ValueError(problem)
            yield positions, images.permute(0, 3, 1, 2)


def _verify(listed: Listing) -> tuple[list[str], dict[str, str]]:
    """Return a digest of each file, and which cannot be decoded, and why."""
    from tqdm import tqdm

    chunks = [listed.files[start : start + CHUNK] for start in range(0, len(listed), CHUNK)]
    contents: list[str] = []
    broken: dict[str, str] = {}
    with ThreadPoolExecutor(processors()) as pool:  # Pillow decodes outside Python's lock
        results = pool.map(partial(_verify_some, listed.root), chunks)
        bar = tqdm(results, f"verify {listed.name}/{listed.split}", len(chunks), disable=None)
        for digests, reasons in bar:
            contents += digests
            broken |= reasons
    return contents, broken


def _verify_some(root: Path, files: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    contents: list[str] = []
    broken: dict[str, str] = {}
    for file in files:
        with open(root / file, "rb") as opened:  # decoding then reads it from memory
            digest = hashlib.file_digest(opened, partial(hashlib.blake2b, digest_size=8))
        contents.append(digest.hexdigest())
        try:
            with Image.open(root / file) as image:
                rgb(image)
        except Exception as error:  # of a broken file, decoders raise almost anything
            if isinstance(error, MemoryError) or getattr(error, "errno", None) is not None:
                raise  # the machine's fault
            broken[file] = str(error) or type(error).__name__
    return contents, broken


class _Batches:
    """The batches of one pass for the DataLoader's workers, which request them by number.

    A problem with an image is returned, not raised: the traceback of an error from a worker would
    keep the loader and its processes alive.
    """

    def __init__(self, stream, indices, batch_size, size, augment, seed, transform):
        self.root = stream.root
        self.indices = indices
        self.batch_size = batch_size
        self.files = stream.files
        self.size = size
        self.augment = augment
        self.seed = seed
        self.transform = transform

    def __len__(self) -> int:
        return -(-len(self.indices) // self.batch_size)

    def __getitem__(self, number: int) -> tuple[np.ndarray, np.ndarray, str]:
        start = number * self.batch_size
        positions = self.indices[start : start + self.batch_size]
        images = []
        for offset, index in enumerate(positions):
            path = self.root / self.files[index]
            try:
                with Image.open(path) as opened:
                    image = rgb(opened)
            except Exception as error:
                return positions, np.empty(0, np.uint8), (
                    f"image {path} cannot be read: {error}. "
                    "ImageStream.scan finds and skips such files"
                )  # fmt: skip
            images.append(self.cut(image, start + offset))
        return positions, np.stack(images), ""

    def cut(self, image: Image.Image, position: int) -> np.ndarray:
        """Return the image's part at this position of the order, uint8 [size, size, 3]."""
        if self.transform is not None:
            return channels_last(self.transform(image))
        width, height = image.size
        if self.augment:
            generator = np.random.default_rng((self.seed, position))
            box: tuple[float, float, float, float] = random_crop(width, height, generator)
            flip = generator.random() < 0.5
        else:
            side = min(width, height) / MARGIN
            left = (width - side) / 2
            top = (height - side) / 2
            box = (left, top, left + side, top + side)
            flip = False
        resized = image.resize((self.size, self.size), Image.Resampling.BILINEAR, box)
        if flip:  # by Pillow, in a fifth of the time that it takes to copy an array backwards
            resized = resized.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return np.asarray(resized)


def _shorten_sockets(worker: int) -> None:
    """Choose a folder for a worker's sockets.

    torch passes each batch by a socket in the folder of temporary files.  A path that is too long
    for a socket raises only in a thread of the worker, and the batch never arrives.
    """
    tempfile.tempdir = str(socket_folder(SOCKET))


def processors() -> int:
    """Return how many processors this process may use, which may be fewer than there are."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
