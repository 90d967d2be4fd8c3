"""The results in the READMEs, from the committed results tables, and the front picture.

The README gets the picture and the main claim of each paper with its verdict, between markers.
The README of ``results/`` gets each chapter's main table and the verdicts on all claims.
"""

import pandas as pd

from helpers.modules import ROOT
from helpers.papers import PAPERS, TIERS
from helpers.papers.parameters import load
from helpers.tables.table import markdown_table
from known_unknowns.bench import packs
from synthesis import front, openings
from synthesis.rendering import render

RESULTS = ROOT / "results"


def picture() -> str:
    """Return the README's front picture, with a description in words."""
    return f"![{front.text('describe', front.stored())}](book/_static/{front.PICTURE.name})"


def block() -> str:
    """Return the README's results: the main claims, all claims counted, MSP and KNN compared."""
    numbers = front.stored()
    table = openings.main_claims(*openings.judge("results", "mini"), "[{title}](notebooks/{paper})")
    return "\n".join([table, "", *(front.text(name, numbers) for name in ("tally", "quote"))])


def details() -> str:
    """Return the README of ``results/``: each chapter's main table, and its claims' verdicts."""
    judged, tables = openings.judge("results", "mini")
    sections = [
        section(paper, tier, tables[tier, paper], judged)
        for paper in openings.TITLES
        for tier in reversed(TIERS)  # the largest first
        if (tier, paper) in tables
    ]
    return render("results.md", sections=sections)


def section(paper: str, tier: str, table: pd.DataFrame, judged: pd.DataFrame) -> str:
    """Return a chapter's main table of one tier, with its caption above it, and the verdicts."""
    main = PAPERS[paper].tables.main_table(table, load(paper, tier))
    each_network = getattr(PAPERS[paper].tables, "each_network", None)
    of_networks = each_network(table) if each_network else {}
    networks = [
        f"**Each network, {variant}.** {each.caption}\n\n{each.markdown()}"
        for variant, each in of_networks.items()
    ]
    rows = judged.query("paper == @paper and tier == @tier")[["text", "verdict"]].to_numpy()
    verdicts = markdown_table(["the paper's sentence", "verdict at this tier"], rows)
    return "\n\n".join(
        [f"**{openings.TITLES[paper]}.** {main.caption}", main.markdown(), *networks, verdicts]
    )


def filled(text: str) -> str:
    """Return a README's text with the blocks between the markers renewed."""
    for name, write in (("front", picture), ("results", block)):
        start = f"<!-- {name}:start -->"
        end = f"<!-- {name}:end -->"
        head, _, rest = text.partition(start)
        text = f"{head}{start}\n{write()}\n{end}{rest.partition(end)[2]}"
    return text


def write() -> None:
    """Write both READMEs and the front picture."""
    verdicts_now = front.count_verdicts(openings.largest(openings.judge("results", "mini")[0]))
    # the predictions of the published network on the six images do not change
    front.write(front.stored() | front.accepted_shares(packs()) | {"verdicts": verdicts_now})
    path = ROOT / "README.md"
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    (RESULTS / "README.md").write_text(details(), encoding="utf-8")
