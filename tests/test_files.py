"""Files that are written whole or not at all, kept values, checkpoints, and checked arguments."""

import os
import tracemalloc
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from helpers import cache, checkpoints, files
from helpers.checks import has_type


def test_a_failed_write_leaves_only_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    message = r"a\.txt could not be written: no space left"
    with pytest.raises(OSError, match=message), files.atomic_path(target) as temporary:
        temporary.write_text("half")
        assert target.read_text() == "old"  # so that a kill leaves it, too
        raise OSError("no space left on device")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]
    with files.atomic_path(tmp_path / "new" / "a.npz") as temporary:  # folders are made
        assert temporary.name.startswith(".")
        assert temporary.suffix == ".npz"
    assert (tmp_path / "new" / "a.npz").exists()


def test_folders_are_read_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    assert files.data_root() == tmp_path
    monkeypatch.delenv("CACHE_ROOT", raising=False)
    assert files.cache_root() == files.project_root() / "cache"
    monkeypatch.setenv("CACHE_ROOT", "relative")
    assert files.cache_root() == files.project_root() / "relative"


def read(path):
    if path.read_text() != "good":
        raise ValueError(f"{path}: damaged")
    return "good"


def test_a_damaged_file_is_renamed_logged_and_made_again(tmp_path, root, caplog):
    path = tmp_path / "a"
    path.write_text("goo")
    assert cache.load_or_make(path, read, lambda where: where.write_text("good")) == "good"
    assert (tmp_path / "a.damaged").read_text() == "goo"
    assert str(path) in caplog.text
    with pytest.raises(ValueError, match="damaged"):  # what is made badly is not loaded
        cache.load_or_make(tmp_path / "b", read, lambda where: where.write_text("bad"))
    load = Mock(side_effect=[ValueError, "made by another process"])  # after the first look
    assert cache.load_or_make(path, load, None) == "made by another process"


def test_keys_differ_with_content_and_code():
    assert cache.key(a=1) != cache.key(a=1.5) != cache.key(b=1)
    first = "helpers.networks.backbones.create"
    second = "helpers.outputs"
    both = cache.code(first, second)
    assert cache.code(first) != cache.code(second) != both == cache.code(second, first)


def test_a_value_is_computed_once_and_again_where_its_file_was_altered(tmp_path, root):
    values = ({"a": [0.1, float("inf"), "é"], "n": n} for n in (1, 2, 3))
    for _ in range(2):
        value = cache.value("kind", "key", lambda: next(values))
        assert value == {"a": [0.1, float("inf"), "é"], "n": 1}
    (path,) = (tmp_path / "cache" / "kind").iterdir()
    path.write_text(path.read_text(encoding="utf-8").replace("0.1", "0.7"), encoding="utf-8")
    assert cache.value("kind", "key", lambda: next(values))["n"] == 2
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.value("kind", "key", lambda: next(values))["n"] == 3


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "a.safetensors"
    checkpoints.save(path, {"w": torch.arange(6.0).reshape(2, 3)}, epochs=[1])
    return path


def test_arrays_do_in_the_place_of_tensors(tmp_path):
    """The digest is of names, types, shapes and values, and either kind reads the other's file."""
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    arrays = {"w": w, "by columns": np.arange(6.0).reshape(2, 3).T, "n": np.array(3)}
    arrays["b"] = np.array([True, False])
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    others = [{"v": w}, {"w": w.reshape(3, 2)}, {"w": w.astype(float)}, {"w": w + 1}, {"w": w}]
    assert len({checkpoints.digest(each) for each in others}) == len(others)
    assert checkpoints.digest(arrays) == checkpoints.digest(tensors)
    for given, framework, kind in ((arrays, "pt", torch.Tensor), (tensors, "np", np.ndarray)):
        checkpoints.save(tmp_path / "a.safetensors", given, epochs=2)
        read, information = checkpoints.load(tmp_path / "a.safetensors", framework=framework)
        assert information == {"epochs": 2}
        for name, expected in arrays.items():
            assert isinstance(read[name], kind)
            assert read[name].shape == expected.shape
            assert np.array_equal(np.asarray(read[name]), expected)
    checkpoints.save(tmp_path / "a.safetensors", {"w": tensors["w"], "v": w})
    assert torch.equal(checkpoints.load(tmp_path / "a.safetensors")[0]["v"], tensors["w"])


def test_a_digest_copies_no_array():
    arrays = {"w": np.zeros(10**6), "c": np.zeros((3, 10**5))}
    tracemalloc.start()
    checkpoints.digest(arrays)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 10**5  # bytes


FOREIGN = "no file that this project wrote"
WHOLE = "not a whole checkpoint .*; "


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda content: content.replace(b"[1]", b"[2]"),
            "its contents do not match",
        ),  # information
        (
            lambda content: content.replace(b"\x40", b"\x41"),
            "its contents do not match",
        ),  # a tensor
        *((lambda content, keep=keep: content[:keep], FOREIGN) for keep in (0, 4, 50)),
        (lambda content: content[:-1], WHOLE + "write or copy it again$"),
    ],
)
def test_an_altered_or_truncated_file_is_found(saved, change, message, monkeypatch):
    """The advice to delete a file is only for truncated files of the cache."""
    saved.write_bytes(change(saved.read_bytes()))
    with pytest.raises(ValueError, match=rf"a\.safetensors: {message}"):
        checkpoints.load(saved)
    monkeypatch.setenv("CACHE_ROOT", str(saved.parent))
    message = message if "contents" in message else WHOLE + "delete it$"
    with pytest.raises(ValueError, match=rf"a\.safetensors: {message}"):
        checkpoints.load(saved)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.npz", lambda path: np.savez(path, logits=np.eye(3))),
        ("a.pt", lambda path: torch.save({"weight": torch.eye(3)}, path)),
        ("report.html", lambda path: path.write_text("<html>" + 99 * "<p>A report.</p>")),
        (
            "model.safetensors",
            lambda path: save_file({"weight": np.eye(3)}, path, {"format": "np"}),
        ),
    ],
)
def test_a_file_of_another_program_is_never_to_be_deleted(tmp_path, name, write):
    write(tmp_path / name)
    for framework in ("np", "pt"):
        with pytest.raises(ValueError, match=f"{name}: {FOREIGN}") as refused:
            checkpoints.load(tmp_path / name, framework=framework)
        assert "delete" not in str(refused.value)


@pytest.mark.parametrize(("value", "kind", "expected"), [
    (1.5, int, False), ("1", int, False), ((1, 2), tuple[int, ...], True),
    (1, tuple[int, ...], False), ((), dict[str, float], False), ({"a": 1}, dict[str, float], True),
    ({"a": "b"}, dict[str, float], False), ({1: 2.0}, dict[str, float], False),
])  # fmt: skip
def test_values_are_compared_with_type_hints(value, kind, expected):
    assert has_type(value, kind) is expected
