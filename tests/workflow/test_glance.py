"""Each claim is taken from the largest tier that can test it."""

from pathlib import Path

import glance
import pytest

from helpers.papers import PAPERS
from helpers.report.claims import Verdict
from helpers.report.ledger import PUBLISHED, ledger

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def judged():
    """Return a ledger in which one main claim has verdicts of two tiers, made up."""
    found = ledger(PAPERS, {}, glance.TIERS)
    own = (found["paper"] == "openset_calibration") & (found["claim"] == "open-set")
    values = {
        "mini": (Verdict.SUPPORTED, 0.25),
        "small_cpu": (Verdict.CONTRADICTED, -0.5),
    }
    for tier, (verdict, effect) in values.items():
        row = found.index[own & (found["tier"] == tier)]
        found.loc[row, "verdict"] = verdict
        found.loc[row, ["effect", "low", "high", "margin"]] = effect, effect - 1, effect + 1, 0.0
        found.loc[row, ["decided_by", "relation"]] = "open-set ECE, fall by scaling", ">"
    return found


def test_a_finding_is_of_the_largest_tier_with_data(judged):
    """The printed effect is the same effect, which the paper's own verdict need not rest on."""
    lines = glance.findings(judged).set_index("paper")
    line = lines.loc["openset_calibration"]
    assert line["tier"] == "small_cpu" and line["verdict"] == Verdict.CONTRADICTED
    printed = judged[(judged["tier"] == PUBLISHED) & (judged["claim"] == "open-set")]
    assert printed["decided_by"].item() == line["decided_by"]
    assert line["printed"] == printed["effect"].item()
    others = lines.drop("openset_calibration")
    assert (others["verdict"] == Verdict.NO_DATA).all() and others["printed"].isna().all()


def test_the_largest_tier_that_can_test_a_claim_judges_it(judged):
    """Not a larger one that has numbers and cannot; one that cannot, before one without numbers."""
    for claim, tier in (("open-set", "small"), ("openmax", "mini")):
        row = (judged["claim"] == claim) & (judged["tier"] == tier)
        judged.loc[row, "verdict"] = Verdict.NOT_TESTABLE
    lines = glance.largest(judged)
    claims = judged[["paper", "claim"]].drop_duplicates()
    assert lines[["paper", "claim"]].to_numpy().tolist() == claims.to_numpy().tolist()
    tiers = lines.set_index(["paper", "claim"])["tier"].loc["openset_calibration"]
    assert tiers["open-set"] == "small_cpu" and tiers["openmax"] == tiers["closed-set"] == "mini"
