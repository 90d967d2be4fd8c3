"""Each claim of the ledger can be supported and contradicted, by effects as large as real ones.

The tests of each paper's own claims make up a table that agrees with all of them, and change it by
a few points until one of them is contradicted.  Here it is asked that no claim is left out.
"""

import importlib.util
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


def cases_of(module) -> dict[str, set[str]]:
    """Return of each claim the verdicts that a module's parametrised tests make tables for.

    A test without a parameter "verdict" is about the other side of the margin if its name says so.
    """
    found = {}
    for name, test in vars(module).items():
        for mark in getattr(test, "pytestmark", []) if name.startswith("test_") else []:
            if mark.name != "parametrize" or "claim" not in (names := _names(mark.args[0])):
                continue
            for values in mark.args[1]:
                case = dict(zip(names, (values,) if len(names) == 1 else values, strict=True))
                implied = "contradicted" if "other_side" in name else ""
                found.setdefault(case["claim"], set()).add(case.get("verdict", implied))
    return found


def _names(names) -> list[str]:
    return [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)


@pytest.fixture(scope="module")
def cases():
    """By paper and claim, the verdicts that its tests make tables for."""
    found = {}
    for paper in dict.fromkeys(name for name, _ in CLAIMS):
        file = ROOT / "tests" / "papers" / paper / "test_claims.py"
        spec = importlib.util.spec_from_file_location(f"cases_{paper}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found |= {(paper, claim): verdicts for claim, verdicts in cases_of(module).items()}
    return found


@pytest.mark.parametrize(("paper", "claim"), CLAIMS)
def test_a_made_up_table_contradicts_the_claim(cases, paper, claim):
    """One that supports it is the table without the change, which is asked of all at once."""
    assert "contradicted" in cases.get((paper, claim), set()), "no table contradicts it"


def test_a_claim_without_a_table_that_contradicts_it_is_found():
    """Of three claims in made-up tests, one has none, and one is undecided alone."""

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
