"""Packs are made of published networks."""

from types import SimpleNamespace

import feature_packs
import numpy as np
import pytest
from npm_cifar10 import CLASS_NAMES

from helpers.networks import zoo, zoo_records
from helpers.networks.model import Model
from helpers.papers.run import Part
from helpers.scores import base
from known_unknowns.bench import packs
from tests.data.test_images import some

NAME = "resnet20.akamaster_cifar10"


def images(seed):
    return some(24, 32, seed, labels=np.arange(24) % 10, class_names=CLASS_NAMES, name=f"{seed}")


@pytest.fixture
def stages(monkeypatch):
    """A chapter with one published network, on noise."""
    stages = SimpleNamespace(
        parts=lambda parameters: [Part(NAME, {"data_set": "cifar10", "backbone": "resnet20"}, "")],
        roles=lambda parameters, part: SimpleNamespace(
            train=images(0), test=images(1), near={"near": images(2)}, far={"static": images(3)}
        ),
        models=lambda parameters, part, roles: Model(NAME, (zoo.load(NAME, progress=False),)),
    )
    monkeypatch.setitem(feature_packs.CHAPTERS, "synthesis", SimpleNamespace(experiment=stages))
    few = {name: base._REGISTRY[name] for name in ("energy", "msp")}
    monkeypatch.setattr(base, "_REGISTRY", few)
    monkeypatch.setattr(feature_packs, "load", lambda *given, **more: SimpleNamespace(seed=0))


def test_a_published_network_has_one_pack(stages, tmp_path):
    feature_packs.main([str(tmp_path / "out")])
    (pack,) = packs(tmp_path / "out")
    assert pack.name == NAME and pack.id_set == "cifar10"
    assert list(pack.parts) == ["train", "test", "near/near", "far/static"]
    assert pack.facts["network"] == {"source": zoo_records.records()[NAME].source,
                                     "licence": zoo_records.records()[NAME].licence}  # fmt: skip
    changes = pack.facts["changes_of_auroc"]
    assert changes.keys() == {"energy", "msp"} and max(changes.values()) < 0.02
    assert {len(outputs) for outputs in pack.parts.values()} == {24}
    before = (tmp_path / "out" / f"{NAME}.safetensors").stat().st_mtime_ns
    feature_packs.main([str(tmp_path / "out")])
    assert (tmp_path / "out" / f"{NAME}.safetensors").stat().st_mtime_ns == before
