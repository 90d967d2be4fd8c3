"""Packs of photographs: the folder's pixels, crops by seed, interruptions, damaged files."""

import json
import os
import tracemalloc
from unittest.mock import Mock

import make_packs
import numpy as np
import pytest
import torch
from PIL import Image

from helpers.data import open_stream, resize
from helpers.data import photograph_packs as packs
from helpers.data.photograph_packs import BYTES, PackedStream
from helpers.data.stream import ImageStream

NAME = "imagenet", "train"


@pytest.fixture
def path(root):
    """Write a pack of five photographs, of which the last three have the size of the pack."""
    folder = root / "imagenet/train/ant"
    folder.mkdir(parents=True)
    for number, size in enumerate([(300, 271), (90, 410), *3 * [(256, 256)]]):
        patches = np.random.default_rng(number).integers(0, 256, (9, 9, 3), np.uint8)
        Image.fromarray(patches).resize(size).save(folder / f"{number}.jpg")
    make_packs.main(["photographs", "imagenet"])
    return root / "imagenet/train.bytes"


def crops(seed=3, stream=None, count=2, **options):
    read = (stream or open_stream(*NAME)).batches
    batches = read([4, 2, 3], batch_size=count, augment=True, seed=seed, **options)
    return torch.cat([images for _, images in batches]).int()


def test_a_pack_has_the_pixels_of_its_folder(path):
    folder = ImageStream.scan(path.parent, split="train")
    packed = open_stream(*NAME)
    for pixels, file in zip(np.memmap(path).reshape(-1, 256, 256, 3), folder.files, strict=True):
        photograph = np.asarray(Image.open(folder.root / file))[np.newaxis]
        assert np.array_equal(pixels, resize(photograph, 256, kernel="bilinear")[0])
    few = packed.subset([4, 0])
    assert np.array_equal(few.pictures([1, 0], size=224), folder.pictures([0, 4], size=224))
    assert len({part.sha256 for part in (folder, packed, few, packed.unknown())}) == 4


def test_crops_have_the_boxes_of_the_folder(path):
    """Borders differ: the folder's crops also count the pixels next to a box."""
    assert torch.equal(crops(), crops(count=3))
    assert not torch.equal(crops(), crops(seed=4))
    folder = ImageStream.scan(path.parent, split="train")
    difference = (crops() - crops(stream=folder, workers=0)).abs()
    assert difference[:, :, 5:-5, 5:-5].max() <= 1


@pytest.mark.parametrize(("free", "reads"), [(6, 6), (7, 5)])
def test_a_gpu_crops_the_same_and_keeps_images_that_fit(path, monkeypatch, free, reads):
    """The CPU takes the place of the GPU; two epochs of three of five images."""
    on_cpu = crops()
    packed = open_stream(*NAME)
    monkeypatch.setattr(packs, "GPU", "cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (free * BYTES, 0))
    monkeypatch.setattr(PackedStream, "_read", read := Mock(side_effect=packed._read))
    for _ in range(2):
        assert (crops(stream=packed) - on_cpu).abs().max() <= 1
    assert read.call_count == reads


def test_an_interrupted_pack_is_continued(path):
    """Meanwhile the folder is read; a part of an image is written again."""
    whole = path.read_bytes()
    digest = open_stream(*NAME).origin["sha256"]
    path.unlink()
    path.with_suffix(f".{digest}.partial").write_bytes(bytes(2 * BYTES) + b"part")
    assert type(open_stream(*NAME)) is ImageStream
    make_packs.main(["photographs", "imagenet"])
    assert path.read_bytes() == bytes(2 * BYTES) + whole[2 * BYTES :]


def test_a_process_waits_for_the_lock_before_it_looks_for_the_pack(path, monkeypatch):
    monkeypatch.setattr(make_packs, "locked", Mock(side_effect=InterruptedError))
    with pytest.raises(InterruptedError):
        make_packs.main(["photographs", "imagenet"])


def test_damaged_packs_are_refused_and_memory_does_not_grow_with_a_pack(path):
    """Four gigabytes of zeros take no space on the disk."""
    about = path.with_suffix(".json")
    many = {"labels": [0] * 20_000, "files": ["0"] * 20_000}
    large = json.dumps(json.loads(about.read_text()) | many)
    for text, reason in {"": "Expecting", large: "20000 images"}.items():
        about.write_text(text)
        with pytest.raises(ValueError, match=rf"{reason}.*make_packs.py photographs imagenet --f"):
            crops()
    os.truncate(path, 20_000 * BYTES)
    tracemalloc.start()
    assert len(crops()) == 3
    assert tracemalloc.get_traced_memory()[1] < 50 * BYTES
    tracemalloc.stop()
