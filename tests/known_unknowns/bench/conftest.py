"""A small feature pack of nobody's network."""

import numpy as np
import pytest

from helpers.outputs import Head, Outputs
from known_unknowns.bench import FeaturePack

CLASSES, WIDTH = 4, 8
CENTRES = 3 * np.eye(CLASSES, WIDTH)


def outputs(head, centres, labels, seed):
    generator = np.random.default_rng(seed)
    features = np.maximum(generator.normal(size=(len(labels), WIDTH)) + centres, 0)
    return Outputs(features @ head.weight.T + head.bias, features, labels)


@pytest.fixture(scope="session")
def made_up():
    """Return what makes a small pack."""
    return make


def make(name="toy", images=300, facts=None, seed=0):
    """Return a pack whose far images have no class's features, and whose near ones have little."""
    head = Head(CENTRES.astype(np.float32), np.zeros(CLASSES, np.float32))
    labels = np.arange(images) % CLASSES
    known = [outputs(head, CENTRES[labels], labels, seed + one) for one in (0, 1)]
    none = np.full(images, -1)
    return FeaturePack(
        name,
        "cifar10",
        head,
        *known,
        near={"cats": outputs(head, CENTRES[labels] / 2, none, seed + 2)},
        far={one: outputs(head, 0, none, seed + 3) for one in "ab"},
        facts=facts or {},
    )
