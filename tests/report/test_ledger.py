import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from docutils.nodes import make_id

from helpers.papers import PAPERS
from helpers.report import results
from helpers.report.claims import Verdict
from helpers.report.ledger import LARGER, PUBLISHED, anchor, ledger, read, tally
from tests.report.claim_tables import MAKE

ROOT = Path(__file__).resolve().parent.parent.parent


NEAR = "pearson_fpr95 primary"
MORE_ACCURATE = {"algorithm": ["mixup"], "metric": ["accuracy"]}
UNION, SCALED = ("crl", "aurc", "union"), ("closed-set", "after", "ece")
CHANGED = {  # of each paper a claim, and tables that contradict it and leave it undecided
    "unknown_detection": ("ensemble", [{UNION: 0.68}], [{UNION: 0.69}]),
    "human_centric": (
        "distillation",
        [{}, {"resnet8+distilled": (0.45, 0.68, 1e5)}],
        [{}, {"resnet8+distilled": (0.42, 0.68, 1e5)}],
    ),
    "uimnet": ("erm", [(0.05, MORE_ACCURATE)], [(0.03, MORE_ACCURATE)]),
    "gscore": ("correlation", [{NEAR: 0.3}], [{NEAR: 0.15}]),
    "openset_calibration": ("closed-set", [{SCALED: 0.05}], [{SCALED: 0.03}]),
}
MORE = {"human_centric": {"runs": 1}, "gscore": {"noise": 0.25}}  # of tables that decide nothing


@pytest.fixture(scope="module")
def found():
    """Ledgers by verdict; the tables of each would give it to one claim of every paper."""
    tables = {
        Verdict.SUPPORTED: {("mini", paper): MAKE[paper]() for paper in CHANGED},
        Verdict.CONTRADICTED: {("mini", p): MAKE[p](*CHANGED[p][1]) for p in CHANGED},
        Verdict.UNDECIDED: {
            ("mini", p): MAKE[p](*CHANGED[p][2], **MORE.get(p, {})) for p in CHANGED
        },
    }
    return {verdict: ledger(PAPERS, own, ["mini", "small"]) for verdict, own in tables.items()}


def test_the_effect_that_stands_for_a_claim_has_its_verdict(found):
    """Beyond 1 an interval lies wholly on one side of the margin, between it holds the margin."""
    every = pd.concat(found.values()).query("tier == 'mini' and verdict != 'no data'")
    clear = ~every["note"].str.contains("against|doubted")
    by_verdict = every[clear].groupby("verdict")["clearance"]
    assert by_verdict.min()[Verdict.SUPPORTED] > 1
    assert by_verdict.max()[Verdict.CONTRADICTED] < -1
    assert by_verdict.agg(lambda own: own.abs().max())[Verdict.UNDECIDED] <= 1
    assert every["effect"].between(every["low"] - 1e-9, every["high"] + 1e-9).all()


def test_the_weakest_effect_stands_for_a_supported_claim_and_the_worst_for_a_contradicted_one():
    """Both by hand: three methods, of which one is least behind, or furthest ahead."""
    near = {("crl", "aurc", "union"): 0.71, ("edl", "aurc", "union"): 0.80}
    ahead = {("crl", "aurc", "union"): 0.65, ("edl", "aurc", "union"): 0.67}
    for changes, verdict in ((near, Verdict.SUPPORTED), (ahead, Verdict.CONTRADICTED)):
        tables = {("mini", "unknown_detection"): MAKE["unknown_detection"](changes)}
        row = ledger(PAPERS, tables, ["mini"]).iloc[0]
        assert (row["claim"], row["verdict"], row["effects"]) == ("ensemble", verdict, 8)
        assert row["decided_by"] == "AURC on the union, CRL minus Deep Ensemble"
        side = "low" if verdict == Verdict.SUPPORTED else "high"
        reach = abs(row["effect"] - row[side])
        assert row["clearance"] == pytest.approx(row["effect"] / reach)


