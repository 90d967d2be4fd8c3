"""What is executed when less than all is asked for."""

import sys

import pandas as pd
import plan
import pytest
import run

STEPS = dict.fromkeys(["uimnet/training", "uimnet/figures", "gscore/figures"])


@pytest.mark.parametrize(
    ("paper", "step", "names"),
    [
        (None, None, [*STEPS]),
        ("uimnet", None, ["uimnet/training", "uimnet/figures"]),
        (None, "uimnet/figures", ["uimnet/figures"]),
        ("uimnet", "uimnet/figures", ["uimnet/figures"]),
    ],
)
def test_a_paper_or_a_step_is_chosen_by_name(paper, step, names):
    assert run.chosen(STEPS, "mini", paper, step) == names


@pytest.mark.parametrize(
    ("paper", "step", "message"),
    [
        ("uimnets", None, "paper of tier mini 'uimnets'; did you mean 'uimnet'"),
        (None, "uimnet/figure", "unknown step 'uimnet/figure'; did you mean 'uimnet/figures'"),
        ("gscore", "uimnet/figures", "unknown step 'uimnet/figures'"),  # or all would be executed
    ],
)
def test_a_wrong_name_is_refused(paper, step, message):
    with pytest.raises(ValueError, match=message):
        run.chosen(STEPS, "mini", paper, step)


def test_what_is_not_asked_for_may_lack_its_data(tmp_path, monkeypatch):
    """One chapter's archive is enough for that chapter; to ask for all wants all."""
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    (tmp_path / "imagenet").mkdir()
    steps = run.planned("paper", "human_centric", None)
    assert {name.partition("/")[0] for name in steps} == {"human_centric"}
    assert [*run.planned("paper", None, "human_centric/dataset")] == ["human_centric/dataset"]
    with pytest.raises(SystemExit, match=r"refused before anything ran: data set .* no folder"):
        run.planned("paper", "unknown_detection", None)
    with pytest.raises(SystemExit, match="refused before anything ran"):
        run.planned("paper", None, None)


@pytest.mark.parametrize("cores", ["0", "two", "-1", "1.5"])
def test_a_number_of_cores_that_is_none_is_refused_at_once(cores, monkeypatch):
    """By zero cores Snakemake would wait for ever."""
    monkeypatch.setattr(run, "planned", lambda *asked: pytest.fail("planned"))
    monkeypatch.setattr(sys, "argv", ["run.py", "--cores", cores, "all"])
    with pytest.raises(SystemExit, match=f"^--cores: a whole number, at least 1, .* '{cores}'$"):
        run.main()


def test_a_checkout_that_cannot_be_written_is_told_so(tmp_path, monkeypatch):
    (tmp_path / "runs").touch()  # root may write in any folder
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "planned", lambda *asked: {})
    monkeypatch.setattr(sys, "argv", ["run.py", "all"])
    with pytest.raises(SystemExit, match=r"runs/mini: cannot be written .* copy .* to a folder"):
        run.main()


@pytest.mark.parametrize(
    ("notes", "code"), [("part a/0 failed: OSError: no", 1), ("OSError: no", 0)]
)
def test_a_part_that_failed_fails_the_pipeline(notes, code, tmp_path, monkeypatch, capsys):
    """After its table is written; a score or a data set that a part does without does not."""
    step = plan.Step("a/evaluation", "", {"tier": "mini"}, makes=("a/results.parquet",))
    table = pd.DataFrame({"metric": ["auroc", "failed"], "notes": ["", notes]})

    def snakemake(command):
        (tmp_path / "runs" / "mini" / "a").mkdir()
        table.to_parquet(tmp_path / "runs" / "mini" / "a" / "results.parquet")
        sys.exit(0)

    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "planned", lambda *asked: {step.name: step})
    monkeypatch.setattr(run, "snakemake", snakemake)
    monkeypatch.setattr(sys, "argv", ["run.py", "all"])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=f"^{code}$"):
        run.main()
    said = capsys.readouterr().err
    assert (f"a/evaluation: {notes}" in said) == ("a/evaluation.ipynb" in said) == bool(code)
