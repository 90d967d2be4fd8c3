"""The ledger: the verdict on every claim of every paper at each tier.

Each row has the effect that decided the verdict and the place in the book that shows it.
"""

from __future__ import annotations

import functools
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from helpers import cache
from helpers.checks import known_name
from helpers.files import atomic_path, project_root, sha256_file
from helpers.papers import PAPERS, TIERS
from helpers.tables import results
from synthesis.claims import load_claims
from synthesis.effects import ALL, Claim, Reading, Verdict
from synthesis.preconditions import networks_in_words
from synthesis.reasons import Kind, Note, Reason, remark

if TYPE_CHECKING:
    from helpers.papers import Paper
    from synthesis.verdicts import Claims

#: The value of ``tier`` if a claim is checked on its paper's own printed numbers.
PRINTED = "printed"

COLUMNS = (
    "paper", "claim", "text", "source", "check", "needs", "tier", "verdict", "decided_by", "effect",
    "low", "high", "relation", "margin", "clearance", "effects", "runs", "models", "note",
    "second", "notebook", "anchor",
)  # fmt: skip

#: The columns that a claim has without any results; the file of committed verdicts lacks them.
OF_CLAIM = ("text", "source", "check", "needs", "notebook", "anchor")
_NUMBERS = ("effect", "low", "high", "margin", "clearance")
#: The verdicts on all committed results.
FILE = "results/ledger.csv"

_NAN = float("nan")
#: The columns of a claim without any numbers.
_ABSENT = {
    "verdict": Verdict.NO_DATA, "decided_by": "", "relation": "", "effects": 0, "runs": 0,
    "effect": _NAN, "low": _NAN, "high": _NAN, "margin": _NAN, "clearance": _NAN,
}  # fmt: skip


def read(
    papers: Iterable[str], runs: str | os.PathLike, larger_tiers: Sequence[str]
) -> dict[tuple, pd.DataFrame]:
    """Read the results tables of papers, if available."""
    root = project_root()
    folder = root / runs
    names = list(papers)
    tables: dict[tuple, pd.DataFrame] = {}
    for tier in dict.fromkeys([folder.name, *larger_tiers]):
        for paper in names:
            committed = root / "results" / tier / f"{paper}.parquet"
            file = folder / paper / "results.parquet" if tier == folder.name else committed
            if file.exists():
                table = tables[tier, paper] = results.read(file)
                for column, value in (("tier", tier), ("paper", paper)):
                    if others := {*table[column].unique()} - {value}:
                        raise ValueError(f"{file}: {column} {value} expected, got {min(others)}")
    return tables


def ledger(
    papers: Mapping[str, Paper],
    tables: Mapping[tuple[str, str], pd.DataFrame],
    tiers: Sequence[str],
) -> pd.DataFrame:
    """Test every claim of every paper on the numbers of each tier, and on the printed ones.

    One effect represents a claim: the effect with least clearance, by any reading with an interval,
    among the effects that have the verdict of the claim.  It is the weakest support, the
    strongest contradiction, or, if the claim is undecided, the effect nearest to a contradiction.

    >>> from helpers.papers import PAPERS
    >>> judged = ledger(PAPERS, {}, ["mini"])
    >>> closed = judged[judged["claim"] == "closed-set"]
    >>> closed[["tier", "verdict", "note"]].to_numpy(str).tolist()
    [['mini', 'no data', 'no results of this tier'], ['printed', 'supported', '']]
    """
    for tier, name in tables:
        known_name("tier", tier, tiers)
        known_name("paper", name, papers)
    rows = []
    for name in papers:
        claims = load_claims(name)
        for tier in [*tiers, PRINTED]:
            shared = _place(name) | {"paper": name, "tier": tier}
            entries = _entries(claims, tables.get((tier, name)), tier)
            rows += [row | shared for row in entries]
    return pd.DataFrame(rows)[list(COLUMNS)]


