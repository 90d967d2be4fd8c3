"""Published networks: what their authors' code computes, and files that are bad.

`densenet` repeats the definition of the authors of DICE, with the names and order of its tensors.
The files in the folder ``dice`` are from https://github.com/deeplearning-wisc/dice, at commit
8acfb8d5, in its folder ``cache``; the folder ``dice`` has the licence.  They hold the mean features
of all 50,000 training images, as the authors of DICE have computed and stored them.  Networks that
are not under NETWORK_ROOT, and data sets that are not under DATA_ROOT, skip their test.
"""

import contextlib
import dataclasses
import pickle
import shutil
import tarfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from helpers import checkpoints, data
from helpers.files import network_root
from helpers.networks import zoo, zoo_records
from helpers.networks.recipe import Recipe
from helpers.training.fitted import fit

NAME = "resnet20.akamaster_cifar10"
RECORDS = zoo_records.records()
DICE = Path(__file__).parent / "dice"
DENSENETS = {"densenet100.dice_cifar10": "CIFAR-10", "densenet100.dice_cifar100": "CIFAR-100"}
PRINTED = {name: record.accuracy for name, record in RECORDS.items() if record.accuracy}
PRINTED["resnet20.zlatasm_cifar10"] = 92.90  # its kernels are rounded; 92.92 is printed
# of the files in the package: their kernels are rounded, and one more image is classified correctly
ROUNDED = {"resnet32.akamaster_cifar10": 92.64}
ROUNDING = 2e-6  # of a mean of 50,000 float32 numbers that are of the order of 1


def outputs_of(name, split):
    """Return a network's outputs of a whole split of its data set."""
    try:
        zoo_records.find(name).locate()
        images = data.load(zoo_records.find(name).data_set, split)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    if (count := len(images)) != {"train": 50_000, "test": 10_000}[split]:
        pytest.skip(f"{images.name}/{split} has {count} images, not all")
    return zoo.load(name, progress=False).outputs(images)


@pytest.mark.parametrize("name", PRINTED)
def test_as_many_test_images_are_classified_correctly_as_is_printed(name):
    accuracy = round(100 * outputs_of(name, "test").correct.mean(), 2)
    embedded = zoo_records.find(name).locate().parent == zoo_records.EMBEDDED
    assert accuracy == (ROUNDED if embedded and name in ROUNDED else PRINTED)[name]


@pytest.mark.parametrize("name", DENSENETS)
def test_mean_features_equal_the_stored_features_of_the_authors(name):
    stored = np.load(DICE / f"{DENSENETS[name]}_densenet_feat_stat.npy", allow_pickle=False)
    means = outputs_of(name, "train").features.mean(axis=0, dtype=np.float64)
    assert stored.shape == means.shape == (342,)
    assert np.abs(means - stored).max() < ROUNDING * np.abs(stored).max()


@pytest.fixture
def root(tmp_path, monkeypatch):
    """An empty folder of networks; data, cache and the working folder are elsewhere, empty too."""
    for name in ("CACHE_ROOT", "DATA_ROOT", "NETWORK_ROOT"):
        monkeypatch.setenv(name, str(tmp_path / name))
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "NETWORK_ROOT"


# of the embedded network, under its author's names
TENSORS = zoo_records.read_tensors(zoo_records.EMBEDDED / "cifar10_resnet20.safetensors")


def images():
    return data.load("cifar10_mini", "test")


def load(**options):
    return zoo.load(NAME, device="cpu", progress=False, **options)


def put(root, tensors):
    """Write tensors where the author's file is looked for first."""
    (path := root / RECORDS[NAME].files[0]).parent.mkdir()
    torch.save({"state_dict": {f"module.{key}": tensor for key, tensor in tensors.items()}}, path)
    return path


# right of the 1,000 test images in the repository; of all 10,000, 91.73 and 92.63 % are printed
RIGHT = {"resnet20.akamaster_cifar10": 914, "resnet32.akamaster_cifar10": 928}


@pytest.mark.parametrize("name", RIGHT)
def test_an_embedded_network_knows_its_classes_without_any_folder(name, root, caplog):
    network = zoo.load(name, device="cpu", progress=False)
    outputs = network.outputs(images())
    assert outputs.correct.sum() == RIGHT[name]
    assert len(outputs) == 1000
    assert network.class_names == images().class_names
    assert not caplog.records
    assert not [*root.iterdir()]


