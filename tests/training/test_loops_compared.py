"""The loops of the benchmark of training train the same network."""

from dataclasses import replace

import pytest

from benchmarks import training
from helpers import data
from helpers.networks.devices import reproducible
from helpers.networks.recipe import Recipe

SLOW = Recipe.from_parameters(training.RECIPE.as_dict(), batch_size=16, learning_rate=1e-4)


def test_loops_are_checked_to_train_the_same_network():
    images = data.load("cifar10_mini", "train").subset(slice(0, 32))
    images = replace(images, images=images.images[:, ::4, ::4])
    with reproducible("cpu", 1):
        training.check(images, SLOW)
        with pytest.raises(AssertionError, match="not ours"):
            training.check(images, Recipe.from_parameters(SLOW.as_dict(), schedule="cosine"))
