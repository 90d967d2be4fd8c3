"""Exported networks: found by recipe, checked by digest, in half precision where that is enough."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from helpers import checkpoints
from helpers.data import Images
from helpers.networks.recipe import Recipe
from helpers.training import exports, fitted

TINY = Recipe(width=4, stem_stride=2, epochs=2, batch_size=8)


@pytest.fixture
def images(monkeypatch, tmp_path):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    pixels = np.random.default_rng(0).integers(0, 256, (24, 16, 16, 3), dtype=np.uint8)
    return Images(pixels, np.arange(24) % 3, ("a", "b", "c"), "noise", "train")


@pytest.fixture
def exported(images, monkeypatch, tmp_path):
    """Return a network, its export, and the trainings since, in a time of other code."""
    network = fitted.fit(images, TINY, progress=False)
    path = tmp_path / "exports" / "mini" / "networks" / "chapter" / "0-baseline.safetensors"
    exports.save(network, images, path, commit="abc")
    monkeypatch.setitem(fitted.TRAINING, "erm", "other code")
    calls, train = [], fitted.train
    monkeypatch.setattr(fitted, "train", lambda *a, **k: calls.append(1) or train(*a, **k))
    return network, path, calls


def test_an_export_is_found_by_its_recipe_though_the_code_has_changed(
    images, exported, monkeypatch, caplog
):
    network, path, trained = exported
    with caplog.at_level("INFO"):
        same = fitted.fit(images, TINY, progress=False)
    assert same.path == path and not trained
    assert f"found by its recipe, not trained again: {path}" in caplog.text
    assert (same.classifier.state_dict().keys()) == network.classifier.state_dict().keys()
    logits = [one.outputs(images).logits for one in (network, same)]
    np.testing.assert_allclose(*logits, atol=0.02)
    assert same.history.equals(network.history) and same.seconds == network.seconds
    for change in ({"seed": 1}, {"recipe": replace(TINY, learning_rate=0.05)}):
        fitted.fit(images, progress=False, **{"recipe": TINY} | change)
    assert len(trained) == 2
    monkeypatch.setenv("TRAINING", "anew")
    assert fitted.fit(images, TINY, progress=False).path.parent.name == "networks"
    assert len(trained) == 3


def test_an_export_tells_how_it_was_made_and_reproduces_its_accuracy(images, exported):
    network, path, _ = exported
    tensors, about = checkpoints.load(path)
    assert Recipe.from_parameters(about["recipe"]) == TINY
    assert about["class_names"] == ["a", "b", "c"] and about["commit"] == "abc"
    assert about["origin"]["seed"] == 0 and about["precision"] == "float32" and about["processor"]
    assert about["seconds"] > 0 and len(about["history"]["accuracy"]) == 2
    assert about["stored"] == "float16"
    weights = {name for name, _ in network.classifier.named_parameters()}
    assert {tensors[name].dtype for name in weights} == {torch.float16}
    assert tensors["mean"].dtype == torch.float32
    correct = fitted.fit(images, TINY, progress=False).outputs(images).correct
    assert correct.mean() == about["test_accuracy"]


def test_weights_stay_in_float32_where_half_precision_changes_the_accuracy(
    images, monkeypatch, tmp_path
):
    network = fitted.fit(images, TINY, progress=False)
    values = iter([0.5, 0.5 + 3e-4])
    monkeypatch.setattr(exports, "_accuracy", lambda *arguments: next(values))
    assert exports.save(network, images, tmp_path / "a.safetensors") == 0.5
    tensors, about = checkpoints.load(tmp_path / "a.safetensors")
    assert about["stored"] == "float32"
    assert checkpoints.digest(tensors) == network.sha256


def test_a_modified_export_is_rejected_and_nothing_is_trained(images, exported):
    _, path, trained = exported
    whole = path.read_bytes()
    with safe_open(path, "pt") as file:
        tensors = {n: file.get_tensor(n).clone() for n in file.keys()}  # not of the mapped file
        metadata = file.metadata()
    swapped = tensors | {"mean": tensors["mean"] + 1}
    modified = {"information": metadata["information"].replace('"abc"', '"abd"')}
    for change in (
        lambda: path.write_bytes(whole[:-1]),
        lambda: path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1])),
        lambda: path.write_bytes(b""),
        lambda: save_file(swapped, path, metadata=metadata),
        lambda: save_file(tensors, path, metadata=metadata | modified),
    ):
        change()
        exports._read.cache_clear()
        with pytest.raises(
            ValueError, match=r"0-baseline.*modified or is not whole.*TRAINING=anew"
        ):
            fitted.fit(images, TINY, progress=False)
    assert not trained
