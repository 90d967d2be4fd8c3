"""The headless command: which parameters it takes, and that it resumes."""

import os
import shlex
import signal
import subprocess
import sys
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest
import sweep

from helpers.data.cards import find
from helpers.papers import run
from helpers.report import results
from known_unknowns.chapters import load
from tests.test_extending import blocks

ROOT = Path(__file__).resolve().parent.parent.parent
PAPER = "unknown_detection"


def test_a_network_of_the_grid_replaces_the_one_that_is_evaluated():
    line = {"tier": "small", "paper": PAPER, "device": None, "only": None}
    jobs, _ = sweep.jobs_of(Namespace(**line, set=["network=resnet18", "runs=1"]))
    assert {part.identity["backbone"] for _, _, part in jobs.values()} == {"resnet18"}
    with pytest.raises(ValueError, match="unknown network 'resnet21'; did you mean 'resnet20'"):
        sweep.jobs_of(Namespace(**line, set=["network=resnet21"]))
    with pytest.raises(ValueError, match="unknown tier 'smal'"):
        sweep.jobs_of(Namespace(**line | {"tier": "smal"}, set=[]))


def test_the_command_of_the_book_has_the_choices_of_the_authors_code():
    (command,) = blocks("book/unknown_detection.md", "As the authors' code has it", "console")
    words = shlex.split(command.replace("\\\n", " "))
    parser = sweep.parser_of_parts(sweep.__doc__)
    parser.add_argument("--out")
    arguments = parser.parse_args(words[words.index("workflow/sweep.py") + 1 :])
    assert (arguments.tier, arguments.paper) == ("small", PAPER)
    theirs, parts = sweep.parts_of(arguments, None)
    ours = load(PAPER, "small")
    for method in ours.methods:
        one, other = theirs.method_recipe(method), ours.method_recipe(method)
        own = {"edl": {"ramp_epochs": 0}, "augmix": {"shear_centre": 0}}.get(method, {})
        assert one == replace(
            other, augmentation=("crop_zeros", "flip"), precision="float32",
            objective_arguments=other.objective_arguments | own,
        )  # fmt: skip
    assert [part.name for part in parts if part.identity["method"] == "ensemble"] == ["0/ensemble"]


def test_the_commands_of_the_book_say_the_papers_benchmarks():
    """Its sizes, and no data set but those that the same section has a command for."""
    section = blocks("book/how_to_run.md", "Tiers", "console")
    lines = [shlex.split(one) for one in "".join(section).replace("\\\n", " ").splitlines()]
    parser = sweep.parser_of_parts(sweep.__doc__)
    given, small, large = (
        sweep.parts_of(parser.parse_args(words[3:]), None)[0]
        for words in lines if "workflow/sweep.py" in words
    )  # fmt: skip
    made = {word for words in lines if "workflow/make_packs.py" in words for word in words}
    made |= {word.replace("-", "_") for word in made} | {"gaussian"}  # which is drawn
    assert set(given.data_sets_used()) <= made
    dtd, *others = map(given.far_set, ("dtd", "svhn", "lsun_fix"))
    assert [one.images for one in others] == [4000, 4000] and "bridge" in others[1].keep
    assert sum(find("dtd").splits[one] for one in dtd.splits) == 5640 <= dtd.images
    assert small.data_sets_used() == ["cifar-bench"]
    assert large.data_sets_used() == ["imagenet-bench"] and large.streamed


def test_a_place_that_cannot_be_written_is_found_before_anything_is_computed(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "file").touch()
    for out, message in ((tmp_path, "is a folder"), (tmp_path / "file" / "x", "nothing can be")):
        command = ["sweep.py", "small_cpu", PAPER, "--out", str(out)]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit, match=r"^2$"):
            sweep.main()
        assert message in capsys.readouterr().err


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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--processes", "0"], "--processes: at least 1 expected"),
        (["--only", "digits/resnet/0"], "unknown part 'digits/resnet/0'; did you mean"),
    ],
)
def test_mistakes_are_refused_before_anything_is_computed(given, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sweep.py", "mini", "openset_calibration", *given])
    with pytest.raises(SystemExit):
        sweep.main()
    assert message in capsys.readouterr().err


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
