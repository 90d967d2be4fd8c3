"""Write the opening of the introduction and of each paper's overview page, from the ledger.

The introduction has a table of the main claims; the README has the same table.  An overview page
has the main claim with its verdict, and a figure of all claims, each at the largest tier that
tests it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import glance
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from helpers import data
from helpers.papers import PAPERS
from helpers.report import figures
from helpers.report.claims import Verdict
from helpers.report.ledger import PUBLISHED, tally
from helpers.report.preconditions import networks_in_words
from helpers.report.table import markdown_table, number

ROOT = Path(__file__).resolve().parent.parent
_MEASURED = {  # an effect's name: the sentence above zero and below it, unit, factor and digits
    "AURC on the union, (.+) minus (.+)": (
        "{1} is better than {0} by {size}", "{0} is better than {1} by {size}", " AURC", 1, 3
    ),
    "(accuracy|ACC@5), (.+) minus (.+)": (
        "compared with {2}, {1} raises the {0} by {size}",
        "compared with {2}, {1} lowers the {0} by {size}", " points", 100, 1,
    ),
    "(ECE|NLL), (.+) minus (.+)": (
        "compared with {2}, {1} raises the {0} by {size}",
        "compared with {2}, {1} lowers the {0} by {size}", "", 1, 3,
    ),
    "mean rank ahead of (.+) in critical differences, (.+)": (
        "{1} ranks ahead of {0} by {size}", "{1} ranks behind {0} by {size}",
        " critical differences", 1, 2,
    ),
    "least average (.+) gained over (.+), (.+)": (
        "{2} lowers the {0} of {1} on each network, by at least {size}",
        "{2} raises the {0} of {1} on a network by {size}", " points", 100, 1,
    ),
    "(correlation with .+), mean over detectors": ("{0} is {size}", "{0} is −{size}", "", 1, 2),
    "open-set ECE, fall by scaling": (
        "temperature scaling lowers the open-set ECE by {size}",
        "temperature scaling raises the open-set ECE by {size}", "", 1, 3,
    ),
    "open-set ECE after scaling, above the floor": (
        "after scaling, the open-set ECE is {size} above its floor",
        "after scaling, the open-set ECE is {size} below its floor", "", 1, 3,
    ),
}  # fmt: skip
_TURNED = {">": "<", "<": ">", ">=": "<="}
_NEEDS = {">": "more than", "<": "less than", ">=": "at least", "<=": "at most"}


def write(
    found: pd.DataFrame, tables: Mapping[tuple[str, str], pd.DataFrame], folder: Path
) -> dict[str, str]:
    """Return the opening of each overview page and of the introduction; draw the figures.

    Parameters
    ----------
    found : DataFrame
        The ledger, from `glance.judge`.
    tables : mapping of (tier, paper) to DataFrame
        The results tables of the ledger.
    folder : Path
        Folder of the figures ``<paper>_found.svg``.

    Returns
    -------
    dict of str to str
        Markdown by paper; ``synthesis`` for all papers together, and ``intro``.
    """
    claims = glance.largest(found)
    texts = {"intro": main_claims(found, tables, "{{doc}}`{title} <{paper}>`")}
    for line in glance.findings(found).itertuples():
        opening = (
            f"**Main claim.** {line.text} ({{cite:t}}`{PAPERS[line.paper].key}`, {line.source})"
        )
        if line.verdict != Verdict.NO_DATA:
            scale = networks(tables[line.tier, line.paper])
            opening += f" **{line.verdict.capitalize()}** at the {{term}}`tier` `{line.tier}`"
            opening += f" ({scale}): {measured(line)}."
        picture = figure(claims[claims["paper"] == line.paper], folder)
        texts[line.paper] = f"{opening}\n\n{picture}"
    return texts | {"synthesis": together(claims, folder)}


def main_claims(found: pd.DataFrame, tables: Mapping, chapter: str) -> str:
    """Return a table of the main claims: verdict and evidence of the largest tier that has them.

    Parameters
    ----------
    found, tables
        As of `write`.
    chapter : str
        A link to a paper's chapter, with the fields ``title`` and ``paper``.
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
    """Return the effect that decides a claim as a sentence: the size, its interval, the paper's.

    Parameters
    ----------
    line : a row of `glance.findings`

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> line = SimpleNamespace(decided_by="open-set ECE, fall by scaling", effect=0.25, low=0.125,
    ...                        high=0.375, relation=">", margin=0.0, printed=0.5, verdict="")
    >>> measured(line)
    'Temperature scaling lowers the open-set ECE by 0.250 [0.125, 0.375]; in the paper 0.500'
    """
    pattern = next((one for one in _MEASURED if re.fullmatch(one, line.decided_by)), "(.*)")
    words = re.fullmatch(pattern, line.decided_by).groups()
    sentences = ("{} is {size}", "{} is −{size}", "", 1, 3)
    above, below, unit, factor, digits = _MEASURED.get(pattern, sentences)
    sign, relation = (1, line.relation) if line.effect >= 0 else (-1, _TURNED[line.relation])
    size, low, high, printed = (
        number(factor * sign * value + 0.0, f".{digits}f")
        for value in (line.effect, *(line.low, line.high)[::sign], line.printed)
    )
    bounds = "" if pd.isna(line.low) else f" [{low}, {high}]"
    text = (above if sign > 0 else below).format(*words, size=f"{size}{unit}{bounds}")
    text = f"{text[0].upper()}{text[1:]}"
    if line.margin:
        margin = number(factor * sign * line.margin, "g")
        text += f"; the claim needs {_NEEDS[relation]} {margin}"
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
    return f"""We test {len(claims)} sentences of the five papers, each at the largest tier that can
test it: {counted}. {{doc}}`The ledger <../notebooks/synthesis/ledger>` lists them all.

```{{figure}} reference/synthesis_found.svg
:alt: Of the claims of each paper, how many have which verdict.

The claims of each paper by their verdicts, each at the largest tier that tests it.
```
"""