def test_the_digest_of_a_record_is_of_its_tensors():
    record = RECORDS[NAME]
    assert checkpoints.digest(record.read(record.locate())) == record.digest


def embedded_files():
    return sorted(path.name for path in zoo_records.EMBEDDED.glob("*.safetensors"))


def test_each_embedded_file_has_a_record_and_the_licence_of_its_author():
    records = [RECORDS[name] for name in RIGHT]
    assert embedded_files() == sorted(record.files[-1] for record in records)
    for record in records:
        text = (zoo_records.EMBEDDED / f"{record.author}.LICENSE.txt").read_text("utf-8")
        assert "Copyright" in text
        assert record.licence == "BSD-2-Clause"


@pytest.mark.parametrize("name", ROUNDED)
def test_rounded_network_predicts_what_the_network_of_its_author_predicts(name):
    record = zoo_records.find(name)
    exact = network_root() / record.files[-1]
    if not exact.is_file():
        pytest.skip(f"no {exact}")
    subset = images().subset(range(250))
    outputs = {
        folder: zoo.load(name, weights=folder / record.files[-1], progress=False).outputs(subset)
        for folder in (exact.parent, zoo_records.EMBEDDED)
    }
    logits = [of_file.logits for of_file in outputs.values()]
    assert (logits[0].argmax(axis=1) == logits[1].argmax(axis=1)).mean() >= 0.995
    assert 0 < np.abs(logits[0] - logits[1]).max() < 0.1


def test_a_file_with_another_digest_is_refused(root):
    path = put(root, TENSORS | {"linear.bias": TENSORS["linear.bias"] + 1e-6})
    message = rf"{path} is not the file of '{NAME}': .* file {RECORDS[NAME].sha256}"
    with pytest.raises(ValueError, match=message):
        load()
    assert [file for file in root.rglob("*") if file.is_file()] == [path]


CHANGES = [
    ({"bn1.weight": None}, r"has no bn1\.weight"),
    ({"layer3.3.bn1.weight": torch.ones(64)}, r"has more: layer3\.3\.bn1\.weight"),
    ({"conv1.weight": torch.ones(16, 3, 5, 5)}, r"conv1\.weight: shape \(16, 3, 3, 3\) exp"),
    ({"linear.bias": torch.ones(100)}, r"fc\.bias: shape \(10,\) expected, got \(100,"),
]


@pytest.mark.parametrize(("changes", "message"), CHANGES)
def test_tensors_of_another_network_are_refused(root, monkeypatch, changes, message):
    """The record of the file has no digest."""
    record = dataclasses.replace(RECORDS[NAME], sha256="", digest="")
    monkeypatch.setattr(zoo_records, "records", lambda: RECORDS | {NAME: record})
    path = put(root, {key: t for key, t in (TENSORS | changes).items() if t is not None})
    with pytest.raises(ValueError, match=f"weights: {path} does not fit '{NAME}': {message}"):
        load()


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, canary):
        self.canary = str(canary)

    def __reduce__(self):
        return (open, (self.canary, "w"))


def pickled(content, path):
    path.write_bytes(pickle.dumps(content, protocol=2))


def archived(content, path):
    """As PyTorch before version 0.2, in a tar file."""
    pickled(content["best_prec1"], path.with_suffix(".pickle"))
    with tarfile.open(path, "w") as archive:
        archive.add(path.with_suffix(".pickle"), "storages")


WRITE = {
    "saved": torch.save,
    "pickled": pickled,
    "archived": archived,
    "as before": partial(torch.save, _use_new_zipfile_serialization=False),
}


@pytest.mark.parametrize("write", WRITE)
def test_no_code_in_a_file_is_executed(write, root):
    """Nor in a user's own file; PyTorch's other way of loading does it, so the check can fail."""
    canary = root / "canary"
    path = root / "resnet20-12fca82f.th"
    WRITE[write]({"state_dict": dict(TENSORS), "best_prec1": Bomb(canary)}, path)
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


