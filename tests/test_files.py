"""Files that are written whole or not at all, kept values, checkpoints, and checked arguments."""

import os

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from helpers import cache, checkpoints, files
from helpers.checks import float_array, has_type, known_name


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
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
        assert temporary.name.startswith(".") and temporary.suffix == ".npz"
    assert (tmp_path / "new" / "a.npz").exists()


def test_roots_come_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    monkeypatch.delenv("CACHE_ROOT", raising=False)
    assert files.data_root() == tmp_path
    assert files.cache_root() == files.project_root() / "cache"
    monkeypatch.setenv("CACHE_ROOT", "relative")
    assert files.cache_root() == files.project_root() / "relative"


def read(path):
    if path.read_text() != "good":
        raise ValueError(f"{path}: damaged")
    return "good"


def test_a_damaged_file_is_set_aside_named_and_made_anew(tmp_path, caplog):
    path = tmp_path / "a"
    path.write_text("goo")
    assert cache.load_or_make(path, read, lambda where: where.write_text("good")) == "good"
    assert (tmp_path / "a.damaged").read_text() == "goo" and str(path) in caplog.text
    with pytest.raises(ValueError, match="damaged"):  # what is made badly is not loaded
        cache.load_or_make(tmp_path / "b", read, lambda where: where.write_text("bad"))


def test_keys_differ_with_content_and_code():
    assert cache.key(a=1) != cache.key(a=1.5) != cache.key(b=1)
    first, second = "helpers.networks.models.create", "helpers.outputs"
    both = cache.code(first, second)
    assert cache.code(first) != cache.code(second) != both == cache.code(second, first)


def test_a_value_is_computed_once_and_again_where_its_file_was_altered(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    calls = []

    def make():
        calls.append(1)
        return {"a": [0.1, float("inf"), "é"], "n": len(calls)}

    for _ in range(2):
        value = cache.value("kind", "key", make)
        assert value == {"a": [0.1, float("inf"), "é"], "n": 1}
    (path,) = (tmp_path / "kind").iterdir()
    path.write_text(path.read_text(encoding="utf-8").replace("0.1", "0.7"), encoding="utf-8")
    assert cache.value("kind", "key", make)["n"] == 2
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.value("kind", "key", make)["n"] == 3


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "a.safetensors"
    checkpoints.save(path, {"w": torch.arange(6.0).reshape(2, 3)}, epochs=[1])
    return path


def test_arrays_do_in_the_place_of_tensors(tmp_path):
    """The digest is of names, types, shapes and values, and either kind reads the other's file."""
    arrays = {
        "w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "by columns": np.arange(6.0).reshape(2, 3).T,
        "n": np.array(3),
        "b": np.array([True, False]),
    }
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    w = arrays["w"]
    others = [{"v": w}, {"w": w.reshape(3, 2)}, {"w": w.astype(float)}, {"w": w + 1}, {"w": w}]
    assert len({checkpoints.digest(each) for each in others}) == len(others)
    assert checkpoints.digest(arrays) == checkpoints.digest(tensors)
    for given, framework, kind in ((arrays, "pt", torch.Tensor), (tensors, "np", np.ndarray)):
        checkpoints.save(tmp_path / "a.safetensors", given, epochs=2)
        read, information = checkpoints.load(tmp_path / "a.safetensors", framework=framework)
        assert information == {"epochs": 2}
        for name, expected in arrays.items():
            assert isinstance(read[name], kind) and read[name].shape == expected.shape
            assert np.array_equal(np.asarray(read[name]), expected)


@pytest.mark.parametrize(("old", "new"), [(b"[1]", b"[2]"), (b"\x40", b"\x41")])
def test_altered_contents_are_found(saved, old, new):
    """Of the information, and of a tensor."""
    saved.write_bytes(saved.read_bytes().replace(old, new))
    with pytest.raises(ValueError, match=r"a\.safetensors: its contents do not match"):
        checkpoints.load(saved)


@pytest.mark.parametrize("keep", [0, 4, 50, -1])
def test_a_truncated_file_is_found(saved, keep, monkeypatch):
    """Only a file of the cache, which is made again, is to be deleted."""
    saved.write_bytes(saved.read_bytes()[:keep])
    whole_header = r"not a whole checkpoint .*; write or copy it again$"
    expected = whole_header if keep == -1 else "no file that this project wrote"
    with pytest.raises(ValueError, match=rf"a\.safetensors: {expected}"):
        checkpoints.load(saved)
    monkeypatch.setenv("CACHE_ROOT", str(saved.parent))
    with pytest.raises(ValueError, match=r"a\.safetensors: not a whole checkpoint .*; delete it$"):
        checkpoints.load(saved)


OTHERS = {
    "a.npz": lambda path: np.savez(path, logits=np.eye(3)),
    "a.pt": lambda path: torch.save({"weight": torch.eye(3)}, path),
    "report.html": lambda path: path.write_text("<html>" + 99 * "<p>A report.</p>"),
    "model.safetensors": lambda path: save_file({"weight": np.eye(3)}, path, {"format": "np"}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_another_program_is_never_to_be_deleted(tmp_path, name):
    OTHERS[name](tmp_path / name)
    for framework in ("np", "pt"):
        with pytest.raises(ValueError, match=f"{name}: no file that this project wr") as refused:
            checkpoints.load(tmp_path / name, framework=framework)
        assert "delete" not in str(refused.value)


@pytest.mark.parametrize(("values", "options", "message"), [
    ([], {}, "scores: empty"),
    ([1.0, np.nan], {}, r"scores: contains NaN \(1 of 2\)"),
    ([1.0, np.inf], {}, "scores: contains infinite"),
    ([[1.0]], {}, "scores: 1 dimension"),
    ([1.0], {"length": 2}, "scores: length 2 expected, got 1"),
    (["a"], {}, "scores: numbers expected"),
])  # fmt: skip
def test_float_array_says_what_is_wrong(values, options, message):
    with pytest.raises(ValueError, match=message):
        float_array("scores", values, **options)


def test_what_is_allowed_and_names_without_a_near_one():
    assert float_array("correct", [True, False]).tolist() == [1.0, 0.0]
    assert float_array("scores", [np.inf], finite=False).tolist() == [np.inf]
    with pytest.raises(ValueError, match="unknown tier 'xyz'; There are: mini, paper"):
        known_name("tier", "xyz", ["paper", "mini"])


TYPES = [
    (1, float, True), (True, int, False), (1.5, int, False), ("1", int, False),
    ((1, 2), tuple[int, ...], True), ((1, "2"), tuple[int, ...], False),
    (1, tuple[int, ...], False), ((), dict[str, float], False), ({"a": 1}, dict[str, float], True),
    ({"a": "b"}, dict[str, float], False), ({1: 2.0}, dict[str, float], False),
]  # fmt: skip


@pytest.mark.parametrize(("value", "kind", "expected"), TYPES)
def test_has_type(value, kind, expected):
    assert has_type(value, kind) is expected
