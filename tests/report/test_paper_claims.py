"""Checks of large tables are kept, by what they are made of."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from helpers.papers import PAPERS
from helpers.report import results
from helpers.report.paper_claims import Claims

ROOT = Path(__file__).resolve().parent.parent.parent
CLAIMS = PAPERS["unknown_detection"].claims.CLAIMS


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    return results.read(ROOT / "results" / "frozen" / "unknown_detection.parquet")


@pytest.fixture
def counted(monkeypatch):
    """What was computed: a list that gets longer with each computation."""
    computed, compute = [], Claims._check

    def count(self, *arguments):
        computed.append(self.paper)
        return compute(self, *arguments)

    monkeypatch.setattr(Claims, "_check", count)
    return computed


def test_asked_twice_a_large_table_is_checked_once(table, counted):
    first, second = CLAIMS.check(table), CLAIMS.check(table.copy())
    assert len(counted) == 1
    pd.testing.assert_frame_equal(first, second)
    pd.testing.assert_frame_equal(first, CLAIMS._check(table, "primary"))
    assert CLAIMS.verdicts(first)["verdict"].nunique() > 1


@pytest.mark.parametrize("changed", ["value", "bootstrap", "backbone", "order", "claim", "variant"])
def test_what_decides_a_verdict_is_told_apart(table, counted, changed):
    CLAIMS.check(table)
    other, claims, arguments = table, CLAIMS, {}
    if changed == "value":
        other = table.assign(value=table["value"].where(table.index != 7, 0.5))
    elif changed == "bootstrap":
        place = table["bootstrap"].map(len).argmax()
        drawn = table["bootstrap"].copy()
        drawn[place] = drawn[place][::-1].copy()
        other = table.assign(bootstrap=drawn)
    elif changed == "backbone":
        other = table.assign(backbone=table["backbone"] + "x")
    elif changed == "order":
        other = table[::-1]
    elif changed == "claim":
        claims = replace(CLAIMS, claims=CLAIMS.claims[1:])
    else:
        arguments = {"variant": "primary"}
    claims.check(other, **arguments)
    assert len(counted) == 2


def test_few_rows_and_the_code_of_others_are_kept_nowhere(table, counted, tmp_path):
    CLAIMS.check(table[table["backbone"] == table["backbone"].iloc[0]].head(900))
    assert not list(tmp_path.iterdir())
    toy = Claims("unknown_detection", CLAIMS.claims[:1], derive=lambda own: own)
    for _ in range(2):
        toy.check(table)
    assert len(counted) == 3 and not list(tmp_path.iterdir())
