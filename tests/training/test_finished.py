"""A finished network is found by recipe, classes and seed, whatever images are at hand."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from helpers import data
from helpers.files import project_root
from helpers.papers import load
from helpers.papers.unknown_detection import roles
from helpers.training import finished_networks
from helpers.training.fitted import fit, load_exported

FOLDER = project_root() / "results" / "small" / "networks" / "unknown_detection"
PARAMETERS = load("unknown_detection", "small", data_set="cifar100_mini", finished="small")


@pytest.fixture(scope="module")
def images():
    train = data.load("cifar100_mini", "train")
    known = roles.draw_known(roles.superclasses_of(train), 0.4, given=["forest"], seed=0)
    return train.select(known)


def test_a_slice_of_the_training_images_finds_the_finished_network(images, monkeypatch):
    monkeypatch.setenv("TRAINING", "refused")
    recipe = PARAMETERS.method_recipe("baseline")
    assert PARAMETERS.finished_networks == FOLDER
    for run in range(5):
        network = fit(images, recipe, seed=100 * run, finished=FOLDER)
        assert network.path == FOLDER / f"{run}-baseline.safetensors"
        assert len(network.history) == 200


@pytest.mark.parametrize("change", ["recipe", "classes", "seed"])
def test_another_recipe_other_classes_or_another_seed_are_not_found(images, change):
    recipe = PARAMETERS.method_recipe("baseline")
    names = images.class_names
    seed = 0
    if change == "recipe":
        recipe = PARAMETERS.replace(epochs=3).method_recipe("baseline")
    elif change == "classes":
        names = names[::-1]
    else:
        seed = 7
    assert finished_networks.find_finished(FOLDER, recipe, names, seed) is None


def test_two_networks_of_one_recipe_are_refused(images, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.safetensors").symlink_to(FOLDER / "0-baseline.safetensors")
    recipe = PARAMETERS.method_recipe("baseline")
    with pytest.raises(
        ValueError, match=r"one network .* expected, got a.safetensors, b.safetensors"
    ):
        finished_networks.find_finished(tmp_path, recipe, images.class_names, 0)


def test_a_finished_network_has_the_outputs_of_the_images_held_out_of_its_training(
    tmp_path,
):
    """A slice of the training images has none that it has not learnt."""
    file = FOLDER.parent / "uimnet" / "resnet8-oc-none-0.safetensors"
    path = tmp_path / "networks" / "chapter" / file.name
    path.parent.mkdir(parents=True)
    shutil.copy(file, path)
    _, about = finished_networks.load(path)
    network = load_exported(path, about["class_names"])
    with pytest.raises(FileNotFoundError, match=r"held_out.py .* chapter`"):
        finished_networks.held_out(path)
    images = data.load("cifar100_mini", "train").select(about["class_names"])
    first = images.subset(slice(0, 40))
    stored = finished_networks.save_held_out(network, first, mean=np.ones(3))
    assert stored == path.parent / "held_out" / file.name
    outputs = network.outputs(first)
    read = finished_networks.held_out(path)
    assert np.array_equal(read.logits, outputs.logits.astype(np.float16))
    assert np.array_equal(read.labels, outputs.labels)
    assert np.array_equal(read.native, outputs.native.astype(np.float16))
    assert read.features.shape == (40, 0)
    assert finished_networks.kept(path)["mean"].tolist() == [1, 1, 1]
    assert [*path.parent.glob("*.safetensors")] == [path]  # where networks are searched


def test_held_out_images_of_a_network_trained_here_are_shown_to_it(images, tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINING", "refused")
    network = fit(images, PARAMETERS.method_recipe("baseline"), finished=FOLDER)
    assert network.finished
    shown = images.subset(slice(0, 10))
    here = replace(network, finished=False)
    assert np.array_equal(here.held_out(shown).labels, shown.labels)
    with pytest.raises(FileNotFoundError, match="held_out"):
        replace(network, path=tmp_path / "a/b/c/baseline.safetensors").held_out(shown)
