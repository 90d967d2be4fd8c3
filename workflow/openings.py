"""Write the opening of the introduction and of each paper's overview page, from the ledger.

The introduction and the README have a table of the main claims.  An overview page has the main
claim with its verdict, and a figure of all claims, each at the largest tier that tests it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import glance
import matplotlib.pyplot as plt
import pandas as pd
import yaml
from matplotlib.axes import Axes
from pages import render

from helpers import data
from helpers.papers import PAPERS
from helpers.report import figures
from helpers.report.claims import Verdict
from helpers.report.ledger import PUBLISHED, tally
from helpers.report.preconditions import networks_in_words
from helpers.report.table import markdown_table, number

ROOT = Path(__file__).resolve().parent.parent
SENTENCES = yaml.safe_load((ROOT / "workflow" / "sentences.yaml").read_text(encoding="utf-8"))
TURNED = {">": "<", "<": ">", ">=": "<="}
NEEDS = {">": "more than", "<": "less than", ">=": "at least", "<=": "at most"}


def write(found: pd.DataFrame, tables: Mapping, folder: Path) -> dict[str, str]:
    """Return the opening of each page as Markdown, and draw the figures into `folder`.

    `found` is the ledger and `tables` its results tables, both from `glance.judge`.
    """
    claims = glance.largest(found)
    texts = {"intro": main_claims(found, tables, "{{doc}}`{title} <{paper}>`")}
    for line in glance.findings(found).itertuples():
        source = f"{{cite:t}}`{PAPERS[line.paper].key}`, {line.source}"
        opening = f"**Main claim.** {line.text} ({source})"
        if line.verdict != Verdict.NO_DATA:
            scale = networks(tables[line.tier, line.paper])
            opening += f" **{line.verdict.capitalize()}** at the {{term}}`tier` `{line.tier}`"
            opening += f" ({scale}): {measured(line)}."
        picture = figure(claims[claims["paper"] == line.paper], folder)
        texts[line.paper] = f"{opening}\n\n{picture}"
    return texts | {"synthesis": together(claims, folder)}


def main_claims(found: pd.DataFrame, tables: Mapping, chapter: str) -> str:
    """Return a table of the main claims: verdict and evidence of the largest tier with data.

    `chapter` is a link to a paper's chapter with the fields ``title`` and ``paper``.
    """
    rows = []
    for line in glance.findings(found).itertuples():
        link = chapter.format(title=glance.TITLES[line.paper], paper=line.paper)
        verdict, evidence = f"**{line.verdict}**", "no tier has results yet"
        if line.verdict != Verdict.NO_DATA:
            scale = networks(tables[line.tier, line.paper])
            evidence = f"{measured(line)} (`{line.tier}`: {scale})"
        others = found[(found["paper"] == line.paper) & (found["claim"] == line.claim)]
        others = others[~others["tier"].isin([line.tier, PUBLISHED])]
        others = others[others["verdict"].isin([Verdict.SUPPORTED, Verdict.CONTRADICTED])]
        others = others[others["verdict"] != line.verdict].groupby("verdict", sort=False)["tier"]
        for verdict_there, tiers in others:
            verdict += f"; {verdict_there} at " + ", ".join(f"`{tier}`" for tier in tiers)
        rows.append([link, line.text, verdict, evidence])
    return markdown_table(["chapter", "main claim of the paper", "verdict", "evidence"], rows)


def measured(line) -> str:
    """Return a sentence: the effect of a row of `glance.findings`, its interval, the paper's."""
    patterns = (entry for entry in SENTENCES if re.fullmatch(entry[0], line.decided_by))
    pattern, above, below, unit, factor, digits = next(patterns)
    words = re.fullmatch(pattern, line.decided_by).groups()
    sign, relation = (1, line.relation) if line.effect >= 0 else (-1, TURNED[line.relation])
    size, low, high, printed = (
        number(factor * sign * value + 0.0, f".{digits}f")
        for value in (line.effect, *(line.low, line.high)[::sign], line.printed)
    )
    bounds = "" if pd.isna(line.low) else f" [{low}, {high}]"
    text = (above if sign > 0 else below).format(*words, size=f"{size}{unit}{bounds}")
    text = f"{text[0].upper()}{text[1:]}"
    if line.margin:
        margin = number(factor * sign * line.margin, "g")
        text += f"; the claim needs {NEEDS[relation]} {margin}"
    if line.verdict == Verdict.UNDECIDED and not line.low <= line.margin <= line.high:
        text += "; not all networks, data sets or readings agree"
    if pd.isna(line.printed):
        return text
    if (line.printed < 0) == (sign < 0):
        return f"{text}; in the paper {printed}"
    opposite = (below if sign > 0 else above).format(*words, size=printed[1:] + unit)
    return f"{text}; in the paper, {opposite}"


def together(claims: pd.DataFrame, folder: Path) -> str:
    """Return the number of claims with each verdict, and draw it for each paper."""
    figures.use_style()
    ax = figures.tally_bars(tally(claims.assign(tier="all claims")), titles=glance.TITLES)
    _save(ax, folder, "synthesis")
    counts = claims["verdict"].value_counts()
    counted = ", ".join(f"{counts.get(verdict, 0)} {verdict}" for verdict in Verdict)
    return render("together.md", count=len(claims), counted=counted)


def networks(table: pd.DataFrame) -> str:
    """Return the data sets, the networks and the number of runs of a results table, in words."""
    cards = {name: data.find(name) for name in table["data_set"].unique()}
    titles = [card.title if card else f"`{name}`" for name, card in cards.items()]
    kinds, runs = table["backbone"].unique(), table["run"].nunique()
    shown = f"`{kinds[0]}`" if len(kinds) == 1 else networks_in_words(kinds)
    return f"{' and '.join(titles)}; {shown}, {runs} run{'s' * (runs > 1)}"


def figure(claims: pd.DataFrame, folder: Path) -> str:
    """Draw a paper's rows of `glance.largest`, the main claim first; return the Markdown."""
    paper = claims["paper"].iloc[0]
    drawn = claims[claims["effect"].notna()]
    first = drawn["claim"] == PAPERS[paper].main_claim
    drawn = pd.concat([drawn[first], drawn[~first]])
    if drawn.empty:
        return f"No tier has numbers yet for any of the {len(claims)} claims that are checked."
    figures.use_style()
    _save(figures.decisive_effects(drawn), folder, paper)
    rest = len(claims) - len(drawn)
    rows = zip(drawn["text"], drawn["verdict"], strict=True)
    listing = " ".join(f"{text.rstrip('.')} ({verdict})." for text, verdict in rows)
    return render("found.md", paper=paper, listing=listing, rest=rest)


def _save(ax: Axes, folder: Path, name: str) -> None:
    # the same numbers give the same file, and text as text makes it a fifth as large
    with plt.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        ax.figure.savefig(folder / f"{name}_found.svg", metadata={"Date": None})
    plt.close(ax.figure)
