"""Each claim of the ledger can be given each verdict, by effects as large as real ones.

The tests of each paper's own claims make up a table that agrees with all of them, and change it by
a few points until one of them is undecided, and contradicted.  Here it is asked that no claim is
left out, and that each says by how much: in the ledger, and on the page of its chapter.
"""

import importlib.util
import re
from pathlib import Path

import pytest

from helpers.papers import PAPERS

ROOT = Path(__file__).resolve().parent.parent.parent
CLAIMS = [
    (name, one.id)
    for name, paper in PAPERS.items()
    if paper.main_claim
    for one in paper.claims.CLAIMS.claims
]
SUPPORTING = "test_numbers_that_agree_support_every_claim"
"""The test of each paper's whole list of claims."""
OTHERWISE = {  # how a page writes a margin that it does not give as the number
    ("human_centric", 1.0): "critical difference",
    ("uimnet", 0.01): "one point", ("uimnet", 0.02): "two points", ("uimnet", 0.03): "three points",
    ("uimnet", 0.05): "less than five",
    ("unknown_detection", 0.4): "to within 0.1 of one half",
    ("unknown_detection", 0.6): "to within 0.1 of one half",
}  # fmt: skip


def cases_of(module) -> dict[str, set[str]]:
    """Return of each claim the verdicts that a module's parametrised tests make tables for.

    A test without a parameter "verdict" is about the verdict that its name says.
    """
    found = {}
    for name, test in vars(module).items():
        for mark in getattr(test, "pytestmark", []) if name.startswith("test_") else []:
            if mark.name != "parametrize" or "claim" not in (names := _names(mark.args[0])):
                continue
            for values in mark.args[1]:
                case = dict(zip(names, (values,) if len(names) == 1 else values, strict=True))
                implied = next((one for said, one in _SAID.items() if said in name), "")
                found.setdefault(case["claim"], set()).add(case.get("verdict", implied))
    return found


_SAID = {"other_side": "contradicted", "undecided": "undecided"}


def _names(names) -> list[str]:
    return [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)


@pytest.fixture(scope="module")
def modules():
    """By paper, the module with the tests of its claims."""
    found = {}
    for paper in dict.fromkeys(name for name, _ in CLAIMS):
        file = ROOT / "tests" / "papers" / paper / "test_claims.py"
        spec = importlib.util.spec_from_file_location(f"cases_{paper}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found[paper] = module
    return found


@pytest.mark.parametrize("verdict", ["contradicted", "undecided"])
@pytest.mark.parametrize(("paper", "claim"), CLAIMS)
def test_a_made_up_table_gives_the_claim_each_verdict(modules, paper, claim, verdict):
    """One that supports it is the table without the change, which is asked of all at once."""
    assert verdict in cases_of(modules[paper]).get(claim, set()), f"no table leaves it {verdict}"
    assert hasattr(modules[paper], SUPPORTING)


@pytest.mark.parametrize(("paper", "claim"), CLAIMS)
def test_the_ledger_and_the_chapter_say_the_margin(paper, claim):
    """Of every effect that decides, but for margins of 0, which are said in words."""
    (one,) = (own for own in PAPERS[paper].claims.CLAIMS.claims if own.id == claim)
    page = (ROOT / "book" / f"{paper}.md").read_text(encoding="utf-8")
    rows = page.partition("| the paper's claim | what is checked |")[2].partition("\n\n")[0]
    for margin in {abs(effect.margin) for effect in one.effects if effect.decides} - {0.0}:
        for text in (one.check, rows):
            assert margin in _numbers(text) or OTHERWISE.get((paper, margin), "?") in text


def _numbers(text: str) -> set[float]:
    return {float(one) for one in re.findall(r"\d+(?:\.\d+)?", text)}


def test_a_claim_without_a_table_that_contradicts_it_is_found():
    """Of four claims in made-up tests, one has none, and one is undecided alone."""

    class Module:
        @pytest.mark.parametrize("claim", {"a": 1})
        def test_the_other_side(claim):
            pass

        @pytest.mark.parametrize(("claim", "verdict"), [("b", "undecided"), ("c", "contradicted")])
        def test_margins(claim, verdict):
            pass

        @pytest.mark.parametrize("claim", ["d"])
        def test_something_else(claim):
            pass

    assert cases_of(Module) == {"a": {"contradicted"}, "b": {"undecided"}, "c": {"contradicted"},
                                "d": {""}}  # fmt: skip
