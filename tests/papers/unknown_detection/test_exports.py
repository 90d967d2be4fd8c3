"""The committed networks have the accuracy that they were committed with; this needs CIFAR-100."""

import json
import os

import pytest
from safetensors import safe_open

from helpers.files import project_root
from helpers.papers import load
from helpers.papers.run import parts
from helpers.papers.unknown_detection import experiment

PACKS = os.environ.get("DATA_ROOT", "")  # before the tests have a folder of their own
FILES = sorted(project_root().glob("results/small/networks/unknown_detection/*.safetensors"))


@pytest.mark.skipif(not PACKS, reason="DATA_ROOT is not set")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_committed_network_has_its_committed_accuracy(path, monkeypatch):
    monkeypatch.setenv("TRAINING", "refused")
    monkeypatch.setenv("DATA_ROOT", PACKS)
    parameters = load("unknown_detection", "small")
    (part,) = parts(parameters, path.stem.replace("-", "/", 1))
    roles = experiment.roles(parameters, part)
    model = experiment.models(parameters, part, roles)
    information = json.loads(safe_open(path, "np").metadata()["information"])
    assert model.networks[0].path == path
    accuracy = model.outputs(roles.test).correct.mean()
    assert f"{accuracy:.4f}" == f"{information['test_accuracy']:.4f}"
