"""Parcels: images once, roles as they were, and few files that continue trainings elsewhere."""

import os
import tarfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.data import concatenate
from helpers.training import parcels
from tests.papers.toys import images

FIRST = ["p", "t", "0/a"]


@pytest.fixture
def parcel(tmp_path, monkeypatch):
    """Return a written parcel and its roles: one role of two sets, and roles by key."""
    monkeypatch.setattr(parcels, "IMAGES", 10)
    monkeypatch.setenv("PARCEL", str(tmp_path))
    train = images(14)
    test = images(6, seed=1)
    mixed = concatenate([train.subset(np.arange(12, 3, -1)), test.subset([0])], "mixed")
    single = SimpleNamespace(train=train, test=test, external=mixed.unknown(), near="not used")
    several = {seed: SimpleNamespace(train=part) for seed, part in ((0, train), (1, mixed))}
    writer = parcels.Writer()
    writer.add(FIRST, single)
    writer.add([*FIRST, "jpeg=75"], several)
    writer.write(tmp_path, "abc")
    return parcels.Parcel.current(), single, several


def test_roles_come_back_with_their_content(parcel):
    current, single, several = parcel
    roles = current.roles(*FIRST)
    assert current.commit == "abc"
    assert not hasattr(roles, "near")
    for role in parcels.ROLES:
        given = getattr(single, role)
        back = getattr(roles, role)
        assert (back.sha256, back.class_names) == (given.sha256, given.class_names)
    by_key = current.roles(*FIRST, "jpeg=75")
    assert {key: split.train.sha256 for key, split in by_key.items()} == {
        key: split.train.sha256 for key, split in several.items()
    }


def test_each_image_is_written_once_and_first_trainings_need_the_first_packs(parcel, tmp_path):
    current, *_ = parcel
    packs = sorted(tmp_path.glob("*.zip"))
    assert [path.name for path in packs] == ["images_000.zip", "images_001.zip"]
    sizes = [len(parcels.read_pack(path, "train")) for path in packs]
    assert sizes == [10, 10]  # of 14 + 6 + 10 + 14 + 10 images
    packs[1].unlink()
    with pytest.raises(FileNotFoundError, match=r"images_001\.zip: this pack of the parcel is mi"):
        current.roles(*FIRST)
    packs[0].unlink()
    assert parcels.Parcel.current().entries == current.entries


def test_no_variable_is_no_parcel(monkeypatch):
    monkeypatch.delenv("PARCEL", raising=False)
    assert parcels.Parcel.current() is None


def write(root, name, content="1", time=1000.0):
    (path := root / name).parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (time, time))
    return path


def test_a_cache_is_continued_from_tar_files(tmp_path):
    """A newer file stays, a file of before a time is left out, as is all that is no result."""
    root, other, folder = (tmp_path / name for name in ("root", "other", "folder"))
    kept = "networks/a.safetensors networks/b.partial queue/c.txt diverged/d.json"
    for name in f"{kept} exports/small/networks/p/e.safetensors".split():
        write(root, name)
    write(root, "outputs/f.safetensors")
    write(root, "networks/.g.partial")
    write(root, "networks/old.safetensors", time=10.0)
    (root / "networks" / "vanished.partial").symlink_to("nowhere")
    write(folder, "results_3.tar")  # of an earlier call
    parcels.write_shards(root, folder, "results", since=1000.0)
    newer = write(other, "networks/b.partial", "newer", time=2000.0)
    older = write(other, "queue/c.txt", "older", time=5.0)
    (shard,) = folder.iterdir()
    with tarfile.open(shard) as archive:
        names = [Path(name).name for name in archive.getnames()]
    assert names == "e.safetensors c.txt d.json a.safetensors b.partial".split()
    assert parcels.unpack(shard, other) == 4
    assert newer.read_text() == "newer"
    assert older.read_text() == "1"
    assert (other / "networks" / "a.safetensors").stat().st_mtime == 1000.0
    assert parcels.unpack(shard, other) == 0


def test_files_without_space_are_named_and_no_file_is_too_large(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(parcels, "BYTES", 20_000)
    root = tmp_path / "root"
    folder = tmp_path / "folder"
    for name in "abcdef":
        write(root, f"networks/{name}.partial", name * 9000)
    write(root, "networks/0.partial", "0" * 30_000)
    parcels.write_shards(root, folder, "results")
    assert [path.name for path in sorted(folder.iterdir())] == [
        f"results_{number}.tar" for number in range(parcels.SHARDS)
    ]
    assert "e.partial: left out" in (printed := capsys.readouterr().out)
    assert "f.partial" in printed
    assert all(path.stat().st_size <= 24_000 for path in folder.iterdir())


def test_a_tar_file_cannot_write_elsewhere(tmp_path):
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("../../elsewhere.txt"))
    with pytest.raises(tarfile.OutsideDestinationError):
        parcels.unpack(tmp_path / "bad.tar", tmp_path / "root")
    assert not (tmp_path.parent / "elsewhere.txt").exists()