def test_claims_without_numbers_say_so(found):
    """A tier without results, a paper without printed numbers, and a claim that lacks models."""
    rows = found[Verdict.SUPPORTED].set_index(["paper", "tier", "claim"]).sort_index()
    small = rows.xs("small", level="tier")
    assert set(small["verdict"]) == {Verdict.NO_DATA}
    assert set(small["note"]) == {"no results of this tier"}
    assert set(rows.loc["uimnet", PUBLISHED]["note"]) == {"the paper's own numbers are not at hand"}
    few = MAKE["human_centric"]().query("backbone in ['resnet8', 'resnet14']")
    few = ledger(PAPERS, {("mini", "human_centric"): few}, ["mini"]).set_index(["claim", "tier"])
    lacking = few.loc[[("accuracy", "mini")]].iloc[0]
    assert lacking["verdict"] == Verdict.NO_DATA and np.isnan(lacking["effect"])
    assert lacking["note"].startswith("needs 5 models")


def test_the_effect_by_the_second_variant_stands_beside_the_first():
    """Whatever it says; "" where a paper or a table has no such variant."""
    held = MAKE["human_centric"]({}, {"resnet8+adversarial_1": (0.50, 0.6, 1e5)}, spread=0)
    plain = MAKE["human_centric"](spread=0)
    both = pd.concat([plain, held.assign(variant="held-out threshold")])
    for table, expected in (
        (both, "by the held-out threshold +0.100 [+0.100, +0.100]"),
        (plain, ""),
    ):
        rows = ledger(PAPERS, {("mini", "human_centric"): table}, ["mini"])
        own = rows.set_index(["claim", "tier"]).loc[("adversarial", "mini")]
        assert own["second"] == expected
        assert own["effect"] == pytest.approx(0.15)
    assert set(rows["second"]) == {""}


def test_the_tally_counts_each_claim_once(found):
    counts = tally(found[Verdict.CONTRADICTED])
    assert counts.groupby("paper").sum().sum(axis=1).div(3).to_dict() == {
        paper: len(PAPERS[paper].claims.CLAIMS.claims) for paper in CHANGED
    }
    assert (counts.xs("mini", level="tier")["contradicted"] >= 1).all()


def test_tables_are_read_where_they_lie(tmp_path, monkeypatch):
    """The tier's own runs first, then committed tiers; one of both is read from the runs."""
    monkeypatch.setattr("helpers.report.ledger.project_root", lambda: tmp_path)
    own = MAKE["openset_calibration"]()
    committed = tmp_path / "results" / "small"
    committed.mkdir(parents=True)
    results.write(relabelled(own, "small"), committed / "openset_calibration.parquet")
    runs = tmp_path / "runs" / "mini" / "openset_calibration"
    runs.mkdir(parents=True)
    results.write(own, runs / "results.parquet")
    names = ["small", "mini", "paper"]
    assert list(read(PAPERS, "runs/mini", names)) == [
        ("mini", "openset_calibration"), ("small", "openset_calibration"),
    ]  # fmt: skip
    runs.rename(tmp_path / "runs" / "mini" / "uimnet")
    with pytest.raises(ValueError, match="paper uimnet expected, got openset_calibration"):
        read(PAPERS, "runs/mini", [])


def relabelled(table, tier):
    table = table.assign(tier=tier)
    return table.assign(row=results.row_ids(table))


def test_unknown_papers_and_tiers_are_refused():
    table = MAKE["openset_calibration"]()
    with pytest.raises(ValueError, match="unknown paper 'gscor'; did you mean 'gscore'"):
        ledger(PAPERS, {("mini", "gscor"): table}, ["mini"])
    with pytest.raises(ValueError, match="unknown tier 'small'"):
        ledger(PAPERS, {("small", "gscore"): table}, ["mini"])


def test_links_lead_to_headings_of_the_notebooks():
    """The notebook of figures of each chapter has the heading."""
    rows = ledger(PAPERS, {}, ["mini", "small"])
    links = rows[["notebook", "anchor"]].drop_duplicates()
    for notebook, name in links.itertuples(index=False):
        cells = json.loads((ROOT / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
        lines = [line for c in cells if c["cell_type"] == "markdown" for line in c["source"]]
        assert name in {make_id(line.lstrip("# ")) for line in lines if line.startswith("#")}
    shown = rows.query("paper == 'uimnet'").set_index("tier")["anchor"]
    assert set(shown["small"]) == {anchor(LARGER)}
    assert set(shown["mini"]) == {"the-paper-s-conclusions"}