def with_committed(
    tables: Mapping[tuple[str, str], pd.DataFrame], tiers: Sequence[str]
) -> pd.DataFrame:
    """Return the ledger of `tables`, by tier and paper, and of committed results at other tiers.

    The verdicts on committed results are in `FILE`.
    """
    computed = {tier for tier, _ in tables}
    new = [ledger(PAPERS, tables, tiers).query("tier in @computed")] if tables else []
    committed = stored()
    committed = committed[committed["tier"].isin({*tiers, PRINTED} - computed)]
    rows = pd.concat([*new, committed])
    order = [*PAPERS, *tiers, PRINTED].index
    return rows.sort_values(
        ["paper", "tier"], key=lambda column: column.map(order), ignore_index=True, kind="stable"
    )


def stored() -> pd.DataFrame:
    """Return the ledger of all committed results, as `write` wrote it."""
    fingerprint, _, text = _file().read_text(encoding="utf-8").partition("\n")
    if fingerprint != _fingerprint():
        raise ValueError(f"{FILE} is about other tables; write it: python -m synthesis.ledger")
    rows = pd.read_csv(
        io.StringIO(text), keep_default_na=False, na_values=dict.fromkeys(_NUMBERS, "")
    )
    rows["verdict"] = rows["verdict"].map(Verdict)
    rows["note"] = [Note.of_dict(json.loads(note)) for note in rows["note"]]
    rows["second"] = [
        tuple(Reading(**each) for each in json.loads(readings)) for readings in rows["second"]
    ]
    claims = {(paper, claim.id): claim for paper in PAPERS for claim in load_claims(paper).claims}
    of_claims = [
        _place(row.paper) | _of_claim(claims[row.paper, row.claim]) for row in rows.itertuples()
    ]
    return rows.join(pd.DataFrame(of_claims)[list(OF_CLAIM)])[list(COLUMNS)]


def write() -> None:
    """Judge all committed results, and write the ledger into `FILE`."""
    tables = {pair: results.read(file) for pair, file in _tables().items()}
    rows = ledger(PAPERS, tables, TIERS).drop(columns=list(OF_CLAIM))
    rows["note"] = [json.dumps(asdict(note), ensure_ascii=False) for note in rows["note"]]
    rows["second"] = [json.dumps([*map(asdict, readings)]) for readings in rows["second"]]
    text = rows.to_csv(index=False, float_format="%.6g")
    with atomic_path(_file()) as temporary:
        temporary.write_text(f"{_fingerprint()}\n{text}", encoding="utf-8")


def _file() -> Path:
    return project_root() / FILE


def _tables() -> dict[tuple[str, str], Path]:
    """Return the committed results of papers, by tier and paper."""
    files = sorted((project_root() / "results").glob("*/*.parquet"))
    return {(file.parent.name, file.stem): file for file in files if file.stem in PAPERS}


def _fingerprint() -> str:
    """Return a name for the content of all committed results."""
    files = (project_root() / "results").glob("*/*.[cp]*")  # .parquet, and .csv of preconditions
    return cache.key(files=[sha256_file(file) for file in sorted(files)])


def _place(paper: str) -> dict[str, str]:
    heading = load_claims(paper).heading
    return {"notebook": f"notebooks/{paper}/figures", "anchor": anchor(heading)}


def _entries(claims: Claims, table: pd.DataFrame | None, tier: str) -> Iterator[dict[str, Any]]:
    """Yield a row of the ledger for each claim of a paper, by its numbers at one tier."""
    printed = tier == PRINTED
    checks = printed_checks(claims) if printed else None
    if table is not None:
        checks = claims.check(table)
    if checks is None:
        text = "the paper's own numbers are not at hand" if printed else "no results of this tier"
        for claim in claims.claims:
            yield _of_claim(claim) | _ABSENT | {"note": Note((remark(text),))}
        return
    verdicts = claims.verdicts(checks).set_index("claim")["verdict"]
    for claim in claims.claims:
        effects = checks[checks["claim"] == claim.id]
        row = _of_claim(claim) | _decisive(effects, verdicts[claim.id])
        if printed or table is None:
            yield row | {"runs": 0}
        else:
            deciding = effects[effects["check"] == row["decided_by"]]
            yield row | {"models": models(deciding.iloc[-1])}


