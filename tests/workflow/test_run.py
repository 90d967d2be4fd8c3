"""Which steps are executed, and what is refused before anything runs."""

import functools
import sys
from contextlib import nullcontext
from pathlib import Path

import make_data
import pandas as pd
import plan
import pytest
import run
import step

from tests.mistakes import beside

CHOSEN, REFUSED = beside(__file__, "command_lines.yaml").values()
STEPS = dict.fromkeys(["uimnet/training", "uimnet/figures", "gscore/figures"])
JOB = "uimnet/network/resnet8-erm-none-0-0"


@pytest.mark.parametrize(("paper", "step", "names"), CHOSEN)
def test_a_paper_or_a_step_is_chosen_by_name(paper, step, names):
    with pytest.raises(ValueError, match=names) if isinstance(names, str) else nullcontext():
        assert run.chosen(STEPS, "mini", paper, step) == names


def test_a_job_is_chosen_by_name_and_not_listed():
    steps = STEPS | {JOB: None}
    assert run.chosen(steps, "mini", None, JOB) == [JOB]
    with pytest.raises(ValueError, match=r"unknown step 'uimnet/network/a'.*/training$"):
        run.chosen(steps, "mini", None, "uimnet/network/a")


def test_what_is_not_asked_for_may_lack_its_data(root, monkeypatch):
    """The archive of a chapter is enough for that chapter; to ask for all needs all."""
    once = functools.cache(plan.plan)
    monkeypatch.setattr(run, "plan", once)
    monkeypatch.setattr(make_data, "plan", once)
    (root / "imagenet").mkdir()
    assert [*run.planned("paper", None, "human_centric/dataset")] == ["human_centric/dataset"]
    for paper in ("unknown_detection", None):
        with pytest.raises(SystemExit, match=r"refused before anything ran: data sets .* food101"):
            run.planned("paper", paper, None)


def test_a_missing_set_that_make_data_fetches_is_named(root, capsys):
    names = ("svhn", "flowers5")
    step = plan.Step("human_centric/dataset", "", {}, data_sets=names, spared=names)
    run.tell_missing({step.name: step})
    *reasons, last = capsys.readouterr().out.splitlines()
    assert [line.split("data set ")[1].split(":")[0] for line in reasons] == [
        "'svhn'",
        "'flowers5'",
    ]
    assert last.startswith("`make data` makes svhn: 246 MB to download, about 3 min")


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_a_command_line_that_makes_no_sense_is_refused_at_once(words, message, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run.py", *words.split()])
    with pytest.raises(SystemExit, match=message):
        run.main()


@pytest.fixture
def planned(here, monkeypatch):
    """Make `run` execute one step in an empty repository; a server would import for seconds."""
    step = plan.Step(
        "a/evaluation", "", {}, makes=("a/results.parquet",), settings={"tier": "mini"}
    )
    monkeypatch.setattr(run, "ROOT", here)
    monkeypatch.setattr(run.forks, "start_server", lambda: None)
    monkeypatch.setattr(run, "planned", lambda *asked: {step.name: step})
    monkeypatch.setattr(sys, "argv", ["run.py", "all"])
    return here / "runs"


def test_a_checkout_that_cannot_be_written_is_told_so(planned):
    planned.touch()  # root may write in any folder
    with pytest.raises(SystemExit, match=r"runs/mini: cannot be written .* copy .* to a folder"):
        run.main()


@pytest.mark.parametrize(
    ("notes", "code"), [("part a/0 failed: no", 1), ("ValueError: no", 1), ("no folder", 0)]
)
def test_a_part_that_failed_fails_the_pipeline(notes, code, planned, monkeypatch, capsys):
    """After its table is written, and so does a score; a data set that is missing does not."""
    columns = {"method": ["msp", "msp"], "metric": ["auroc", "failed"], "notes": ["", notes]}
    images = [9, 1 if notes.startswith("part") else 9]
    table = pd.DataFrame(columns).assign(test_set="test", images=images)

    def snakemake(command):
        (planned / "mini" / "a").mkdir()
        table.to_parquet(planned / "mini" / "a" / "results.parquet")
        sys.exit(0)

    monkeypatch.setattr(run, "snakemake", snakemake)
    with pytest.raises(SystemExit, match=f"^{code}$"):
        run.main()
    error = capsys.readouterr().err
    shown = notes if notes.startswith("part") else f"msp: {notes}"
    assert (f"a/evaluation: {shown}" in error) == ("a/evaluation.ipynb" in error) == bool(code)


def test_a_user_whom_the_machine_does_not_know_has_a_home_and_a_name(tmp_path, monkeypatch):
    """As in `docker run --user 1234`: no entry in passwd, and no HOME."""
    for name in ("HOME", "USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(number):
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr("pwd.getpwuid", unknown)
    run.give_home(tmp_path)
    assert Path.home() == tmp_path and run.getpass.getuser() == "nobody"


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '{"a": 1}', '[{"name": "a"}]', '[{"nome": "a"}]', "[[]]"]
)
def test_a_plan_of_another_version_is_refused_in_a_sentence(content, tmp_path):
    (tmp_path / step.PLAN).write_text(content)
    with pytest.raises(
        SystemExit, match=r"plan\.json: a plan of this version expected, .* make run TIER"
    ):
        step.read(tmp_path)