def networks(table: pd.DataFrame) -> str:
    """Return in words what a results table is of: the data sets, the networks and the runs.

    Examples
    --------
    >>> rows = {"data_set": "cifar10", "backbone": ["resnet20", "vit", "vit"], "run": [0, 0, 1]}
    >>> networks(pd.DataFrame(rows))
    'CIFAR-10; 2 networks, 2 architectures, 2 families, 2 runs'
    """
    cards = {name: data.find(name) for name in table["data_set"].unique()}
    titles = [card.title if card else f"`{name}`" for name, card in cards.items()]
    kinds, runs = table["backbone"].unique(), table["run"].nunique()
    shown = f"`{kinds[0]}`" if len(kinds) == 1 else networks_in_words(kinds)
    return f"{' and '.join(titles)}; {shown}, {runs} run{'s' * (runs > 1)}"


def figure(claims: pd.DataFrame, folder: Path) -> str:
    """Draw a paper's claims into `folder`, and return the figure's Markdown.

    Parameters
    ----------
    claims : DataFrame
        Its rows of `glance.largest`; the main claim is drawn first.
    folder : Path
        Where ``<paper>_found.svg`` goes.
    """
    paper = claims["paper"].iloc[0]
    drawn = claims[claims["effect"].notna()]
    first = drawn["claim"] == PAPERS[paper].main_claim
    drawn = pd.concat([drawn[first], drawn[~first]])
    rest = len(claims) - len(drawn)
    if drawn.empty:
        return f"No tier has numbers yet for any of the {len(claims)} claims that are checked."
    figures.use_style()
    ax = figures.decisive_effects(drawn)
    _save(ax, folder, paper)
    absent = f"  Without numbers, and not shown: {rest}." if rest else ""
    return f"""```{{figure}} reference/{paper}_found.svg
:alt: {_listing(drawn["text"], drawn["verdict"])}

The claims of the paper that are checked here, each at the largest tier that judges it: the effect
that decides, its 95 % interval, and what the paper's own numbers give.  A row has a scale of its
own; right of the line is what is claimed.{absent}
```
"""


def _save(ax: Axes, folder: Path, name: str) -> None:
    # the same numbers give the same file, and text that is text makes it a fifth as large
    with plt.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        ax.figure.savefig(folder / f"{name}_found.svg", metadata={"Date": None})
    plt.close(ax.figure)


def _listing(texts: Iterable[str], verdicts: Iterable[Verdict]) -> str:
    """Return the figure in words, for who cannot see it."""
    return " ".join(
        f"{text.rstrip('.')} ({verdict})." for text, verdict in zip(texts, verdicts, strict=True)
    )
