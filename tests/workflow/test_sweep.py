"""The headless command: which parameters it takes, and that it resumes."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import sweep

from helpers.modules import ROOT
from helpers.tables import results
from tests.mistakes import beside


def test_parts_and_values_of_the_command_line(capsys):
    line = ["mini", "openset_calibration", "--only", "cifar10_mini/resnet20/0"]
    given = ["--set", "device=cpu", "--set", "keep=0.9", "augmentation=[flip]"]
    _, parameters, (part,) = sweep.parse([*line, *given])
    assert (part.name, part.identity["run"]) == ("cifar10_mini/resnet20/0", 0)
    assert (parameters.keep, parameters.device) == (0.9, "cpu")
    assert parameters.recipe({"epochs": 9}).augmentation == ("flip",)
    for message, words in beside(__file__, "sweeps.yaml").items():
        with pytest.raises(SystemExit):
            sweep.parse([*line, *words.split()])
        assert message in capsys.readouterr().err


def test_a_sweep_with_changes_replaces_no_table(tmp_path, monkeypatch, capsys):
    (tmp_path / "params").symlink_to(ROOT / "params")
    monkeypatch.setattr(sweep, "ROOT", tmp_path)
    line = ["mini", "openset_calibration", "--set", "keep=0.9"]
    out = sweep.parse(line)[0].out
    assert out.parent == tmp_path / "runs/mini"
    out.touch()
    with pytest.raises(SystemExit):
        sweep.parse(line)
    assert f"{out} exists; name a file with --out" in capsys.readouterr().err


def test_processes_use_the_gpus_in_turn(tmp_path, monkeypatch):
    """GPUs are counted as the driver lists them."""
    monkeypatch.delenv(sweep.VISIBLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert sweep.gpus() == []  # there is no such program
    program = tmp_path / "nvidia-smi"
    for listing, names in (("No devices", []), ("GPU 0: A\n  MIG 1g.10gb\nGPU 1: A", ["0", "1"])):
        program.write_text(f"#!/bin/sh\necho '{listing}'")
        program.chmod(0o755)
        assert sweep.gpus() == names
    monkeypatch.setattr(sweep, "end_with_parent", lambda parent: None)
    monkeypatch.setattr(sweep, "parent_process", lambda: SimpleNamespace(pid=1))
    for name, gpu in (("SpawnProcess-2", "4"), ("SpawnProcess-3", "GPU-7f")):
        for value, usable in {"-1": [], "": [], "0,-1,1": ["0"]}.items():  # CUDA stops there
            monkeypatch.setenv(sweep.VISIBLE, value)
            assert sweep.gpus() == usable
        monkeypatch.setenv(sweep.VISIBLE, "4,GPU-7f")
        monkeypatch.setattr(sweep, "current_process", lambda name=name: SimpleNamespace(name=name))
        sweep.begin()
        assert os.environ[sweep.VISIBLE] == gpu


def test_it_writes_all_runs_and_goes_on_where_it_was_killed(tmp_path, monkeypatch, capsys):
    """Killed outright; its process ends too, and what was trained is not trained again.

    It goes on in this process, which has imported everything.
    """
    out = tmp_path / "table.parquet"
    given = ["data_sets=[digits]", "networks=!only {small: {depth: 8, width: 4}}", "epochs=1"]
    given += ["runs=2"]
    command = ["workflow/sweep.py", "mini", "openset_calibration", "--out", str(out), "--set",
               *given, "replicates=2"]  # fmt: skip
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    options = {"env": os.environ | {"PYTHONPATH": str(ROOT)}, "stderr": subprocess.DEVNULL}
    first = subprocess.Popen([sys.executable, *command], cwd=ROOT, **options)
    networks = tmp_path / "cache" / "networks"
    whole = "[!.]*.safetensors"  # a leading dot marks one that is still being written
    while first.poll() is None and not list(networks.glob(whole)):  # however busy the machine is
        time.sleep(0.05)
    first.kill()
    first.wait()
    time.sleep(2.5)
    kept = {path: path.stat().st_mtime_ns for path in networks.glob(whole)}
    assert kept and not out.exists()
    monkeypatch.setattr(sys, "argv", command)
    monkeypatch.setattr(sweep, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))
    sweep.main()
    assert capsys.readouterr().out.splitlines()[-1] == str(out)
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
    assert len(list(networks.glob(whole))) == 4  # of all classes and of some, in two runs
    table = results.read(out)
    assert table["run"].unique().tolist() == [0, 1] and set(table["backbone"]) == {"small"}
    assert "failed" not in set(table["metric"])


def test_a_part_that_failed_fails_the_command_after_the_table_is_written(
    tmp_path, monkeypatch, table_of
):
    """By its name, also if other parts have rows; an earlier table is left as it is."""
    out = tmp_path / "table.parquet"
    why = "part cifar10_mini/densenet40/0 failed: OSError: no weights"
    rows = [results.row("test", "accuracy", 0.5, 9)]
    rows += [{"backbone": "densenet40"} | results.row("test", "failed", 1.0, 1, notes=why)]
    table = table_of(rows, paper="openset_calibration", method="network")
    monkeypatch.setattr(sweep, "table_of", lambda *given: table)
    line = ["--out", str(out), "--only", "cifar10_mini/densenet40/0"]
    for parts in (1, 2):
        assert not out.exists()
        monkeypatch.setattr(sys, "argv", ["sweep.py", "mini", "openset_calibration", *line])
        with pytest.raises(SystemExit, match=f"^1 of {parts} parts failed:\n{why}$"):
            sweep.main()
        line.append("cifar10_mini/resnet20/0")
    assert results.read(out)["metric"].tolist() == ["accuracy", "failed"]
    out.write_text("an earlier table")
    with pytest.raises(SystemExit, match=r"^1 of 2 parts failed"):
        sweep.main()
    assert out.read_text() == "an earlier table"
