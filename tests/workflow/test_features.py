"""From the command that stores features to the rows of a chapter whose heads see them."""

import sys

import features as command
import numpy as np
import pytest
import torch
import yaml
from torch import nn

from helpers.networks import frozen_features, zoo
from helpers.networks.models import Classifier
from helpers.papers import run
from helpers.papers.parameters import load

NAME = "openset_calibration"


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.head = nn.Conv2d(3, 30, 5, stride=3), nn.Linear(30, 4)

    def forward_features(self, x):
        return nn.functional.relu6(self.layer(x / 64))

    def forward_head(self, x, pre_logits=False):
        x = nn.functional.adaptive_avg_pool2d(x, 2)[..., 0, :].flatten(1)
        return x if pre_logits else self.head(x)

    def get_classifier(self):
        return self.head


@pytest.fixture
def root(monkeypatch, tmp_path):
    """Return a project with a tier of its own: digits as a made-up network sees them."""
    monkeypatch.setenv("DATA_ROOT", str(tmp_path / "data"))
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    network = {"backbone": "head", "depth": 1, "image_size": 60, "epochs": 4}
    changes = {
        "data_sets": ["digits"], "runs": 1, "replicates": 5, "stand_ins": ["digits"],
        "larger_tiers": [], "networks": {"tiny": network},
        "features": {"tiny": {"network": "made_up", "size": 16}},
    }  # fmt: skip
    values = load(NAME, "mini").model_dump(exclude={"tier", "device", "training_knobs"}) | changes
    folder = tmp_path / "params" / "frozen"
    folder.mkdir(parents=True)
    (folder / f"{NAME}.yaml").write_text(yaml.safe_dump(values))
    source = zoo.Pretrained("made_up", "", Classifier(Tiny()).eval(), {}, (), "cpu", "ab" * 32)
    opened = []

    def open_network(*_, **__):
        opened.append(1)
        return source

    monkeypatch.setattr(frozen_features, "open_network", open_network)
    monkeypatch.setattr(command, "ROOT", tmp_path)
    return tmp_path, opened


def call(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["features.py", "frozen", *words])
    command.main()
    return capsys.readouterr().out


def test_rows_of_features_need_them_and_are_made_of_them(root, monkeypatch, capsys):
    root, opened = root
    parameters = load(NAME, "frozen", root=root)
    with pytest.raises(ValueError, match=r"nothing could be evaluated: .* `python workflow/feat"):
        run.rows(parameters, progress=False)
    assert ": 0 images have features, 1797 lack them" in call(monkeypatch, capsys, "--list")
    assert not opened
    call(monkeypatch, capsys, NAME)
    assert "1797 images have features, 0 lack them" in call(monkeypatch, capsys)
    assert len(opened) == 1
    table = run.rows(parameters, progress=False)
    assert not (table["metric"] == "failed").any()
    right = table.query("metric == 'accuracy' and method == 'closed-set'")["value"]
    assert right.iloc[0] > 0.4  # of ten classes
    assert np.array_equal(run.rows(parameters, progress=False)["value"], table["value"])
