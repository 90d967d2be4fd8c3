"""The ledger: every claim of every paper, and what the numbers of each tier say to it.

The papers' own claims judge.  Here their verdicts stand together, each with the one effect that
decided it and the place in the book that shows it.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers.checks import known_name
from helpers.files import project_root
from helpers.report import results
from helpers.report.claims import ALL, Claim, Verdict
from helpers.report.preconditions import count_networks

if TYPE_CHECKING:
    from helpers.papers import Paper
    from helpers.report.paper_claims import Claims

LARGER = "Larger tiers"
"""The heading below which each chapter's figures show the verdicts of committed results."""

PUBLISHED = "published"
"""What ``tier`` says where a claim is checked on its paper's own printed numbers."""

COLUMNS = (
    "paper", "claim", "text", "source", "check", "needs", "tier", "verdict", "decided_by", "effect",
    "low", "high", "relation", "margin", "clearance", "effects", "runs", "models", "caveat", "note",
    "second", "notebook", "anchor",
)  # fmt: skip
"""The columns of a ledger; `ledger` says what each of them holds."""

_NAN = float("nan")


def read(
    papers: Iterable[str], runs: str | os.PathLike, larger_tiers: Sequence[str]
) -> dict[tuple, pd.DataFrame]:
    """Read the results tables of papers, as far as they are there."""
    root, tables, papers = project_root(), {}, list(papers)
    runs = root / runs
    for tier in dict.fromkeys([runs.name, *larger_tiers]):
        for paper in papers:
            file = root / "results" / tier / f"{paper}.parquet"
            if tier == runs.name:
                file = runs / paper / "results.parquet"
            if not file.exists():
                continue
            table = results.read(file)
            for column, place in (("tier", tier), ("paper", paper)):
                if others := set(table[column]) - {place}:
                    raise ValueError(f"{file}: {column} {place} expected, got {min(others)}")
            tables[tier, paper] = table
    return tables


def ledger(
    papers: Mapping[str, Paper],
    tables: Mapping[tuple[str, str], pd.DataFrame],
    tiers: Sequence[str],
) -> pd.DataFrame:
    """Judge every claim of every paper by the numbers of each tier, and by the printed ones.

    Of the effects that decide a claim, one stands for it: among those that have the verdict of the
    claim, the one of least clearance.  That is the weakest of those that support a claim, the
    worst of those that contradict it, and of those that leave it undecided the one nearest to a
    contradiction.

    Examples
    --------
    >>> from helpers.papers import PAPERS
    >>> found = ledger(PAPERS, {}, ["mini"])
    >>> own = found[found["claim"] == "closed-set"]
    >>> own[["tier", "verdict", "note"]].to_numpy(str).tolist()
    [['mini', 'no data', 'no results of this tier'], ['published', 'supported', '']]
    >>> own["decided_by"].iloc[1], own[["effect", "margin"]].to_numpy()[1].tolist()
    ('closed-set ECE after scaling, above the floor', [0.0085, 0.02])
    """
    papers = {name: paper for name, paper in papers.items() if paper.main_claim}
    for tier, name in tables:
        known_name("tier", tier, tiers)
        known_name("paper", name, papers)
    rows = []
    for name, paper in papers.items():
        claims = paper.claims.CLAIMS
        for place, tier in enumerate([*tiers, PUBLISHED]):
            checks, lack = None, "no results of this tier"
            if (tier, name) in tables:
                table = tables[tier, name]
                checks = claims.check(table)
            elif tier == PUBLISHED:
                lack = "the paper's own numbers are not at hand"
                checks = published_checks(claims)
            heading = LARGER if 0 < place < len(tiers) else paper.claims_heading
            where = {"notebook": f"notebooks/{name}/figures", "anchor": anchor(heading)}
            where |= {"paper": name, "tier": tier}
            measured = checks is not None and tier != PUBLISHED
            summed = None if checks is None else claims.verdicts(checks).set_index("claim")
            for claim in claims.claims:
                if checks is None:
                    decisive = _absent(lack)
                else:
                    decisive = _decisive(claim, summed.loc[claim.id, "verdict"], checks)
                said = (
                    caveat(decisive, summed.loc[claim.id], tables[tier, name]) if measured else ""
                )
                behind = ""
                if measured:
                    cells = checks[checks["check"] == decisive["decided_by"]]
                    behind = models(cells[cells["claim"] == claim.id], tables[tier, name])
                found = {"claim": claim.id, "caveat": said, "second": "", "models": behind}
                rows.append(vars(claim) | found | decisive | where)
    found = pd.DataFrame(rows)[list(COLUMNS)]
    return found.assign(runs=found["runs"].mask(found["tier"] == PUBLISHED, 0))


@functools.cache
def published_checks(claims: Claims) -> pd.DataFrame | None:
    """Return a paper's claims checked on its own printed numbers; None if these are not at hand."""
    return claims.check_published()


