"""How many images a network is shown at once on a CPU."""

import numpy as np
import pytest

from helpers import data
from helpers.networks import models
from helpers.networks.inference import compute
from helpers.networks.recipe import Recipe


@pytest.mark.parametrize("backbone", ["densenet", "resnet"])
def test_what_an_image_gets_does_not_depend_on_the_size(backbone):
    recipe = Recipe(backbone=backbone, depth=16 if backbone == "densenet" else 20, width=12)
    network = models.create(recipe, 10)
    few = data.load("cifar10_mini", "test").subset(np.arange(50))
    network.set_normalisation(few.images)
    chosen, other = (compute(network, few, batch_size=size) for size in (None, 7))
    for name in ("logits", "features"):
        found, expected = getattr(chosen, name), getattr(other, name)
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
