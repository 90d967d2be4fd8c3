"""Published networks: what their records say, the one that is embedded, and files that are bad."""

import contextlib
import dataclasses
import io
import pickle
import shutil
import tarfile

import numpy as np
import pytest
import torch

from helpers import checkpoints, data
from helpers.networks import published, zoo
from helpers.networks.recipe import Recipe
from helpers.training.fitted import fit

NAME = "resnet20.akamaster_cifar10"
RECORDS = published.records()


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """An empty folder of networks; data, cache and the working folder are elsewhere, empty too."""
    for name in ("CACHE_ROOT", "DATA_ROOT", "NETWORK_ROOT"):
        monkeypatch.setenv(name, str(tmp_path / name))
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "NETWORK_ROOT"


@pytest.fixture
def tensors():
    """Those of the embedded network, under its author's names."""
    return published.read_tensors(published.EMBEDDED / "cifar10_resnet20.safetensors")


@pytest.fixture(scope="module")
def images():
    return data.load("cifar10_mini", "test")


def load(name=NAME, **options):
    return zoo.load(name, device="cpu", progress=False, **options)


def put(root, tensors, name=NAME):
    """Write tensors where the author's file is looked for first."""
    path = root / RECORDS[name].files[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"state_dict": {f"module.{key}": one for key, one in tensors.items()}}, path)
    return path


def trust(monkeypatch, **changed):
    """Change the record of the network: by default, so that any file may be the author's."""
    changed = {"sha256": "", "digest": ""} | changed
    record = dataclasses.replace(RECORDS[NAME], **changed)
    monkeypatch.setattr(published, "records", lambda: RECORDS | {NAME: record})


def test_the_embedded_network_knows_its_classes_without_any_folder(root, images, caplog):
    """914 of the 1,000 test images in the repository; its author's 91.73 % is of all 10,000."""
    network = load()
    outputs = network.outputs(images)
    assert outputs.correct.sum() == 914 and len(outputs) == 1000
    assert network.class_names == images.class_names and not caplog.records
    assert not [*root.iterdir()]
    digest = checkpoints.digest(published.find(NAME).read(published.find(NAME).locate()))
    assert digest == RECORDS[NAME].digest


def test_a_file_with_another_digest_is_refused(root, tensors):
    tensors["linear.bias"] += 1e-6
    path = put(root, tensors)
    message = rf"{path} is not the file of '{NAME}': .* file {RECORDS[NAME].sha256}"
    with pytest.raises(ValueError, match=message):
        load()
    assert [file for file in root.rglob("*") if file.is_file()] == [path]


def test_tensors_of_another_network_are_refused(root, tensors, monkeypatch):
    """Other names, more of them, another shape, another number of classes."""
    trust(monkeypatch)
    less = {key: one for key, one in tensors.items() if key != "bn1.weight"}
    path = put(root, less)
    said = rf"weights: {path} are not those of '{NAME}': "
    with pytest.raises(ValueError, match=said + r"has no bn1\.weight"):
        load()
    put(root, less | {"bn0.weight": tensors["bn1.weight"]})
    with pytest.raises(ValueError, match=said + "has no bn1"):
        load()
    put(root, tensors | {"layer3.3.bn1.weight": torch.ones(64)})
    with pytest.raises(ValueError, match=said + r"has more: layer3\.3\.bn1\.weight"):
        load()
    put(root, tensors | {"conv1.weight": torch.ones(16, 3, 5, 5)})
    with pytest.raises(ValueError, match=said + r"conv1\.weight: shape \(16, 3, 3, 3\) expected"):
        load()
    put(root, tensors | {"linear.weight": torch.ones(100, 64), "linear.bias": torch.ones(100)})
    with pytest.raises(ValueError, match=said + r"fc\.\w+: shape \(10,.* expected, got \(100,"):
        load()


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, canary):
        self.canary = str(canary)

    def __reduce__(self):
        return (open, (self.canary, "w"))


def saved(path, content):
    torch.save(content, path)


def saved_as_before(path, content):
    torch.save(content, path, _use_new_zipfile_serialization=False)


def pickled(path, content):
    path.write_bytes(pickle.dumps(content, protocol=2))


def archived(path, content):
    """As PyTorch before version 0.2, in a tar file."""
    with tarfile.open(path, "w") as archive:
        written = pickle.dumps(content["best_prec1"], protocol=2)
        entry = tarfile.TarInfo("storages")
        entry.size = len(written)
        archive.addfile(entry, io.BytesIO(written))


@pytest.mark.parametrize("write", [saved, saved_as_before, pickled, archived])
def test_no_code_in_a_file_is_executed(write, root, tensors, monkeypatch):
    """Nor in a user's own file; PyTorch's other way of loading does it, so the check can fail."""
    canary, path = root / "canary", root / "resnet20-12fca82f.th"
    content = {"state_dict": dict(tensors), "best_prec1": Bomb(canary)}
    write(path, content)
    for options in ({}, {"weights": path}):
        with pytest.raises(ValueError, match=rf"weights: {path} cannot be read"):
            load(**options)
        assert not canary.exists()
    shutil.copy(path, root / "other.safetensors")
    with pytest.raises(ValueError, match=r"other\.safetensors cannot be read"):
        load(weights=root / "other.safetensors")
    assert not canary.exists()
    with contextlib.suppress(Exception):  # some of them are no whole files to it
        torch.load(path, weights_only=False)
    assert canary.exists()


def test_fine_tuning_wants_the_same_classes_and_a_plain_head(images, tmp_path):
    network = load()
    few = images.subset(np.arange(16))
    recipe = Recipe(epochs=1, batch_size=8, learning_rate=0.01)
    turned = dataclasses.replace(few, class_names=few.class_names[::-1])
    other = dataclasses.replace(few, class_names=few.class_names[:9], labels=few.labels % 9)
    for refused in (turned, other):
        with pytest.raises(ValueError, match=rf"initial: '{NAME}' knows other classes, or the sam"):
            fit(refused, recipe, initial=network, device="cpu", progress=False)
    own = dataclasses.replace(recipe, objective="mimo")
    with pytest.raises(ValueError, match=rf"objective 'mimo' has a head of its own, .*'{NAME}' la"):
        fit(few, own, initial=network, device="cpu", progress=False)
    assert not [*(tmp_path / "CACHE_ROOT").rglob("*.safetensors")]
    tuned = fit(few, recipe, initial=network, device="cpu", progress=False)
    assert tuned.sha256 != network.sha256 and tuned.classifier.head.weight.shape == (10, 64)
    assert torch.equal(tuned.classifier.mean, network.classifier.mean)
    assert network.sha256 == load().sha256  # what it began with is as it was
