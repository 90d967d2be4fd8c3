"""The verdict on each claim of the papers, at the largest tier that can test it."""

from __future__ import annotations

import functools
from pathlib import Path

import pandas as pd
from step import ROOT

from helpers.papers import PAPERS, TIERS
from helpers.report import results
from helpers.report.claims import ALL, Verdict
from helpers.report.ledger import PUBLISHED, ledger, published_checks, read

RESULTS = ROOT / "results"
TITLES = {name: paper.heading for name, paper in PAPERS.items() if paper.main_claim}
"""The chapters that have claims, in the order of the book."""


@functools.cache
def committed() -> dict[tuple, pd.DataFrame]:
    """Return the committed results tables of the papers, by tier and paper."""
    files = [RESULTS / tier / f"{paper}.parquet" for tier in TIERS for paper in TITLES]
    return {(one.parent.name, one.stem): results.read(one) for one in files if one.exists()}


def findings(found: pd.DataFrame) -> pd.DataFrame:
    """Return the row of `largest` of each paper's main claim, in the order of the book."""
    lines = largest(found).set_index(["paper", "claim"], drop=False)
    rows = [lines.loc[(paper, PAPERS[paper].main_claim)] for paper in TITLES]
    return pd.DataFrame(rows).reset_index(drop=True)


def largest(found: pd.DataFrame) -> pd.DataFrame:
    """Return each claim of a ledger at the largest tier that can test it.

    The tiers of `found` are in ascending order.  A tier that can test a claim goes before a larger
    tier that has numbers and cannot, and both before a tier without numbers.  The new column
    ``printed`` is the effect by the paper's numbers, NaN if there are none.
    """
    tested = found[found["tier"] != PUBLISHED]
    rank = tested["verdict"].map({Verdict.NO_DATA: 0, Verdict.NOT_TESTABLE: 1}).fillna(2)
    claims = tested.groupby(["paper", "claim"], sort=False)
    size = claims.cumcount()
    tested = tested.assign(rank=rank, size=size.where(rank > 0, -size), order=claims.ngroup())
    tested = tested.sort_values(["order", "rank", "size"]).drop_duplicates("order", keep="last")
    lines = tested.drop(columns=["rank", "size", "order"]).reset_index(drop=True)
    printed = [_printed(line.paper, line.claim, line.decided_by) for line in lines.itertuples()]
    return lines.assign(printed=printed)


def _printed(paper: str, claim: str, effect: str) -> float:
    checks = published_checks(PAPERS[paper].claims.CLAIMS)
    if checks is None:
        return float("nan")
    rows = (checks["claim"] == claim) & (checks["check"] == effect) & (checks["data_set"] == ALL)
    return next(iter(checks.loc[rows, "effect"]), float("nan"))


def judge(runs: Path, tier: str) -> tuple[pd.DataFrame, dict[tuple, pd.DataFrame]]:
    """Return the ledger of all papers, and its results tables.

    The tables of `tier` come from the folder `runs`, those of the other tiers from ``results``.
    """
    tiers = [tier] * (tier not in TIERS) + [*TIERS]
    tables = read(TITLES, runs, tiers)
    return ledger(PAPERS, tables, tiers), tables