def test_fine_tuning_wants_the_same_classes_and_a_plain_head(root, tmp_path):
    network = load()
    few = images().subset(np.arange(16))
    tune = partial(fit, initial=network, device="cpu", progress=False)
    recipe = Recipe(epochs=1, batch_size=8, learning_rate=0.01)
    for names in (few.class_names[::-1], few.class_names[:9]):
        with pytest.raises(ValueError, match=f"initial: '{NAME}' has other classes, or another o"):
            tune(dataclasses.replace(few, class_names=names, labels=few.labels % 9), recipe)
    with pytest.raises(ValueError, match="objective 'mimo' has its own head; train it from"):
        tune(few, dataclasses.replace(recipe, objective="mimo"))
    assert not [*(tmp_path / "CACHE_ROOT").rglob("*.safetensors")]
    tuned = tune(few, recipe)
    assert tuned.sha256 != network.sha256
    assert tuned.classifier.head.weight.shape == (10, 64)
    assert torch.equal(tuned.classifier.mean, network.classifier.mean)
    assert network.sha256 == load().sha256  # what it began with is as it was


class Drawn(dict):
    """The random tensors of layers, by name; a layer is made at its first use."""

    def draw(self, layer, x, name):
        self |= {f"{name}.{key}": value for key, value in layer.state_dict().items()}
        return layer.eval()(x)

    def conv(self, x, name, outputs, size):
        return self.draw(nn.Conv2d(x.shape[1], outputs, size, 1, size // 2, bias=False), x, name)

    def norm(self, x, name):
        """Use statistics near the statistics of x, so that values stay of one size."""
        layer = nn.BatchNorm2d(x.shape[1], momentum=0.9)
        nn.init.normal_(layer.weight, 1, 0.1)
        nn.init.normal_(layer.bias, 0, 0.1)
        layer(x)
        return self.draw(layer, x, name)

    def linear(self, x, name, outputs):
        return self.draw(nn.Linear(x.shape[1], outputs), x, name)


def densenet(net, x, classes):
    x = net.conv(x, "conv1", 24, 3)
    for block in (1, 2, 3):
        for layer in range(16):
            at = f"block{block}.layer.{layer}"
            y = net.conv(net.norm(x, f"{at}.bn1").relu(), f"{at}.conv1", 48, 1)
            y = net.conv(net.norm(y, f"{at}.bn2").relu(), f"{at}.conv2", 12, 3)
            x = torch.cat([x, y], dim=1)
        if block < 3:
            at = f"trans{block}"
            y = net.norm(x, f"{at}.bn1").relu()
            x = nn.functional.avg_pool2d(net.conv(y, f"{at}.conv1", x.shape[1] // 2, 1), 2)
    return net.linear(net.norm(x, "bn1").relu().mean((2, 3)), "fc", classes)


@pytest.mark.parametrize("name", DENSENETS)
def test_a_file_of_the_authors_makes_the_authors_network(name, tmp_path, monkeypatch):
    """The network loads from the author's file and computes the same as the author's code."""
    monkeypatch.setenv("NETWORK_ROOT", str(tmp_path))
    torch.manual_seed(0)
    record = zoo_records.records()[name]
    net = Drawn()
    classes = 100 if "cifar100" in name else 10
    images = torch.randint(0, 256, (2, 3, 32, 32), generator=torch.Generator().manual_seed(1))
    mean, std = (torch.tensor(value).view(3, 1, 1) for value in (record.mean, record.std))
    with torch.inference_mode():
        expected = densenet(net, (images / 255 - mean) / std, classes)
    (path := tmp_path / record.files[0]).parent.mkdir(parents=True)
    torch.save({"epoch": 100, "state_dict": dict(net)}, path)
    weights = {key: value for key, value in net.items() if not key.endswith("tracked")}
    changed = dataclasses.replace(record, digest=checkpoints.digest(weights))
    monkeypatch.setattr(zoo_records, "records", lambda: {name: changed})
    network = zoo.load(name, device="cpu", progress=False)
    with torch.inference_mode():
        logits = network.classifier(images)
        features = network.classifier.features(images)
    for answer in (logits, features.numpy() @ network.head.weight.T + network.head.bias):
        np.testing.assert_allclose(answer, expected, atol=1e-3 * expected.abs().max().item())
