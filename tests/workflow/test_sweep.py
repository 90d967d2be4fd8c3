"""The headless command: which parameters it takes, and that it resumes."""

import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest
import sweep

from helpers.papers import run
from helpers.report import results

ROOT = Path(__file__).resolve().parent.parent.parent
PAPER = "unknown_detection"


def test_parts_and_values_of_the_command_line():
    line = {"tier": "mini", "paper": "openset_calibration", "device": "cpu"}
    given = {"only": ["digits/resnet8/0"], "set": ["keep=0.9", "epochs=3", "augmentation=[flip]"]}
    jobs, threads = sweep.jobs_of(Namespace(**line, **given))
    ((call, parameters, part),) = jobs.values()
    assert list(jobs) == given["only"] and call is run.rows_of_part and threads == 1
    assert (parameters.keep, parameters.device, part.identity["run"]) == (0.9, "cpu", 0)
    assert parameters.recipe({"epochs": 9}).augmentation == ("flip",)
    with pytest.raises(ValueError, match="unknown parameter 'kepe'; did you mean 'keep'"):
        sweep.jobs_of(Namespace(**line, only=None, set=["kepe=1"]))


def test_it_writes_all_runs_and_goes_on_where_it_was_killed(tmp_path):
    """Killed outright; its processes end too, and what was trained is not trained again."""
    out = tmp_path / "table.parquet"
    given = ["data_sets=[digits]", "networks={small: {width: 8}}", "epochs=2"]
    command = [sys.executable, "workflow/sweep.py", "mini", "openset_calibration", "--processes",
               "2", "--out", str(out), "--set", *given, "--set", "replicates=2"]  # fmt: skip
    environment = os.environ | {"CACHE_ROOT": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    first = subprocess.Popen(command, cwd=ROOT, env=environment, **quiet)
    networks = tmp_path / "cache" / "networks"
    whole = "[!.]*.safetensors"  # a leading dot marks one that is still being written
    while not list(networks.glob(whole)) and first.poll() is None:  # however busy the machine is
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = {path: path.stat().st_mtime_ns for path in networks.glob(whole)}
    assert kept and not out.exists()
    time.sleep(2.5)
    again = subprocess.run(command, cwd=ROOT, env=environment, **quiet, check=True)
    assert again.stdout.splitlines()[-1] == str(out)
    assert all(path.stat().st_mtime_ns == made for path, made in kept.items())
    table = results.read(out)
    assert sorted(set(table["run"])) == [0, 1] and set(table["backbone"]) == {"small"}
    assert "failed" not in set(table["metric"])


def test_a_part_that_failed_fails_the_command_after_the_table_is_written(
    tmp_path, monkeypatch, capsys
):
    """By its name, also if other parts have rows."""
    given = ["--only", "digits/resnet8/0", "digits/resnet8/1", "--set", "replicates=2"]
    out = tmp_path / "table.parquet"
    monkeypatch.setattr(sys, "argv", ["sweep.py", "mini", "openset_calibration", *given])
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--out", str(out)])
    columns = {"tier": "mini", "paper": "openset_calibration", "data_set": "digits"}
    columns |= {"backbone": "resnet8", "method": "network"}
    made = {"seed": 0, "parameters": "0" * 12, "code": "0", "versions": "{}", "device": "cpu",
            "seconds": 0.0}  # fmt: skip
    why = "part digits/resnet8/1 failed: OSError: no such weights"
    rows = [
        columns | {"run": 0} | results.row("test", "accuracy", 0.5, 9),
        columns | {"run": 1} | results.row("test", "failed", 1.0, 1, notes=why),
    ]
    monkeypatch.setattr(sweep, "table_of", lambda *given: results.tidy(rows, made))
    with pytest.raises(SystemExit, match=f"^1 of 2 parts failed:\n{why}$"):
        sweep.main()
    assert results.read(out)["metric"].tolist() == ["accuracy", "failed"]
