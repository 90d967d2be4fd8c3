from types import SimpleNamespace

import numpy as np
import pytest

from helpers import checkpoints
from helpers.data import Images
from helpers.networks import models
from helpers.networks.recipe import Recipe
from helpers.training.loop import train


@pytest.fixture(scope="session")
def images():
    """Return what draws images of noise with three classes."""

    def images(n=24, seed=0, size=16):
        pixels = np.random.default_rng(seed).integers(0, 256, (n, size, size, 3), dtype=np.uint8)
        return Images(pixels, np.arange(n) % 3, ("a", "b", "c"), "noise", "train")

    return images


@pytest.fixture(scope="session")
def recipe_of():
    """Return what makes recipes of a small network and a short training."""
    tiny = dict(width=4, stem_stride=2, epochs=2, batch_size=8, learning_rate=0.05)

    def recipe_of(name="erm", arguments=None, **changed):
        own = {"objective": name, "objective_arguments": arguments or {}}
        return Recipe.from_parameters(tiny | own, **changed)

    return recipe_of


@pytest.fixture(scope="session")
def trained(images, recipe_of):
    """Return what trains a network and tells what came of it."""

    def trained(name, arguments=None, *, n=24, options=None, **changed):
        recipe = recipe_of(name, arguments, **changed)
        classifier = models.create(recipe, 3)
        options = {"outliers": images(20, seed=1), "progress": False} | (options or {})
        teacher = models.create(recipe_of(), 3, seed=9)
        history = train(classifier, images(n), recipe, teacher=teacher, **options)
        assert np.isfinite(history["loss"]).all()
        digest = checkpoints.digest(classifier.state_dict())
        return SimpleNamespace(classifier=classifier, history=history, digest=digest)

    return trained
