"""The pages on tests: every number is that of a run, and a run that is missing is said to be."""

import doctest
import re

import pandas as pd
import pytest
import tested

import trials


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(trials, "RESULTS", tmp_path)
    monkeypatch.setattr(tested, "RESULTS", tmp_path)
    return tmp_path


def test_its_examples():
    assert doctest.testmod(tested).failed == 0


def test_what_has_not_been_run_is_said_to_be_missing(folder):
    page = tested.page()
    assert page.count("has not been run yet") == 5
    assert "has not been run yet" in tested.who_passes()


def test_numbers_are_those_of_the_runs(folder, monkeypatch):
    faults = [
        {
            "fault": "a bit is flipped",
            "file": "pack",
            "outcome": "refused",
            "cases": 1234,
            "seed": 3,
        }
    ]
    trials.write("faults", faults)
    promise = {"promise": "P", "place": "f", "world": "w", "draws": 777, "allowed": 0.05,
               "broken": 0.041, "kept": True, "wasteful": "no", "why": "", "seed": 0}  # fmt: skip
    trials.write("promises", [promise])
    trials.write("branches", [{"room": "metrics", "file": "helpers/metrics/a.py", "statements": 10,
                               "statements_taken": 10, "branches": 40, "branches_taken": 39,
                               "missing": "if x:", "exceptions": "raise"}])  # fmt: skip
    monkeypatch.setitem(tested.EXCEPTIONS, "helpers/metrics/a.py: raise", "it cannot be")
    mutant = {"module": "helpers.metrics.a", "line": 3, "kind": "number", "change": "1 -> 2",
              "outcome": "survived", "seconds": 1.0, "state": ""}  # fmt: skip
    trials.write("mutants", [mutant, *3 * [mutant | {"outcome": "killed"}]])
    trials.write("types", [{"checked": "known_unknowns", "errors": 0, "words": ""}])
    page = tested.page()
    assert "not been run" not in page and "BROKEN" not in page
    for words in ("1,234 cases with seed 3. None is a defect.", "| 777 | 5.0% | 4.1% | kept |",
                  "97.5 %", "`helpers/metrics/a.py`: `if x:`", "line 3: `1 -> 2`",
                  "`helpers/metrics/a.py`, `raise`: it cannot be.",
                  "75.0 %"):  # fmt: skip
        assert words in page, words
    trials.write("faults", [faults[0] | {"outcome": "taken"}])
    trials.write("promises", [promise | {"kept": False}, promise | {"wasteful": "yes"}])
    page = tested.page()
    assert "1,234 of them are defects" in page
    assert "1 kept, 1 broken, 1 wasteful" in page and "**broken**" in page


def test_who_passes_names_what_fails(folder):
    row = {
        "peer": "A",
        "kind": "metric",
        "name": "aurc",
        "check": "ties_are_not_broken",
        "sort": "invariant",
        "outcome": "fails",
        "words": "it is `0` < 1",
        "versions": "a 1",
    }
    others = [row | {"outcome": "holds", "check": "lists_do", "sort": "what it is given"},
              row | {"outcome": "does not apply", "check": "lists_do"}]  # fmt: skip
    pd.DataFrame([row, *others]).to_parquet(folder / "checks.parquet")
    page = tested.who_passes()
    assert "| metric | `aurc` | A | 0 of 1 | 1 of 1 | `ties_are_not_broken` |" in page
    assert "* A, `aurc`, `ties_are_not_broken`: `it is 0 < 1`" in page
    assert "functions these fail an invariant: none." in page
    known = row | {"check": "order_does_not_matter"}
    pd.DataFrame([known, known | {"peer": tested.OURS}]).to_parquet(folder / "checks.parquet")
    page = tested.who_passes()
    assert "on the order of the images: `aurc` of A, `aurc` of this project." in page
    assert "functions these fail an invariant: `aurc` of this project." in page


def test_the_committed_checks_find_what_is_known_of_others_and_nothing_here():
    """Two areas that depend on the order of the images, an OpenMax that depends on its batch."""
    table = pd.read_parquet(tested.RESULTS / "checks.parquet")
    failed = table[table["outcome"] == "fails"].set_index(["peer", "name", "check"])["words"]
    for peer in ("pytorch-ood", "torch-uncertainty"):
        assert (peer, "aurc", "order_does_not_matter") in failed.index
    words = failed["pytorch-ood", "openmax", "batch_is_its_images"]
    beside, alone = map(float, re.search(r"scores (\S+), not (\S+)", words).groups())
    assert abs(beside - alone) > 0.1  # by no rounding
    assert tested.OURS not in failed.index.get_level_values("peer")
    assert "an invariant: none." in tested.who_passes()


def test_the_committed_runs_have_no_defect():
    """What is published is good; a run that is not is mended before it is committed."""
    faults, promises = trials.read("faults"), trials.read("promises")
    if faults is not None:
        assert set(faults["outcome"]) <= tested.OUTCOMES.keys()
    if promises is not None:
        assert set(promises["kept"].astype(str)) == {"True"}
        assert "yes" not in set(promises["wasteful"])