def caveat(decisive: Mapping, summed: Mapping, table: pd.DataFrame) -> str:
    """Return in words why little follows from a verdict that is decided, "" if nothing speaks so.

    Examples
    --------
    >>> table = pd.DataFrame({"backbone": ["resnet8", "resnet20"]})
    >>> caveat({"verdict": Verdict.SUPPORTED, "runs": 1}, {}, table)
    'one run; one family of networks'
    >>> said = {"evidence": "predictions whose skill is 0.5"}  # which counts no networks
    >>> caveat({"verdict": Verdict.SUPPORTED, "runs": 5}, said, table)
    'one family of networks'
    >>> caveat({"verdict": Verdict.UNDECIDED, "runs": 1}, {}, table)
    ''
    """
    if decisive["verdict"] not in (Verdict.SUPPORTED, Verdict.CONTRADICTED):
        return ""
    said = ["one run"] if decisive["runs"] == 1 else []
    evidence = summed.get("evidence", "")
    counts = count_networks(table["backbone"].unique())
    if "1 architecture," in evidence or counts["architecture"] == 1:
        said.append("one architecture")
    elif "1 family" in evidence or ("famil" not in evidence and counts["family"] == 1):
        said.append("one family of networks")
    return "; ".join(said)


def models(checks: pd.DataFrame, table: pd.DataFrame) -> str:
    """Return in words how many networks, on how many data sets, one effect is from.

    Those that are not testable count only where no other is; "" where there are no numbers.

    Examples
    --------
    >>> cells = {"data_set": ["a", "b", "all"], "backbone": ["resnet8", "vit", "all"]}
    >>> checks = pd.DataFrame(cells | {"effect": 0.1, "untestable": ""})
    >>> models(checks, pd.DataFrame()), models(checks.assign(effect=np.nan), pd.DataFrame())
    ('2 networks on 2 data sets', '')
    """
    said = checks["evidence"].iloc[0] if "evidence" in checks else ""
    if "network" in said:
        return said.partition(";")[0]
    own = checks[(checks["data_set"] != ALL) & checks["effect"].notna()]
    own = own[own["untestable"] == ""] if (own["untestable"] == "").any() else own
    names = set()
    for data_set, backbone in own[["data_set", "backbone"]].itertuples(index=False):
        if backbone.startswith("all "):  # a number over several networks
            every = table.loc[table["data_set"] == data_set, "backbone"].unique()
            names |= {one for one in every if "+" not in one}
        else:
            names.add(backbone)
    if not names:
        return ""
    counts = {"network": len(names), "data set": own["data_set"].nunique()}
    return " on ".join(f"{n} {what}{'s' if n > 1 else ''}" for what, n in counts.items())


def tally(found: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts of a ledger.

    Examples
    --------
    >>> found = pd.DataFrame({"paper": "uimnet", "tier": "mini", "verdict": ["no data"] * 8})
    >>> tally(found).loc[("uimnet", "mini")].to_dict()
    {'supported': 0, 'contradicted': 0, 'undecided': 0, 'not testable': 0, 'no data': 8}
    """
    counts = pd.crosstab([found["paper"], found["tier"]], found["verdict"].map(str))
    order = pd.MultiIndex.from_frame(found[["paper", "tier"]].drop_duplicates())
    counts = counts.reindex(index=order, columns=[*map(str, Verdict)], fill_value=0)
    return counts.rename_axis(columns=None)


def anchor(heading: str) -> str:
    """Return the name that the book gives to a heading, for links to it.

    Examples
    --------
    >>> anchor("The paper's sentences")
    'the-paper-s-sentences'
    """
    return re.sub("[^a-z0-9]+", "-", heading.lower()).strip("-")


def _decisive(claim: Claim, verdict: Verdict, checks: pd.DataFrame) -> dict:
    """Return, of the effects of a claim's verdict, the one that has least clearance."""
    over_all = checks[(checks["data_set"] == ALL) & checks["decides"]]
    own = over_all[over_all["claim"] == claim.id]
    count = len(own)
    own = own[own["verdict"] == verdict]
    side = np.where(own["relation"] == "<", -1.0, 1.0)
    ahead = side * (own["effect"] - own["margin"])
    facing = np.where(side * ahead > 0, own["effect"] - own["low"], own["high"] - own["effect"])
    facing = np.maximum(facing, 0.0)  # where all draws are one, the effect is it but for rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        clearance = (ahead / facing).mask((ahead == 0) & (facing == 0), 0.0)
    own = own.assign(clearance=clearance, ahead=ahead, effects=count, decided_by=own["check"])
    one = own.sort_values(["clearance", "ahead"], kind="stable").iloc[0]
    taken = set(COLUMNS) - {"claim", "check", "models"}
    return {name: value for name, value in one.to_dict().items() if name in taken}


def _absent(note: str) -> dict:
    """Return the row of a claim of which there are no numbers at all."""
    numbers = dict.fromkeys(("effect", "low", "high", "margin", "clearance"), _NAN)
    words = {"verdict": Verdict.NO_DATA, "decided_by": "", "relation": "", "note": note}
    return numbers | words | {"effects": 0, "runs": 0}
