"""Packs are made of what a tier has trained, one a network, and described with their hashes."""

import json
from types import SimpleNamespace

import feature_packs
import numpy as np
import pytest

from helpers.data import Images
from helpers.files import sha256_file
from helpers.networks.model import Model
from helpers.networks.recipe import Recipe
from helpers.papers.run import Part
from helpers.training import fitted
from known_unknowns.bench import packs
from known_unknowns.bench.feature_packs import EMBEDDED

TINY = Recipe(width=4, stem_stride=2, epochs=1, batch_size=8)


def images(seed, n=24, classes=("a", "b", "c")):
    pixels = np.random.default_rng(seed).integers(0, 256, (n, 16, 16, 3), dtype=np.uint8)
    return Images(pixels, np.arange(n) % len(classes), classes, f"noise{seed}", "test")


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A tier of two methods that ask one network, and one that asks two."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))

    def models(parameters, part, roles):
        seeds = (0, 1) if part.name == "0/ensemble" else (0,)
        nets = [fitted.fit(roles.train, TINY, seed=one, progress=False) for one in seeds]
        return Model(part.name, tuple(nets))

    names = ("0/baseline", "0/odin", "0/ensemble")
    stages = SimpleNamespace(
        parts=lambda parameters: [
            Part(one, {"data_set": "cifar10", "backbone": "resnet8"}) for one in names
        ],
        roles=lambda parameters, part: SimpleNamespace(
            train=images(0), test=images(1), near=images(2), far={"static": images(3)}
        ),
        models=models,
    )
    monkeypatch.setitem(feature_packs.PAPERS, "made_up", SimpleNamespace(experiment=stages))
    given = SimpleNamespace(paper="made_up", tier="small", seed=0)
    monkeypatch.setattr(feature_packs.papers, "load", lambda paper, tier: given)
    monkeypatch.setattr(feature_packs, "PROBES", ("msp",))


def files_of(folder):
    """Return the files that a manifest lists, after a check of their hashes."""
    files = json.loads((folder / "manifest.json").read_text("utf-8"))["files"]
    assert all(sha256_file(folder / name) == about["sha256"] for name, about in files.items())
    return files


def test_each_network_has_one_pack_that_says_how_it_was_trained(small, tmp_path, caplog):
    caplog.set_level("INFO")
    feature_packs.main([str(tmp_path / "out"), "--of", "small", "made_up"])
    (pack,) = packs(tmp_path / "out")
    assert pack.name == "resnet8.small_cifar10_baseline_0" and pack.id_set == "cifar10"
    assert list(pack.parts) == ["train", "test", "near/near", "far/static"]
    assert pack.facts["network"]["recipe"]["width"] == 4
    assert "0/ensemble: one network with a head expected" in caplog.text
    (said,) = files_of(tmp_path / "out").values()
    assert said["images"] == dict.fromkeys(pack.parts, 24)
    assert said["network_sha256"] == pack.facts["network_sha256"]


def test_the_manifest_of_the_packs_that_come_along_is_of_these_files():
    said = files_of(EMBEDDED)
    assert set(said) == {file.name for file in EMBEDDED.glob("*.safetensors")}
    for pack in packs():
        about = said[f"{pack.name}.safetensors"]
        assert {name: about[name] for name in pack.facts} == pack.facts
