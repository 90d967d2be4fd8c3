"""Write what READMEs say of the results, from the committed results tables.

    python workflow/readme.py

Between the two markers of the README, the main claim of each paper with its verdicts; in that of
``results/``, each chapter's main table beside the paper's and the verdicts on all claims.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import SimpleNamespace

import glance
import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers.papers import PAPERS  # noqa: E402
from helpers.report.claims import Verdict  # noqa: E402
from helpers.report.ledger import PUBLISHED, ledger  # noqa: E402
from helpers.report.table import ABSENT, markdown_table  # noqa: E402

START, END = "<!-- results:start -->", "<!-- results:end -->"
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


def block() -> str:
    """Return the README's results: main claims with their verdicts, and the tally of all."""
    found = judged()
    tiers = [one for one in found["tier"].unique() if one != PUBLISHED]
    verdicts = found.set_index(["paper", "claim", "tier"])[["verdict", "caveat"]]
    rows = []
    for line in glance.findings(found).itertuples():
        given = [tuple(verdicts.loc[(line.paper, line.claim, tier)]) for tier in tiers]
        shown = [_verdict(*one) if one[0] != Verdict.NO_DATA else ABSENT for one in given]
        chapter = f"[{glance.TITLES[line.paper]}](notebooks/{line.paper})"
        decided = ABSENT if line.verdict == Verdict.NO_DATA else glance.effect(line)
        rows.append([chapter, line.text, *shown, decided])
    header = ["chapter", "main claim of its paper", *(f"`{tier}`" for tier in tiers)]
    return "\n\n".join(
        [
            markdown_table([*header, "what decides it, at the largest tier"], rows),
            f"All {len(verdicts.groupby(['paper', 'claim']))} claims, by verdict:",
            glance.counts(found),
        ]
    )


def _verdict(verdict: Verdict, caveat: str) -> str:
    """Return a verdict with what to bear in mind, as in "supported (one run)"."""
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
    main = PAPERS[paper].tables.main_table(table, parameters(paper, tier))
    text = f"**{glance.TITLES[paper]}.** {main.caption}"
    return "\n\n".join([text, main.markdown(), verdicts(paper, table)])


def parameters(paper: str, tier: str) -> SimpleNamespace:
    """Return the parameters that a paper's committed results were made with."""
    file = ROOT / "params" / tier / f"{paper}.yaml"
    values = yaml.safe_load(file.read_text(encoding="utf-8"))
    return SimpleNamespace(**{"tier": tier} | values.get("evaluation", values))


def verdicts(paper: str, table: pd.DataFrame) -> str:
    """Return the verdicts on a paper's claims; of several data sets, by the first and by all."""
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
    """Return a README's text with the block between the markers renewed."""
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    return f"{head}{START}\n{block()}\n{END}{tail}"


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    (RESULTS / "README.md").write_text(details(), encoding="utf-8")
