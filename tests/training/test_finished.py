"""A finished network is found by recipe, classes and seed, whatever images are at hand."""

import pytest

from helpers import data
from helpers.files import project_root
from helpers.papers import load
from helpers.papers.unknown_detection import roles
from helpers.training import exports
from helpers.training.fitted import fit

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
    assert exports.find_finished(FOLDER, recipe, names, seed) is None


def test_two_networks_of_one_recipe_are_refused(images, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.safetensors").symlink_to(FOLDER / "0-baseline.safetensors")
    recipe = PARAMETERS.method_recipe("baseline")
    with pytest.raises(
        ValueError, match=r"one network .* expected, got a.safetensors, b.safetensors"
    ):
        exports.find_finished(tmp_path, recipe, images.class_names, 0)
