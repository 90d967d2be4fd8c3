from types import SimpleNamespace

import numpy as np
import pytest

import helpers.scores
from helpers.networks.inference import compute
from helpers.networks.model import Model
from helpers.outputs import Head, Outputs


@pytest.fixture(scope="session")
def problem():
    """Return what draws outputs and their head: each class occurs, most images are right."""

    def problem(n=300, width=40, classes=20, seed=0, score=None):
        generator = np.random.default_rng(seed)
        head = Head(
            np.random.default_rng(1).normal(size=(classes, width)).astype(np.float32),
            np.random.default_rng(2).normal(size=classes).astype(np.float32),
        )
        labels = np.arange(n) % classes
        features = generator.normal(size=(n, width)).astype(np.float32) + head.weight[labels]
        needs = helpers.scores.create(score).info.needs if score else ()
        more = {
            "members": generator.dirichlet(np.ones(classes, np.float32), size=(2, n)),
            "native": generator.normal(size=n),
        }
        more = {need: more[need] for need in more if need in needs}
        return Outputs(features @ head.weight.T + head.bias, features, labels, **more), head

    return problem


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Return what makes a `Model` of classifiers, whose cache is empty."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))

    def network(classifier):
        return SimpleNamespace(
            classifier=classifier,
            preprocessing={},
            view={},
            sha256=f"{id(classifier)}",
            device="cpu",
            threads=1,
            outputs=lambda images, passes=0: compute(classifier, images),
        )

    return lambda *classifiers: Model("asked", tuple(map(network, classifiers)))
