"""What each chapter opens with is right in words for every verdict, and in numbers as judged."""

import doctest
import re
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


def test_examples():
    assert doctest.testmod(openings).failed == 0


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


def test_every_paper_has_an_opening_and_those_with_numbers_a_figure(judged, tmp_path):
    table = pd.DataFrame({"data_set": ["digits"], "backbone": "resnet8", "run": 0})
    tables = {("small_cpu", "openset_calibration"): table}
    texts = openings.write(judged, tables, tmp_path)
    all_claims, main_claims = texts.pop("synthesis"), texts.pop("intro")
    absent = len(glance.largest(judged)) - 1
    counts = f"1 supported, 0 contradicted, 0 undecided, 0 not testable, {absent} no data"
    assert f"test it: {counts}." in all_claims
    assert (tmp_path / "synthesis_found.svg").exists()
    *others, own = re.findall(r"^\| \{doc\}`.*$", main_claims, re.M)
    scale = "`small_cpu`: Optical digits, enlarged; `resnet8`, 1 run"
    measured = "A gain is 0.250 [0.125, 0.375]; the claim needs more than −0.5"
    assert own.endswith(f"| **supported** | {measured} ({scale}) |")
    assert len(others) == len(texts) - 1
    assert all(one.endswith("| **no data** | no tier has results yet |") for one in others)
    assert list(texts) == list(glance.TITLES)
    for paper, text in texts.items():
        assert text.startswith("**Main claim.** ")
        drawn = (tmp_path / f"{paper}_found.svg").exists()
        assert drawn == (paper == "openset_calibration") == ("```{figure}" in text)
        assert ("No tier has numbers yet" in text) == (not drawn)
    opening = texts["openset_calibration"]
    assert "**Supported** at the {term}`tier` `small_cpu`" in opening
    assert f"; `resnet8`, 1 run): {measured}" in opening
    assert "Without numbers, and not shown: 3." in opening
    picture = tmp_path / "openset_calibration_found.svg"
    shown = picture.read_text(encoding="utf-8")
    assert "small_cpu: +0.250 [+0.125, +0.375]" in shown and len(shown) < 150_000
    openings.write(judged, tables, tmp_path)
    assert picture.read_text(encoding="utf-8") == shown


def test_the_introduction_begins_with_the_picture():
    """Below the title and a question; a preview says what it is after that."""
    page = (openings.ROOT / "book" / "intro.md").read_text(encoding="utf-8")
    title, question, opening, *_ = page.split("\n\n")
    assert re.fullmatch("# .+", title) and len(question) < 400
    assert opening == "```{include} reference/front.txt\n```"
    assert "```{include} reference/intro_found.txt\n```" in page


@pytest.mark.parametrize("paper", [*glance.TITLES, "synthesis"])
def test_a_chapters_overview_opens_with_it(paper):
    """Below the title and the question; nothing is shown before it."""
    page = (openings.ROOT / "book" / f"{paper}.md").read_text(encoding="utf-8")
    title, question, opening, *_ = page.split("\n\n")
    assert re.fullmatch("# .+", title) and re.fullmatch("> .+", question)
    assert opening == f"```{{include}} reference/{paper}_found.txt\n```"
