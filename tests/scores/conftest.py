from types import SimpleNamespace

import pytest

from helpers.networks.model import Model
from helpers.outputs import compute


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
