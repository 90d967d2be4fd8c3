"""The committed networks have the accuracy that they were committed with."""

import os

import pytest

from helpers import checkpoints, data
from helpers.files import cache_root, project_root
from helpers.networks import backbones
from helpers.networks.inference import compute
from helpers.networks.recipe import Recipe
from helpers.papers import load
from helpers.papers.unknown_detection.roles import roles
from helpers.training import finished_networks

PACKS = os.environ.get("DATA_ROOT", "")  # before the tests have a folder of their own
FILES = sorted(project_root().glob("results/small/networks/*/*.safetensors"))
NAMES = {f"{path.parent.name}/{path.stem}": path for path in FILES}


def accuracy(path, images):
    tensors, about = finished_networks.load(path)
    recipe = Recipe.from_parameters(about["recipe"])
    assert finished_networks.find(about["origin"], recipe) == path
    network = backbones.create(recipe, len(about["class_names"])).eval()
    network.load_state_dict(tensors)
    return compute(network, images).correct.mean()


def test_a_committed_network_classifies_the_embedded_images():
    """The half of a file that another process writes is not looked at."""
    half = cache_root() / "exports/small/networks/a/.b.safetensors.tmp.safetensors"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half")
    path = NAMES["openset_calibration/cifar10-resnet20-0-closed-set"]
    assert accuracy(path, data.load("cifar10_mini", "test")) == 0.852


def test_stored_outputs_are_of_the_committed_networks():
    """A new export in the place of another needs new outputs on the held-out images."""
    files = [*project_root().glob("results/*/networks/*/held_out/*.safetensors")]
    assert len(files) > 30
    for file in files:
        tensors, _ = finished_networks.load(file.parents[1] / file.name)
        _, about = checkpoints.load(file, framework="np")
        assert about["network"] == checkpoints.digest(tensors), file


@pytest.mark.skipif(not PACKS, reason="DATA_ROOT is not set")
@pytest.mark.parametrize("name", NAMES)
def test_a_committed_network_has_its_committed_accuracy(name, monkeypatch):
    monkeypatch.setenv("DATA_ROOT", PACKS)
    _, about = finished_networks.load(NAMES[name])
    if name.startswith("unknown_detection_jpeg"):
        images = roles(load("unknown_detection", "small", jpeg=75)).test
    else:
        whole = data.load("cifar10" if name.startswith("openset") else "cifar100", "test")
        images = whole.select(tuple(about["class_names"]))
    assert images.sha256 == about["test_images"]
    assert f"{accuracy(NAMES[name], images):.4f}" == f"{about['test_accuracy']:.4f}"