def _of_claim(claim: Claim) -> dict[str, Any]:
    texts = {name: getattr(claim, name) for name in ("text", "source", "check", "needs")}
    return {"claim": claim.id, "second": (), "models": ""} | texts


@functools.cache
def printed_checks(claims: Claims) -> pd.DataFrame | None:
    """Return a paper's claims checked on its own printed numbers, or None if unavailable."""
    return claims.check_printed()


def models(effect: pd.Series) -> str:
    """Return in words how many networks are behind an effect, and on which data sets.

    >>> cells = {"networks": ("resnet8", "vit"), "cells": (("a", "resnet8"), ("b", "vit"))}
    >>> models(pd.Series(cells)), models(pd.Series({"networks": (), "cells": ()}))
    ('2 networks, 2 architectures, 2 families on a, b', '')
    """
    names = effect["networks"]
    if not names:
        return ""
    words = networks_in_words(names) if len(names) > 1 else f"`{names[0]}`"
    return f"{words} on {', '.join(sorted({data_set for data_set, _ in effect['cells']}))}"


def tally(judged: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts of a ledger.

    >>> judged = pd.DataFrame({"paper": "uimnet", "tier": "mini", "verdict": ["no data"] * 8})
    >>> tally(judged).loc[("uimnet", "mini")].to_dict()
    {'supported': 0, 'contradicted': 0, 'undecided': 0, 'not testable': 0, 'no data': 8}
    """
    counts = pd.crosstab([judged["paper"], judged["tier"]], judged["verdict"].map(str))
    order = pd.MultiIndex.from_frame(judged[["paper", "tier"]].drop_duplicates())
    counts = counts.reindex(index=order, columns=[*map(str, Verdict)], fill_value=0)
    return counts.rename_axis(columns=None)


def anchor(heading: str) -> str:
    """Return the name that the book gives to a heading, for links to it.

    >>> anchor("The paper's sentences")
    'the-paper-s-sentences'
    """
    return re.sub("[^a-z0-9]+", "-", heading.lower()).strip("-")


def _decisive(checks: pd.DataFrame, verdict: Verdict) -> dict:
    """Return the effect with least clearance, by any reading, of those with the claim's verdict."""
    effects = checks[checks["data_set"] == ALL]
    count = len(effects)
    missing = effects["effect"].isna()
    if not (effects["verdict"] == verdict).any():  # numbers, but not all
        text = f"some numbers are missing: {effects.loc[missing, 'check'].iloc[0]}"
        note = Note((Reason(Kind.UNTESTABLE, text),))
        effects = effects[~missing].assign(verdict=verdict, note=note)
    effects = effects[effects["verdict"] == verdict]
    least = [
        min(_clearance(row.relation, row.margin, *ends) for ends in _readings(row))
        for row in effects.itertuples()
    ]
    clearance, ahead = np.transpose(least)
    effects = effects.assign(clearance=clearance, ahead=ahead, decided_by=effects["check"])
    row = effects.sort_values(["clearance", "ahead"], kind="stable").iloc[0]
    taken = row.index.intersection(COLUMNS).difference(["claim", "check"])
    return row[taken].to_dict() | {"effects": count}


def _readings(row) -> list[tuple[float, float, float]]:
    """Return an effect with its ends, and the same by each second reading with an interval."""
    second = [(each.size, each.low, each.high) for each in row.second if each.low is not None]
    return [(row.effect, row.low, row.high), *second]


def _clearance(
    relation: str, margin: float, size: float, low: float, high: float
) -> tuple[float, float]:
    """Return the distance from the margin in parts of the half interval, and the distance."""
    sign = -1.0 if relation == "<" else 1.0
    ahead = sign * (size - margin)
    # equal draws equal the effect up to rounding
    facing = np.clip(size - low if size > margin else high - size, 0, None)
    with np.errstate(divide="ignore"):
        return ahead / facing if ahead or facing else 0.0, ahead


if __name__ == "__main__":
    write()
