"""The results in the READMEs, from the committed results tables, and the pictures.

    python -m synthesis.readme

The README gets the front picture and three findings as pictures, between markers.  The README of
``results/`` gets the main claims, each chapter's main table and the verdicts on all claims.
"""

import pandas as pd

from helpers.files import atomic_path
from helpers.modules import ROOT
from helpers.papers import PAPERS, TIERS
from helpers.papers.parameters import load
from helpers.tables.table import markdown_table
from known_unknowns.bench import packs
from synthesis import front, openings
from synthesis.findings import find, front_page
from synthesis.ledger import read
from synthesis.rendering import render

RESULTS = ROOT / "results"


def pictures() -> str:
    """Return the front picture and the pictures of three findings, with their sentences."""
    folder = front_page.FOLDER.relative_to(ROOT).as_posix()
    lines = [f"![{front.describe(front.stored())}]({folder}/{front.PICTURE.name})"]
    for finding in map(find, front_page.PICTURES):
        lines += [f"![{finding.title}]({folder}/{finding.name}.svg)"]
        lines += [f"**{finding.title}.** {finding.sentence}"]
    return "\n\n".join(lines)


def details() -> str:
    """Return the README of ``results/``: each chapter's main table, and its claims' verdicts."""
    judged = openings.judge("results", "mini")
    tables = read(openings.TITLES, "results", TIERS)
    sections = [
        section(paper, tier, tables[tier, paper], judged)
        for paper in openings.TITLES
        for tier in reversed(TIERS)  # the largest first
        if (tier, paper) in tables
    ]
    main = openings.main_claims(judged, "{title}")
    return render("results.md", main=main, sections=sections)


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
    """Return a README's text with the block between the markers renewed."""
    start = "<!-- front:start -->"
    end = "<!-- front:end -->"
    head, _, rest = text.partition(start)
    return f"{head}{start}\n{pictures()}\n{end}{rest.partition(end)[2]}"


def write() -> None:
    """Write both READMEs and the pictures."""
    # the predictions of the published network on the six images do not change
    front.write(front.stored() | front.accepted_shares(packs()))
    front_page.write()
    path = ROOT / "README.md"
    texts = {path: filled(path.read_text(encoding="utf-8")), RESULTS / "README.md": details()}
    for path, text in texts.items():
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
