"""Packs: what is written is read again; what is damaged is found, named and never half-used."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest
from PIL import Image

from helpers.data import read_pack, write_pack
from helpers.data.packs import LARGEST_TILE
from helpers.files import sha256_file

ORIGIN = {"title": "Noise", "source": "a generator", "licence": "CC0"}


def noise(count, size=2, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), dtype=np.uint8)


def write(path, **changes):
    fields = {
        "name": "noise",
        "class_names": ["a", "b", "ü"],
        "splits": {
            "train": (noise(1030), np.arange(1030) % 3),
            "test": (noise(7, size=4, seed=1), [0, 1, 2, -1, 0, 1, 2]),
        },
        "origin": ORIGIN,
    }
    return write_pack(path, **fields | changes)


@pytest.fixture
def pack(tmp_path):
    write(tmp_path / "noise.zip")
    return tmp_path / "noise.zip"


def rewrite(path, edit):
    """Write the pack again as a sound zip after `edit` has changed its {member: bytes}."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    edit(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def edit_meta(edit):
    """Return an edit of a pack's members that changes its meta.json."""

    def change(members):
        meta = json.loads(members["meta.json"])
        edit(meta)
        members["meta.json"] = json.dumps(meta).encode()

    return change


def strip_checksums(meta, **part):
    """Turn into a pack that another program might have written, without checksums of its own."""
    del meta["sha256"], meta["origin"]
    meta["splits"]["test"] |= part


def test_coarse_labels(tmp_path):
    path = tmp_path / "noise.zip"
    splits = {"test": (noise(4), [0, 1, 2, 0], [1, 1, 0, 1])}
    write(path, splits=splits, coarse_class_names=["x", "y"])
    images = read_pack(path, "test")
    assert images.coarse_labels.tolist() == [1, 1, 0, 1]
    assert images.coarse_class_names == ("x", "y")


def jpeg(size, colour):
    buffer = io.BytesIO()
    Image.new("RGB", (size, size), colour).save(buffer, "JPEG")
    return buffer.getvalue()


def test_jpeg_files_are_kept_byte_for_byte(tmp_path):
    path = tmp_path / "noise.zip"
    files = [jpeg(16, "white"), jpeg(16, "black")]
    write(path, splits={"test": (files, [0, 1])})
    with zipfile.ZipFile(path) as archive:
        assert [archive.read(name) for name in archive.namelist()[:2]] == files
    assert read_pack(path, "test").images.mean(axis=(1, 2, 3)).tolist() == [255, 0]
    assert read_pack(path, "test", size=8).images.shape == (2, 8, 8, 3)
    write(path, splits={"test": ([jpeg(16, "white"), jpeg(12, "black")], [0, 1])})
    with pytest.raises(ValueError, match="differ in size"):
        read_pack(path, "test")
    assert read_pack(path, "test", size=8).images.shape == (2, 8, 8, 3)


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ({"test": (noise(3), [0, 1])}, "labels"),
        ({"test": (noise(3), [0, 1, 3])}, "labels: values"),
        ({"test": (noise(3), [0.0, 1.0, 2.0])}, "labels: int64"),
        ({"test": (noise(3)[:, :1], [0, 1, 2])}, r"\[N, S, S, 3\]"),
        ({"test": (noise(1, size=LARGEST_TILE + 1), [0])}, "JPEG"),
        ({"test": (noise(3).astype(float), [0, 1, 2])}, "uint8"),
        ({"test": ([b"GIF89a"], [0])}, "image 0 of 'test' is not a JPEG"),
        ({"test": (noise(0), [])}, "no images"),
        ({"../test": (noise(1), [0])}, "name"),
    ],
)
def test_unfit_content_is_refused_and_nothing_is_written(tmp_path, splits, message):
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "noise.zip", splits=splits)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_in_the_middle_leaves_the_old_pack(tmp_path, monkeypatch):
    path = tmp_path / "noise.zip"
    before = write(path)

    def full(*arguments, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(OSError, match="no space left"):
        write(path, origin={})
    assert sha256_file(path) == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_unknown_split_and_a_missing_file(tmp_path, pack):
    with pytest.raises(ValueError, match="did you mean 'train'"):
        read_pack(pack, "trian")
    with pytest.raises(FileNotFoundError, match=r"svhn\.zip.*from-torchvision svhn --download"):
        read_pack(tmp_path / "svhn.zip", "train")


def test_any_flipped_byte_is_found_or_without_effect(tmp_path):
    """Two hundred packs, each with one byte changed: never other images than those written."""
    path, other = tmp_path / "noise.zip", tmp_path / "noise2.zip"
    splits = {"test": (noise(20, seed=2), np.arange(20) % 3)}
    write(path, splits=splits)
    right, data = read_pack(path, "test"), path.read_bytes()
    generator = np.random.default_rng(3)
    found = 0
    for position in generator.choice(len(data), 200, replace=False):
        flipped = bytearray(data)
        flipped[position] ^= 1 << int(generator.integers(8))
        other.write_bytes(flipped)
        try:
            images = read_pack(other, "test")
        except ValueError as error:
            assert "noise2.zip" in str(error)
            found += 1
        else:  # a field without meaning here, such as the date
            assert images.sha256 == right.sha256
            assert images.class_names == right.class_names
    assert found > 100


def recode(members):
    buffer = io.BytesIO()
    black = Image.new("RGB", Image.open(io.BytesIO(members["test_0000.webp"])).size)
    black.save(buffer, "WEBP", lossless=True)
    members["test_0000.webp"] = buffer.getvalue()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (recode, "member test_0000.webp is not what its SHA-256 says"),
        (
            edit_meta(lambda meta: meta["splits"]["test"].update(labels=[1] * 7)),
            "meta.json is not what its SHA-256 says",
        ),
        (
            edit_meta(lambda meta: meta["sha256"].pop("test_0000.webp")),
            "meta.json is not what its SHA-256 says",
        ),
        (lambda members: members.pop("test_0000.webp"), "1 members, but has 7 labels and 0"),
        (lambda members: members.pop("meta.json"), "member meta.json is missing"),
        (lambda members: members.update({"meta.json": b"{"}), "meta.json is not JSON"),
        (lambda members: members.update({"meta.json": b"[]"}), "cannot be read"),
        (lambda members: members.update({"test_0001.webp": b""}), "2 members"),
    ],
)
def test_altered_member(pack, edit, message):
    rewrite(pack, edit)
    with pytest.raises(ValueError, match=message) as caught:
        read_pack(pack, "test")
    assert str(pack) in str(caught.value)
    assert "python workflow/make_packs.py from-folder" in str(caught.value)


def test_only_the_split_asked_for_is_looked_at(pack):
    rewrite(pack, recode)
    assert len(read_pack(pack, "train")) == 1030


def test_a_table_beside_the_pack_gives_origin_and_checksum(pack):
    rewrite(pack, edit_meta(strip_checksums))
    table = pack.with_name("DATASETS.md")

    def describe(digest):
        table.write_text(
            "| name | what | origin | licence | sha256 |\n|---|---|---|---|---|\n"
            f"| noise | Noise | a generator | CC0 | {digest} |\n"
        )

    describe(sha256_file(pack))
    assert read_pack(pack, "test").origin == ORIGIN
    describe(hashlib.sha256(b"another file").hexdigest())
    with pytest.raises(ValueError, match=r"noise\.zip.*DATASETS\.md"):
        read_pack(pack, "test")
    table.unlink()
    assert read_pack(pack, "test").origin == {"title": "noise"}
