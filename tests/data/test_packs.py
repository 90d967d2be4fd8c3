"""Packs, and the script that makes them: damage is found, named and never half-used."""

import io
import json
import zipfile
from dataclasses import replace
from itertools import product
from unittest.mock import Mock

import make_packs as script
import numpy as np
import pytest
from pack_content import of_splits
from PIL import Image

from helpers.data import class_lists, load, names, read_pack, write_pack
from helpers.data.sources import with_superclasses
from helpers.files import sha256_file
from tests.data.test_images import some

ORIGIN = {"title": "Noise", "source": "a generator", "licence": "CC0"}


def noise(count, size=2, seed=0):
    return some(count, size, seed).images


def write(path, **changes):
    test = noise(7, size=4, seed=1), [0, 1, 2, -1, 0, 1, 2]
    splits = {"train": (noise(1030), np.arange(1030) % 3), "test": test}
    fields = {"name": "noise", "class_names": ["a", "b", "ü"], "splits": splits, "origin": ORIGIN}
    return write_pack(path, **fields | changes)


@pytest.fixture
def pack(tmp_path):
    write(tmp_path / "noise.zip")
    return tmp_path / "noise.zip"


def rewrite(path, *, edit=dict.copy, meta=dict.copy):
    """Write a pack again as a sound zip, with changed {member: bytes} or values of meta.json."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    meta(values := json.loads(members["meta.json"]))
    edit(members := members | {"meta.json": json.dumps(values).encode()})
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def jpeg(size, colour):
    Image.new("RGB", (size, size), colour).save(buffer := io.BytesIO(), "JPEG")
    return buffer.getvalue()


def test_jpeg_files_are_kept_byte_for_byte(tmp_path):
    path = tmp_path / "noise.zip"
    files = [jpeg(16, "white"), jpeg(16, "black")]
    write(path, splits={"test": (files, [0, 1], [1, 0])}, coarse_class_names=["x", "y"])
    with zipfile.ZipFile(path) as archive:
        assert [archive.read(name) for name in archive.namelist()[:2]] == files
    images = read_pack(path, "test")
    assert images.images.mean(axis=(1, 2, 3)).tolist() == [255, 0]
    assert images.coarse_labels.tolist() == [1, 0]
    assert images.coarse_class_names == ("x", "y")
    write(path, splits={"test": ([jpeg(16, "white"), jpeg(12, "black")], [0, 1])})
    with pytest.raises(ValueError, match="differ in size"):
        read_pack(path, "test")
    assert read_pack(path, "test", size=8).images.shape == (2, 8, 8, 3)


def test_a_failure_in_the_middle_leaves_the_old_pack(tmp_path, monkeypatch):
    path = tmp_path / "noise.zip"
    before = write(path)
    monkeypatch.setattr(Image.Image, "save", Mock(side_effect=OSError("no space left")))
    with pytest.raises(OSError, match="no space left"):
        write(path, origin={})
    assert sha256_file(path) == before
    assert list(tmp_path.iterdir()) == [path]


def test_any_flipped_byte_is_found_or_without_effect(tmp_path):
    """Two hundred packs, each with one byte changed: never other images than those written."""
    path = tmp_path / "noise.zip"
    generator = np.random.default_rng(3)
    refused = 0
    write(path, splits={"test": (noise(20, seed=2), np.arange(20) % 3)})
    right = read_pack(path, "test")
    data = path.read_bytes()
    for position in generator.choice(len(data), 200, replace=False):
        flipped = bytearray(data)
        flipped[position] ^= 1 << int(generator.integers(8))
        path.write_bytes(flipped)
        try:
            images = read_pack(path, "test")
        except ValueError as error:
            assert "noise.zip" in str(error)
            refused += 1
        else:  # a field without meaning here, such as the date
            assert (images.sha256, images.class_names) == (right.sha256, right.class_names)
    assert refused > 100


def lengthen(members):
    """Let a sheet end with one byte more, which its decoder does not look at."""
    members["test_0000.webp"] += b"\0"


META = "meta.json differs from its SHA-256"
ALTERED = [
    ("edit", lengthen, "member test_0000.webp differs from its SHA-256"),
    ("meta", lambda values: values["splits"]["test"].update(labels=[1] * 7), META),
    ("meta", lambda values: values["sha256"].popitem(), META),
    ("edit", lambda members: members.pop("test_0000.webp"), "1 members, but has 7 labels and 0"),
    ("edit", lambda members: members.pop("meta.json"), "member meta.json is missing"),
    ("edit", lambda members: members.update({"meta.json": b"{"}), "meta.json is not JSON"),
    ("edit", lambda members: members.update({"meta.json": b"[]"}), "cannot be read"),
    ("edit", lambda members: members.update({"test_0001.webp": b""}), "2 members"),
]


@pytest.mark.parametrize(("part", "change", "message"), ALTERED)
def test_altered_member(pack, part, change, message):
    rewrite(pack, **{part: change})
    with pytest.raises(ValueError, match=rf"(?s){pack}.*{message}.*make_packs.py from-folder"):
        read_pack(pack, "test")


def test_only_the_requested_split_is_read(tmp_path, pack):
    rewrite(pack, edit=lengthen)
    assert len(read_pack(pack, "train")) == 1030
    with pytest.raises(ValueError, match="did you mean 'train'"):
        read_pack(pack, "trian")
    with pytest.raises(FileNotFoundError, match=r"svhn\.zip.*from-torchvision svhn --download"):
        read_pack(tmp_path / "svhn.zip", "train")


def test_a_pack_of_another_program_has_its_name_as_title(pack):
    """The pack has no origin and no checksums."""
    rewrite(pack, meta=lambda values: [values.pop(name) for name in ("sha256", "origin")])
    assert read_pack(pack, "test").origin == {"title": "noise"}


def test_tiny_imagenet_is_made_again_from_imagenet(root, monkeypatch):
    """Only its classes are used, with all their images and a filter."""
    wnids = list(class_lists.wnids_of("tiny_imagenet"))[:2]
    monkeypatch.setattr(script.class_lists, "wnids_of", lambda name: dict.fromkeys(wnids))
    monkeypatch.setattr(script, "FIXED", {"train": 3, "val": 1})
    stripes = np.zeros((96, 128, 3), np.uint8)
    stripes[::2] = 255  # of which a filter makes grey, and leaving out rows black or white
    for part, wnid in product(("train", "val"), (*wnids, "n99999999")):
        (folder := root / "imagenet" / part / wnid).mkdir(parents=True)
        for number in range(5):
            Image.fromarray(np.roll(stripes, number, axis=0)).save(folder / f"{number}.png")
    script.main(["tiny-imagenet-fix"])
    train, val = (load("tiny_imagenet_fix", split) for split in ("train", "val"))
    assert train.class_names == tuple(wnids)
    assert train.images.shape == (6, 32, 32, 3)
    assert np.bincount(train.labels).tolist() == [3, 3]
    assert len(val) == 2
    assert abs(train.images.astype(int) - 128).max() < 40
    (root / "tiny_imagenet_fix.zip").unlink()
    for path in (root / "imagenet" / "val" / wnids[0]).iterdir():
        path.write_bytes(b"no picture")
    with pytest.raises(OSError, match="cannot identify"):
        script.main(["tiny-imagenet-fix", "--force"])
    assert not (root / "tiny_imagenet_fix.zip").exists()


def test_a_folder_is_packed_and_a_pack_replaced_only_by_force(tmp_path, root):
    for name, colour in (("cat", "white"), ("dog", "black")):
        (tmp_path / "pets" / name).mkdir(parents=True)
        Image.new("RGB", (40, 20), colour).save(tmp_path / "pets" / name / "1.png")
    command = ["from-folder", str(tmp_path / "pets"), "holiday", "--root", str(root)]
    script.main([*command, "--size", "16"])
    before = (root / "holiday.zip").read_bytes()
    with pytest.raises(FileExistsError, match=r"holiday\.zip exists already; --force replaces"):
        script.main(command)
    assert (root / "holiday.zip").read_bytes() == before
    script.main([*command, "--force"])
    images = load("holiday", "test")
    assert images.class_names == ("cat", "dog")
    assert images.images.shape == (2, 32, 32, 3)
    assert images.images.mean(axis=(1, 2, 3)).tolist() == [255, 0]


def test_cifar100_has_its_superclasses_also_from_torchvision():
    """Its reader has the classes alone; unknown detection draws within superclasses."""
    whole = load("cifar100_mini", "test")
    read = replace(whole, coarse_labels=None, coarse_class_names=None)
    content = of_splits({"test": with_superclasses(read)}, {})
    assert content.coarse_class_names == whole.coarse_class_names
    assert np.array_equal(content.splits["test"][2], whole.coarse_labels)


def test_an_archive_of_another_program_is_no_pack(root):
    with zipfile.ZipFile(root / "tiny-imagenet-200.zip", "w") as archive:
        archive.writestr("train/a.txt", "")
    (root / "half.zip").write_bytes(b"PK")
    assert not {"tiny-imagenet-200", "half"} & {*names()}
