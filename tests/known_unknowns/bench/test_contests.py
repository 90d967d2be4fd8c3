"""Scores against each other, on made-up packs."""

import numpy as np
import pandas as pd
import pytest

from helpers import scores
from helpers.scores import base
from helpers.scores.info import Info
from known_unknowns.auditing.command import HOLDS, main
from known_unknowns.bench import Contest, contest, entries_of, files_of

OTHERS = ["energy", "mahalanobis", "max_logit", "msp"]


def info(name, *needs):
    return Info(name=name, title="Made", paper="None", authors="Nobody", year=2026, key="none2026",
                equation="p", needs=needs, summary="Made up.",
                hyper_parameters={"sign": "of what it says"})  # fmt: skip


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Register few scores: the contest is among all that there are."""
    kept = {name: base._REGISTRY[name] for name in OTHERS}
    monkeypatch.setattr(base, "_REGISTRY", kept)


class Made(base.BlockwiseScore):
    """A score from logits."""

    info = info("made", "logits")

    def __init__(self, sign=1.0):
        self.sign = sign

    def _scores(self, part):
        return self.sign * part.probabilities.max(axis=1)


@pytest.fixture(scope="module")
def given(made_up):
    return [made_up("one"), made_up("two", seed=9)]


def test_a_copy_is_told_from_nothing_and_ranks_beside_its_original(given):
    found = contest({"made": Made()}, given, replicates=50)
    own = found.differences("made").set_index(["side", "other"])
    for side in ("near", "far"):
        assert own.loc[(side, "msp"), ["ahead", "low", "high"]].tolist() == [0, 0, 0]
        assert own.loc[(side, "msp"), "verdict"] == "not told apart"
        ranked = found.ranking(side)[0]
        assert ranked["made"] == ranked["msp"]
    assert set(found.numbers["network"]) == {"one", "two"} and found.entries == ("made",)


def test_differences_are_of_pairs():
    """Replicates that go up and down together say more than each of the two alone."""
    noise = np.linspace(-0.2, 0.2, 101)
    rows = [
        {"score": name, "network": "n", "side": "far", "test_set": "t", "auroc": area,
         "fpr_at_tpr": 0.5, "bootstrap": area + noise}
        for name, area in (("mine", 0.81), ("other", 0.80))
    ]  # fmt: skip
    (row,) = Contest(pd.DataFrame(rows), ("mine",)).differences("mine").to_dict("records")
    assert row["verdict"] == "better" and row["low"] == pytest.approx(0.01)


def test_ranks_tell_apart_what_always_comes_first_and_no_copy():
    """Ten scores in the same order on twenty sets: the first is told from those far below."""
    names = [f"s{one}" for one in range(10)]
    rows = [
        {"score": name, "network": "n", "side": "far", "test_set": f"t{case}",
         "auroc": 0.9 - 0.01 * place, "fpr_at_tpr": 0.5, "bootstrap": np.zeros(2)}
        for case in range(20) for place, name in enumerate(names)
    ]  # fmt: skip
    (said,) = Contest(pd.DataFrame(rows), ("s0",)).rank_tests()
    assert "over 20 pairs" in said
    difference = float(said.split("more than ")[1].split()[0])
    assert f"; {9 - int(difference)} differ by that from s0, of mean rank 1.0." in said
    same = pd.DataFrame(rows).assign(auroc=0.9)
    (said,) = Contest(same, ("s0",)).rank_tests()
    assert "; 0 differ by that from s0, of mean rank 5.5." in said


def test_a_score_that_breaks_the_contract_is_refused_with_the_place(given):
    with pytest.raises(AssertionError, match="higher_is_known"):
        contest({"made": Made(-1.0)}, given)


def test_a_score_that_needs_what_no_pack_has_is_refused(given):
    class Again(Made):
        info = info("again", "members")

    with pytest.raises(ValueError, match=r"again: .* it needs members"):
        contest({"again": Again()}, given)


SCORE = (
    "from helpers.scores import register\n"
    "from helpers.scores.base import BlockwiseScore\n"
    "from helpers.scores.info import Info\n\n\n"
    "@register\nclass Largest(BlockwiseScore):\n"
    "    info = Info(name='largest', title='Largest', paper='None', authors='Nobody',\n"
    "                year=2026, key='none2026', equation='z', summary='The largest.',\n"
    "                needs=('logits', 'level of the logits'))\n\n"
    "    def _scores(self, part):\n        return part.logits.max(axis=1).astype(float)\n"
)


def test_the_command_ranks_what_a_file_registers(tmp_path, given, monkeypatch, capsys):
    """On the packs of a folder; what is on the screen is what is found."""
    (tmp_path / "largest.py").write_text(SCORE)
    (tmp_path / "packs").mkdir()
    given[0].write(tmp_path / "packs" / "one.safetensors")
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "largest.py", "--packs", "packs"]) == HOLDS
    assert {one.name for one in (tmp_path / "largest_bench").iterdir()} == files_of(["largest"])
    told = capsys.readouterr().out
    assert "largest" in told and told.endswith("\nlargest_bench/index.html\n")


def test_a_file_enters_the_scores_that_it_registers(tmp_path, given):
    file = tmp_path / "my_score.py"
    file.write_text(SCORE)
    entries = entries_of(file)
    assert list(entries) == ["largest"]
    found = contest(entries, given[:1], replicates=20)
    own = found.differences("largest").set_index(["side", "other"])
    assert own.loc[("far", "max_logit"), "ahead"] == 0
    assert set(found.numbers["score"]) == {"largest", *OTHERS}
    assert "largest" in scores.names()


def test_a_file_without_a_score_is_refused(tmp_path):
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(ValueError, match=r"registers no score; put @helpers\.scores"):
        entries_of(tmp_path / "empty.py")
    with pytest.raises(FileNotFoundError, match=r"absent\.py: no such file"):
        entries_of(tmp_path / "absent.py")
