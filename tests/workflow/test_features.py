"""From the command that stores features to the rows of a chapter whose heads see them."""

import os
import subprocess
import sys

import features as command
import numpy as np
import pytest
import step
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
    call(monkeypatch, capsys, NAME, "--only", "digits/test", "--most", "100")
    assert "1697 lack them, " in call(monkeypatch, capsys)
    assert "1797 images have features, 0 lack them" in call(monkeypatch, capsys)
    assert len(opened) == 2
    table = run.rows(parameters, progress=False)
    assert not (table["metric"] == "failed").any()
    right = table.query("metric == 'accuracy' and method == 'closed-set'")["value"]
    assert right.iloc[0] > 0.4  # of ten classes
    assert np.array_equal(run.rows(parameters, progress=False)["value"], table["value"])


def test_a_tier_without_features_and_a_chapter_without_are_refused(root, monkeypatch, capsys):
    root, _ = root
    monkeypatch.setattr(sys, "argv", ["features.py", "frozen", "uimnet"])
    with pytest.raises(SystemExit, match="unknown paper 'uimnet'"):
        command.main()
    file = root / "params" / "frozen" / f"{NAME}.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | {"features": {}}))
    for words, message in (([NAME], "name no `features`"), ([], "no parameters of this tier")):
        monkeypatch.setattr(sys, "argv", ["features.py", "frozen", *words])
        with pytest.raises(SystemExit, match=message):
            command.main()


@pytest.fixture
def planned(tmp_path):
    """Return a folder with the plan of three chapters, of which two have features, and it."""
    (tmp_path / "workflow").symlink_to(step.ROOT / "workflow")
    frozen = {"features": {"net": {"network": "made_up", "size": 8}}}
    needed = {"gpu": 0, "cpus_per_task": 1, "mem_mb": 100, "runtime": 1}
    steps = {}
    for paper, settings in {"uimnet": frozen, "gscore": frozen, "human_centric": {}}.items():
        (tmp_path / f"{paper}.ipynb").touch()
        name = f"{paper}/dataset"
        steps[name] = step.Step(name, f"{paper}.ipynb", {}, settings=settings, resources=needed)
    step.write(steps, tmp_path / "runs" / "frozen")
    return tmp_path, steps


def test_a_cluster_which_has_no_number_of_cores_gets_the_same_rules(planned):
    folder, steps = planned
    code = """
from pathlib import Path
from snakemake.api import ConfigSettings, OutputSettings, ResourceSettings, SnakemakeApi
with SnakemakeApi(OutputSettings()) as api:
    found = api.workflow(
        resource_settings=ResourceSettings(nodes=20), snakefile=Path("workflow/Snakefile"),
        config_settings=ConfigSettings(config={"tier": "frozen"}),
    )
    found._workflow.list_rules(only_targets=False)  # the API's own would set a number of cores
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rules = [one.rule for one in steps.values()] + ["uimnet--features", "gscore--features"]
    assert {*rules} <= {*(done.stdout + done.stderr).split()}


def test_the_pipeline_stores_the_features_of_each_chapter_before_its_notebooks(planned):
    """Of the chapters that have some; what it calls is written down in the place of Python."""
    folder, steps = planned
    called = folder / "called"
    python = folder / "bin" / "python"
    python.parent.mkdir()
    python.write_text(
        f'#!/bin/bash\necho "$@" >> {called}\n'
        'if [ "$1" = workflow/execute.py ]; then touch "$4/$3.ipynb"; fi\n'
    )
    python.chmod(0o755)
    command = [
        sys.executable, "-m", "snakemake", "all", "--snakefile", "workflow/Snakefile",
        "--config", "tier=frozen", "--cores", "2",
    ]  # fmt: skip
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    for _ in range(2):  # the second time there is nothing to do
        subprocess.run(
            command, cwd=folder, env=os.environ | {"PATH": path}, check=True, capture_output=True
        )
    lines = called.read_text().splitlines()
    stored = {one: f"workflow/features.py frozen {one} --threads 2" for one in ("uimnet", "gscore")}
    executed = {one: f"workflow/execute.py frozen {one} runs/frozen" for one in steps}
    assert sorted(lines) == sorted([*stored.values(), *executed.values()])
    for paper, line in stored.items():
        assert lines.index(line) < lines.index(executed[f"{paper}/dataset"])
