"""What each chapter opens with is right in words for every verdict, and in numbers as judged."""

from types import SimpleNamespace

import glance
import openings
import pandas as pd
import pytest

from helpers.papers import PAPERS
from helpers.report.claims import Verdict
from helpers.report.ledger import ledger

CLEAR = {
    "paper": "openset_calibration", "claim": "open-set", "text": "Scaling helps.",
    "source": "Table 1", "tier": "small_cpu", "verdict": Verdict.SUPPORTED, "decided_by": "a gain",
    "effect": 0.25, "low": 0.125, "high": 0.375, "relation": ">", "margin": -0.5, "effects": 1,
    "runs": 3, "caveat": "", "note": "", "second": "", "printed": 0.0625,
}  # fmt: skip


def line(**changed):
    """Return a made-up line of the ledger."""
    return SimpleNamespace(**CLEAR | changed)


@pytest.fixture
def judged():
    """Return a ledger in which one claim has a verdict, made up; no other has any numbers."""
    found = ledger(PAPERS, {}, glance.TIERS)
    own = (found["paper"] == "openset_calibration") & (found["claim"] == "open-set")
    row = found.index[own & (found["tier"] == "small_cpu")]
    taken = {name: CLEAR[name] for name in CLEAR if name in found and name != "text"}
    found.loc[row, list(taken)] = list(taken.values())
    return found


def test_a_table_of_main_claims_names_other_tiers_with_another_verdict(judged):
    own = (judged["paper"] == "openset_calibration") & (judged["claim"] == "open-set")
    for tier, verdict in (("frozen", Verdict.CONTRADICTED), ("mini", Verdict.SUPPORTED)):
        judged.loc[own & (judged["tier"] == tier), "verdict"] = verdict
    judged.loc[own & (judged["tier"] == "frozen"), ["effect", "margin"]] = 0.25, 0.0
    table = pd.DataFrame({"data_set": ["digits"], "backbone": "resnet8", "run": 0})
    shown = openings.main_claims(judged, {("frozen", "openset_calibration"): table}, "{paper}")
    assert "| **contradicted**; supported at `mini`, `small_cpu` |" in shown


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"decided_by": "AURC on the union, A minus B"}, "B is better than A by 0.250 AURC [0.1"),
        ({"decided_by": "AURC on the union, A minus B", "effect": -0.25, "low": -0.5, "high": 0.25},
         "A is better than B by 0.250 AURC [−0.250, 0.500]; in the paper, B is better than A by"
         " 0.062 AURC"),
        ({"decided_by": "accuracy, A minus ERM", "relation": "<", "margin": 0.01},
         "Compared with ERM, A raises the accuracy by 25.0 points [12.5, 37.5]; the claim needs"
         " less than 1; in the paper 6.2"),
        ({"decided_by": "accuracy, A minus ERM", "relation": "<", "margin": 0.01, "effect": -0.25},
         "A lowers the accuracy by 25.0 points [−37.5, −12.5]; the claim needs more than −1;"),
        ({"relation": ">=", "margin": 0.2, "verdict": Verdict.UNDECIDED, "low": 0.22},
         "A gain is 0.250 [0.220, 0.375]; the claim needs at least 0.2; not all networks, data sets"
         " or readings agree; in the paper 0.062"),
        ({"low": float("nan"), "high": float("nan"), "printed": float("nan")}, "A gain is 0.250"),
    ],
)  # fmt: skip
def test_an_effect_is_a_sentence_with_its_interval(changed, sentence):
    assert sentence in openings.measured(line(**{"margin": 0.0} | changed))
