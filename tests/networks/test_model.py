from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from helpers.data import Images
from helpers.networks import models
from helpers.networks.model import Model
from helpers.networks.recipe import Recipe
from helpers.outputs import Outputs


def network(seed):
    """A network that says of each image what its seed draws, and remembers the labels."""

    def outputs(images, *, passes=0):
        members = np.full((passes, len(images), 2), 0.5) if passes else None
        logits = np.random.default_rng(seed).normal(size=(len(images), 2))
        return Outputs(logits, np.zeros((len(images), 3)), images.labels, members)

    classifier = models.create(Recipe(width=4), 2, seed=seed)
    return SimpleNamespace(
        outputs=outputs, classifier=classifier, sha256=f"{seed}", preprocessing={"size": None},
        seconds=1.5, device_name="cpu",
    )  # fmt: skip


IMAGES = Images(np.zeros((4, 8, 8, 3), np.uint8), np.arange(4) % 2, ("cat", "dog"), "few", "test")


def test_several_networks_answer_as_one():
    """By the mean of their probabilities; passes are those of each network."""
    one, two = network(0), network(1)
    alone, both = Model("one", (one,)), Model("both", (one, two))
    assert alone.outputs(IMAGES).members is None and alone.head.weight.shape == (2, 16)
    expected = np.mean([each.outputs(IMAGES).probabilities for each in (one, two)], axis=0)
    np.testing.assert_allclose(both.outputs(IMAGES).probabilities, expected, rtol=1e-6)
    assert both.head is None and both.seconds == 3 and both.cost == 2
    assert both.parameters == 2 * alone.parameters > 0
    drawn = replace(alone, passes=3)
    assert drawn.outputs(IMAGES).members.shape == (3, 4, 2) and drawn.cost == 3
    assert len({each.sha256 for each in (alone, both, drawn)}) == 3


def test_a_model_that_knows_its_classes_numbers_images_by_name():
    known = Model("one", (network(0),), class_names=("dog", "ant"))
    assert known.outputs(IMAGES).labels.tolist() == [-1, 0, -1, 0]
