"""Packs of photographs for training: bytes at 256 pixels in one memory-mapped file.

A pack is ``train.bytes``, uint8 [N, 256, 256, 3] without a header, and its record ``train.json``,
in the folder of a streamed data set.  `helpers.data.open_stream` then reads the pack instead of the
photographs: it decodes no image and starts no process.  A photograph is resized by a bilinear,
antialiased filter until its shorter side has 256 pixels, and its central square is kept.

Training on a pack deviates from training on the folder: a random crop is a part of the central
square.  It never shows what is beyond the square, and small crops are enlarged from fewer pixels.
Outputs do not deviate: the central 224 pixels of a pack are the pixels that the folder gives.

On one core, a pack gives 2,450 random crops in a second, and a folder of JPEG files of 500x400
pixels and 80 kB gives 470.  Pillow decodes these files for the pack.  torchvision decodes 1,020 of
them in a second and Pillow 770, with equal pixels; but with the resize, for which Pillow copies the
pixels of torchvision, it is 380 with torchvision and 430 without.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from helpers import cache
from helpers.data.pixels import random_crop
from helpers.data.stream import ImageStream

SHAPE = 256, 256, 3
BYTES = 3 * 256**2  # of an image
CENTRE = 16, 16, 240, 240  # what evaluation shows: left, top, right, bottom
BLOCK = 256  # images in memory at once while a pack is written
GPU = "cuda"
SHARE = 3 / 4  # of the GPU's free memory for images; the network needs the rest
CODE = cache.code("helpers.data.photograph_packs")  # hash of this code for keys


class PackedStream(ImageStream):
    """The images of a pack: `root` is its file, `contents` are the numbers of the images in it."""

    @classmethod
    def read(cls, path: Path) -> PackedStream:
        """Open a pack; raise ValueError if a file is missing or of another size."""
        try:
            record = json.loads(path.with_suffix(".json").read_text("utf-8"))
            numbers = np.arange(len(record["labels"]))
            if path.stat().st_size != len(numbers) * BYTES:
                raise ValueError(f"{len(numbers)} images of {BYTES} bytes expected")
        except (ValueError, KeyError, OSError) as error:
            raise ValueError(
                f"{path}: the pack or its record is damaged ({error}). Remove the pack, or make it "
                f"again with `workflow/make_packs.py photographs {path.parent.name} --force`"
            ) from error
        stream = cls(path, **record, sizes=np.full(len(numbers), BYTES), contents=numbers)
        return stream.select(stream.class_names)  # of arrays and tuples, not of lists

    @cached_property
    def sha256(self) -> str:
        """Hexadecimal digest of the photographs, the images' numbers, the labels and this code."""
        return cache.key(pack=self.origin["sha256"], images=super().sha256, code=CODE)

    def batches(
        self, indices, *, batch_size, size=224, augment=False, seed=0, transform=None, workers=None
    ):
        """Yield images in any order, with the boxes of `ImageStream.batches`, without workers.

        Images for training are cropped on the GPU if there is one, and stay there if all fit.
        """
        import torch

        if transform is not None:
            raise ValueError(f"transform: whole photographs expected, got the pack {self.root}")
        on_gpu = augment and torch.cuda.is_available()
        read = self._read_for_gpu if on_gpu else self._read
        for start in range(0, len(indices), batch_size):
            positions = np.asarray(indices[start : start + batch_size])
            crops = []
            for rank, position in enumerate(positions, start):
                image = read(position)
                if on_gpu:  # which resizes no bytes
                    image = image.to(GPU, torch.float32)
                generator = np.random.default_rng((seed, rank))
                box = random_crop(*SHAPE[:2], generator) if augment else CENTRE
                left, top, right, bottom = box
                crop = torch.nn.functional.interpolate(
                    image[top:bottom, left:right].permute(2, 0, 1)[None],
                    (size, size),
                    mode="bilinear",
                    antialias=True,
                )
                flips = augment and generator.random() < 0.5
                crops.append(crop.flip(3) if flips else crop)
            yield positions, torch.cat(crops).round().to(torch.uint8)

    @cached_property
    def _pixels(self) -> np.ndarray:
        return np.memmap(self.root, mode="r").reshape(-1, *SHAPE)

    def _read(self, position):
        import torch

        return torch.tensor(self._pixels[self.contents[position]])

    @cached_property
    def _read_for_gpu(self) -> Callable:
        """Return the function that reads an image, from the GPU's memory if all images fit."""
        import torch

        if len(self) * BYTES > SHARE * torch.cuda.mem_get_info()[0]:
            return self._read
        images = torch.empty((len(self), *SHAPE), dtype=torch.uint8, device=GPU)
        for position in range(len(self)):
            images[position] = self._read(position)
        return images.__getitem__


def write_photographs(path: Path) -> None:
    """Write a pack of the photographs in its folder; a later call continues after an interruption.

    Until the pack is complete, its first images are in ``SPLIT.DIGEST.partial``; the digest depends
    on all photographs.  An older pack is removed first.  Memory does not grow with the images.
    """
    from tqdm import tqdm

    stream = ImageStream.scan(path.parent, split=path.stem)
    digest = cache.key(images=stream.sha256, code=CODE)
    record = {name: getattr(stream, name) for name in ("files", "class_names", "name", "split")}
    record["labels"] = stream.labels.tolist()
    record["origin"] = stream.origin | {"sha256": digest}
    path.unlink(missing_ok=True)
    partial = path.with_suffix(f".{digest}.partial")
    for other in {*path.parent.glob(f"{path.stem}.*.partial")} - {partial}:
        other.unlink()  # of other photographs
    with open(partial, "ab") as file:
        done = file.tell() // BYTES
        file.truncate(done * BYTES)
        rest = np.arange(done, len(stream))
        batches = stream.batches(rest, batch_size=BLOCK, transform=_square)
        bar = tqdm(batches, path.stem, -(-len(rest) // BLOCK), disable=None)
        file.writelines(images.permute(0, 2, 3, 1).numpy() for _, images in bar)
    path.with_suffix(".json").write_text(json.dumps(record), "utf-8")
    partial.replace(path)


def _square(image: Image.Image) -> np.ndarray:
    square = ImageOps.fit(image, SHAPE[:2], Image.Resampling.BILINEAR)
    return np.moveaxis(np.asarray(square), 2, 0)
