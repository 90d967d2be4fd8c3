"""Write the results in the READMEs, from the committed results tables, and the front picture.

    python workflow/readme.py

The README gets the picture and the main claim of each paper with its verdict, between markers.
The README of ``results/`` gets each chapter's main table and the verdicts on all claims.
"""

from __future__ import annotations

import functools

import front
import glance
import openings
import pandas as pd
from step import ROOT

from helpers.papers import PAPERS
from helpers.papers.parameters import load
from helpers.report.claims import Verdict
from helpers.report.ledger import ledger
from helpers.report.table import markdown_table
from known_unknowns.bench import packs

HEAD = """# Results of the larger tiers

One table a tier and paper, with its provenance; the book shows them in full.
Their parameters are in `params/<tier>/<paper>.yaml`, with a remark where a table is older.
This page is written by `workflow/readme.py`."""
RESULTS = ROOT / "results"


@functools.cache
def judged() -> pd.DataFrame:
    """Return the ledger of all committed results, its tiers from the smallest to the largest."""
    tables = glance.committed()
    tiers = {tier for tier, _ in tables}
    return ledger(PAPERS, tables, [one for one in glance.TIERS if one in tiers])


def picture() -> str:
    """Return the README's front picture, with what it shows in words."""
    return f"![{front.describe(front.stored())}]({front.PICTURE.relative_to(ROOT).as_posix()})"


def block() -> str:
    """Return the README's results: the main claims, all claims counted, MSP and KNN compared."""
    numbers = front.stored()
    table = openings.main_claims(judged(), glance.committed(), "[{title}](notebooks/{paper})")
    return f"{table}\n\n{front.tally(numbers)}\n{front.quote(numbers)}"


def _verdict(verdict: Verdict, caveat: str) -> str:
    """Return a verdict with its caveat, as in "supported (one run)"."""
    return f"{verdict} ({caveat})" if caveat else str(verdict)


def details() -> str:
    """Return the README of ``results/``: each chapter's main table, and its claims' verdicts."""
    tables = glance.committed()
    sections = [
        section(paper, tier, tables[tier, paper])
        for paper in glance.TITLES
        for tier in reversed(glance.TIERS)  # the largest first
        if (tier, paper) in tables
    ]
    return "\n\n".join([HEAD, *sections]) + "\n"


def section(paper: str, tier: str, table: pd.DataFrame) -> str:
    """Return a chapter's main table of one tier, with its caption above it, and the verdicts."""
    main = PAPERS[paper].tables.main_table(table, load(paper, tier))
    text = f"**{glance.TITLES[paper]}.** {main.caption}"
    return "\n\n".join([text, main.markdown(), verdicts(paper, table)])


def verdicts(paper: str, table: pd.DataFrame) -> str:
    """Return the verdicts on a paper's claims; with several data sets, on the first and on all."""
    tier, (first, *others) = table["tier"].iloc[0], table["data_set"].unique()
    columns = {"verdict at this tier": judged()}
    if others:
        own = {(tier, paper): table[table["data_set"] == first]}
        alone = ledger({paper: PAPERS[paper]}, own, [tier])
        columns = {f"on {first}": alone, f"with {', '.join(others)}": judged()}
    found = [one[(one["tier"] == tier) & (one["paper"] == paper)] for one in columns.values()]
    shown = [map(_verdict, one["verdict"], one["caveat"]) for one in found]
    rows = zip(found[0]["text"], *shown, strict=True)
    return markdown_table(["the paper's sentence", *columns], rows)


def filled(text: str) -> str:
    """Return a README's text with the blocks between the markers renewed."""
    for name, write in (("front", picture), ("results", block)):
        start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
        head, _, rest = text.partition(start)
        text = f"{head}{start}\n{write()}\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    front.write(front.measure(glance.largest(judged()), packs()))
    path = ROOT / "README.md"
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    (RESULTS / "README.md").write_text(details(), encoding="utf-8")
