"""What the results tables say about the papers: each claim by the largest tier that can test it."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers.papers import PAPERS, TIERS  # noqa: E402
from helpers.report import results  # noqa: E402
from helpers.report.claims import ALL, Verdict  # noqa: E402
from helpers.report.ledger import PUBLISHED, ledger, published_checks, read  # noqa: E402

RESULTS = ROOT / "results"
TITLES = {name: paper.heading for name, paper in PAPERS.items() if paper.main_claim}
"""The chapters that have claims, in the order of the book."""


@functools.cache
def committed() -> dict[tuple, pd.DataFrame]:
    """Return the committed results tables of the papers, by tier and paper."""
    files = [RESULTS / tier / f"{paper}.parquet" for tier in TIERS for paper in TITLES]
    return {(one.parent.name, one.stem): results.read(one) for one in files if one.exists()}


def findings(found: pd.DataFrame) -> pd.DataFrame:
    """Return the main claim of each paper, as the largest tier with data judges it.

    Parameters
    ----------
    found : DataFrame
        From `helpers.report.ledger.ledger`, its tiers from the smallest to the largest.

    Returns
    -------
    DataFrame, one row per paper
        The columns of `found`, those of the first tier where no tier has data; and ``printed``,
        the effect by the paper's own numbers, NaN where these are not at hand.
    """
    lines = largest(found).set_index(["paper", "claim"], drop=False)
    rows = [lines.loc[(paper, PAPERS[paper].main_claim)] for paper in TITLES]
    return pd.DataFrame(rows).reset_index(drop=True)


def largest(found: pd.DataFrame) -> pd.DataFrame:
    """Return every claim as the largest tier judges it that can, in the order of the ledger.

    The arguments and columns are those of `findings`: a tier that can test a claim goes before a
    larger one that has numbers and cannot, and these before one without any.
    """
    own = found[found["tier"] != PUBLISHED]
    said = own["verdict"].map({Verdict.NO_DATA: 0, Verdict.NOT_TESTABLE: 1}).fillna(2)
    claims = own.groupby(["paper", "claim"], sort=False)
    size = claims.cumcount()
    own = own.assign(said=said, size=size.where(said > 0, -size), order=claims.ngroup())
    own = own.sort_values(["order", "said", "size"]).drop_duplicates("order", keep="last")
    lines = own.drop(columns=["said", "size", "order"]).reset_index(drop=True)
    printed = [_printed(line.paper, line.claim, line.decided_by) for line in lines.itertuples()]
    return lines.assign(printed=printed)


def _printed(paper: str, claim: str, effect: str) -> float:
    checks = published_checks(PAPERS[paper].claims.CLAIMS)
    if checks is None:
        return float("nan")
    own = checks[(checks["claim"] == claim) & (checks["check"] == effect)]
    own = own.loc[own["data_set"] == ALL, "effect"]
    return own.iloc[0] if len(own) else float("nan")


def judge(runs: Path, tier: str) -> tuple[pd.DataFrame, dict[tuple, pd.DataFrame]]:
    """Return the ledger of all papers, and the results tables that it was made of.

    Parameters
    ----------
    runs : Path
        Folder of the runs of one tier, called like it.
    tier : str
        The tier that the book is built for; the results of all others are the committed ones.
    """
    tiers = [tier] * (tier not in TIERS) + [*TIERS]
    tables = read(TITLES, runs, tiers)
    return ledger(PAPERS, tables, tiers), tables
