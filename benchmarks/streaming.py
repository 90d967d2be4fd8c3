"""Photographs from a disk to a training loop: images a second, against torchvision's way.

JPEG files as large as ImageNet's, in pixels and in bytes, are drawn once into a temporary folder.
Both sides read them in a random order, cut a part at random, bring it to 224 pixels, flip it by a
fair coin and put 128 of them together as bytes: here `ImageStream.batches`, there an `ImageFolder`
with `RandomResizedCrop` and `RandomHorizontalFlip`, read by a `DataLoader`; each with as many
processes.  Evaluation's way, the centre of each image, shows that both give the same pixels.

    python -m benchmarks.streaming
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.nn.functional import adaptive_avg_pool2d
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision.transforms import v2

from benchmarks.comparing import Comparison, agree
from helpers.data import ImageStream

WIDTH, HEIGHT, QUALITY, NOISE = 500, 375, 90, 11.0
"""Of the drawn files: 110 kB each, as those of ImageNet's training part (138 GB, 1.28 million)."""
DRAWN, CLASSES, IMAGES = 64, 8, 1024
SIZE, BATCH, ROUNDS = 224, 128, 3
WORKERS = (1, 2, 4)
SAME = 3.0
"""Of 255: how far apart both sides' pictures may be, on average, when each is reduced to 4x4."""


def draw(folder: Path, images: int = IMAGES) -> float:
    """Draw files in folders of classes, some over and over; return their mean size in kB."""
    generator, files = np.random.default_rng(0), []
    for number in range(min(DRAWN, images)):
        soft = Image.fromarray(generator.integers(0, 256, (6, 8, 3), np.uint8))
        pixels = np.asarray(soft.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC))
        noisy = pixels + generator.normal(0, NOISE, pixels.shape)
        file = folder / f"{number}.jpg"
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(file, quality=QUALITY)
        files.append(file.read_bytes())
        file.unlink()
    for number in range(images):
        place = folder / f"class_{number % CLASSES}"
        place.mkdir(exist_ok=True)
        (place / f"{number:05d}.jpg").write_bytes(files[number % len(files)])
    return sum(map(len, files)) / len(files) / 1000


def batches_of(loader: DataLoader) -> Iterator[torch.Tensor]:
    """Yield the images of torchvision's batches."""
    for images, _ in loader:
        yield images


def theirs(folder: Path, transforms: list, workers: int, *, shuffle: bool) -> DataLoader:
    """Return torchvision's loader of bytes."""
    images = datasets.ImageFolder(str(folder), v2.Compose([*transforms, v2.PILToTensor()]))
    return DataLoader(
        images, batch_size=BATCH, shuffle=shuffle, num_workers=workers,
        pin_memory=torch.cuda.is_available(),
    )  # fmt: skip


def check(stream: ImageStream, folder: Path) -> None:
    """Refuse to compare where the centres of the images are not the same."""
    centre = [v2.Resize(SIZE * 256 // 224), v2.CenterCrop(SIZE)]
    own = stream.in_order(batch_size=BATCH, size=SIZE, workers=0)
    other = batches_of(theirs(folder, centre, 0, shuffle=False))
    for here, there in zip(own, other, strict=True):
        small = [adaptive_avg_pool2d(one.double(), 4) for one in (here, there)]
        agree((small[0] - small[1]).abs().mean().item(), 0.0, within=SAME)


def passes(stream: ImageStream, folder: Path, workers: int) -> tuple[Callable, Callable]:
    """Return both sides' epochs, as functions."""
    order = np.random.default_rng(0).permutation(len(stream))
    cut = [v2.RandomResizedCrop(SIZE), v2.RandomHorizontalFlip()]
    loader = theirs(folder, cut, workers, shuffle=True)

    def ours() -> None:
        for _ in stream.batches(order, batch_size=BATCH, size=SIZE, augment=True, workers=workers):
            pass

    def other() -> None:
        for _ in batches_of(loader):
            pass

    return ours, other


def measure(folder: Path, images: int = IMAGES, rounds: int = ROUNDS) -> Comparison:
    """Measure with each number of processes."""
    comparison, kilobytes = Comparison("streaming"), draw(folder, images)
    stream = ImageStream.scan(folder, verify=False)
    check(stream, folder)
    size = f"{images:,} JPEG files of {WIDTH}×{HEIGHT} pixels, {kilobytes:.0f} kB"
    for workers in WORKERS:
        several = f"{workers} process" + "es" * (workers > 1)
        comparison.add(
            f"photographs, crops and flips, {several}", size, "torchvision's ImageFolder",
            *passes(stream, folder, workers), wanted=1, rounds=rounds,
        )  # fmt: skip
        row = comparison.rows[-1]
        found = [images / row[side] for side in ("ours", "theirs")]
        row["note"] = f"{found[0]:,.0f} images/s against {found[1]:,.0f}, {os.cpu_count()} cores"
        row["images"] = images
        print(row["note"], flush=True)
    return comparison


def main() -> None:
    """Measure in a temporary folder, and keep it."""
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder)).write()


if __name__ == "__main__":
    main()
