import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from helpers import checkpoints


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "a.safetensors"
    checkpoints.save(path, {"w": torch.arange(6.0).reshape(2, 3), "n": torch.tensor(3)}, epochs=[1])
    return path


def test_digest_depends_on_names_types_shapes_and_values():
    base = {"w": torch.zeros(2, 3)}
    others = [
        {"v": torch.zeros(2, 3)},
        {"w": torch.zeros(3, 2)},
        {"w": torch.zeros(2, 3, dtype=torch.float64)},
        {"w": torch.ones(2, 3)},
    ]
    digests = {checkpoints.digest(tensors) for tensors in [base, *others]}
    assert len(digests) == 5
    assert checkpoints.digest({"w": torch.zeros(3, 2).T.contiguous()}) == checkpoints.digest(base)


def test_arrays_do_in_the_place_of_tensors(saved, tmp_path):
    """Of every type and shape; the digest is that of the tensors, and either reads the other's."""
    arrays = {
        "w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "by columns": np.arange(6.0).reshape(2, 3).T,
        "n": np.array(3),
        "b": np.array([True, False]),
    }
    tensors = {name: torch.tensor(one) for name, one in arrays.items()}
    assert checkpoints.digest(arrays) == checkpoints.digest(tensors)
    for number, given in enumerate((arrays, tensors)):
        path = tmp_path / f"{number}.safetensors"
        checkpoints.save(path, given, epochs=2)
        for framework, kind in (("np", np.ndarray), ("pt", torch.Tensor)):
            found, information = checkpoints.load(path, framework=framework)
            assert information == {"epochs": 2}
            for name, expected in arrays.items():
                assert isinstance(found[name], kind) and found[name].shape == expected.shape
                assert np.array_equal(np.asarray(found[name]), expected)


@pytest.mark.parametrize(("old", "new"), [(b"[1]", b"[2]"), (b"\x40", b"\x41")])
def test_altered_contents_are_found(saved, old, new):
    """Of the information, and of a tensor."""
    content = saved.read_bytes()
    assert old in content
    saved.write_bytes(content.replace(old, new))
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


def write_foreign(path):
    """Write a healthy file of another program."""
    if path.suffix == ".npz":
        np.savez(path, logits=np.eye(3))
    elif path.suffix == ".pt":
        torch.save({"weight": torch.eye(3)}, path)
    elif path.suffix == ".html":
        path.write_text("<!doctype html>\n<html lang=en>" + 99 * "<p>A report of an audit.</p>")
    else:
        save_file({"weight": np.eye(3)}, path, metadata={"format": "np"})


@pytest.mark.parametrize("name", ["a.npz", "a.pt", "report.html", "model.safetensors"])
@pytest.mark.parametrize("framework", ["np", "pt"])
def test_a_file_of_another_program_is_never_to_be_deleted(tmp_path, name, framework):
    path = tmp_path / name
    write_foreign(path)
    with pytest.raises(ValueError, match=f"{name}: no file that this project wrote") as refused:
        checkpoints.load(path, framework=framework)
    assert "delete" not in str(refused.value)
