"""Write the opening of each paper's overview page, from the ledger, and the table of main claims.

An overview page has the main claim with its verdict, a figure of all claims, each at the largest
tier that can test it, and the main table of the largest tier.
"""

import functools
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from helpers import data
from helpers.files import project_root
from helpers.papers import PAPERS, TIERS
from helpers.tables.figures import use_style
from helpers.tables.table import markdown_table
from synthesis.claims import load_claims
from synthesis.effects import ALL, SETTLED, Verdict
from synthesis.figures import decisive_effects, tally_bars
from synthesis.judging import measured
from synthesis.ledger import PRINTED, printed_checks, read, tally, with_committed
from synthesis.reasons import Kind, Note
from synthesis.rendering import render

#: The chapters that have claims, in the order of the book.
TITLES = {name: paper.heading for name, paper in PAPERS.items()}


@functools.cache
def judge(runs: str | Path, tier: str) -> pd.DataFrame:
    """Return the ledger of all papers.

    The tables of `tier` are read from the folder `runs`, and judged; verdicts on committed tables
    are stored.  Tier ``mini`` has only these, since it has slices of the test sets.
    """
    tiers = [tier] * (tier not in TIERS) + [*TIERS]
    tables = {} if tier == "mini" else read(TITLES, runs, [])
    return with_committed(tables, tiers)


def largest(claims: pd.DataFrame) -> pd.DataFrame:
    """Return each claim of a ledger at the largest tier that can test it.

    The tiers are in ascending order.  A tier that can test a claim has priority over a larger tier
    with numbers that cannot test it; tiers without numbers are last.  The new column
    ``printed`` is the effect by the paper's numbers, NaN without such numbers.
    """
    claims = claims[claims["tier"] != PRINTED].reset_index(drop=True)
    kind = claims["verdict"].map({Verdict.NO_DATA: 0, Verdict.NOT_TESTABLE: 1}).fillna(2)
    order = len(claims) * kind + claims.index.to_series().where(kind > 0, -claims.index)
    lines = claims.loc[order.groupby([claims["paper"], claims["claim"]], sort=False).idxmax()]
    return lines.assign(printed=[_printed(line) for line in lines.itertuples()])


def _printed(line) -> float:
    """Return the effect by the paper's numbers on the data sets of our table, or else on all."""
    if (checks := printed_checks(load_claims(line.paper))) is None:
        return float("nan")
    rows = checks[(checks["claim"] == line.claim) & (checks["check"] == line.decided_by)]
    ours = _data_sets(project_root() / "results" / line.tier / f"{line.paper}.parquet")
    same = rows["data_set"].isin([PAPERS[line.paper].data_sets.get(name) for name in ours])
    return rows[same if same.any() else rows["data_set"] == ALL]["effect"].mean()


@functools.cache
def _data_sets(file: Path) -> Sequence[str]:
    return pd.read_parquet(file, columns=["data_set"])["data_set"].unique() if file.exists() else []


def findings(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the row of `largest` of each paper's main claim, in the order of the book."""
    lines = largest(claims).set_index(["paper", "claim"], drop=False)
    return lines.loc[[(paper, load_claims(paper).main) for paper in TITLES]].reset_index(drop=True)


def write(claims: pd.DataFrame, folder: Path) -> dict[str, str]:
    """Return the opening of each page as Markdown, and draw the figures into `folder`.

    `claims` is the ledger that `judge` returns.  Tier ``mini`` is left out: every book has the
    verdicts of the committed results.
    """
    claims = claims[claims["tier"] != "mini"]
    lines = largest(claims)
    texts = {}
    for line in findings(claims).itertuples():
        paper = PAPERS[line.paper]
        words = evidence(line)
        texts[line.paper] = render(
            "opening.md",
            line=line,
            picture=figure(lines[lines["paper"] == line.paper], folder),
            key=paper.key,
            evidence=words,
            main=paper.headline() if words else None,
        )
    return texts | {"synthesis": together(lines, folder)}


def main_claims(claims: pd.DataFrame, chapter: str) -> str:
    """Return a table of the main claims: verdict and evidence of the largest tier with data.

    `chapter` is a link to a paper's chapter with the fields ``title`` and ``paper``.
    """
    rows = []
    for line in findings(claims).itertuples():
        link = chapter.format(title=TITLES[line.paper], paper=line.paper)
        verdict = f"**{line.verdict}**"
        words = "no tier has results yet"
        if parts := evidence(line):
            words = "{measured} (`{tier}`: {scale}){missing}".format(tier=line.tier, **parts)
        others = claims[(claims["paper"] == line.paper) & (claims["claim"] == line.claim)]
        others = others[(others["tier"] != PRINTED) & (others["verdict"] != line.verdict)]
        others = others[others["verdict"].isin(SETTLED)]
        for verdict_there, tiers in others.groupby("verdict", sort=False)["tier"]:
            verdict += f"; {verdict_there} at " + ", ".join(f"`{tier}`" for tier in tiers)
        rows.append([link, line.text, verdict, words])
    return markdown_table(["chapter", "main claim of the paper", "verdict", "evidence"], rows)


def evidence(line) -> dict[str, str]:
    """Return the sentences about a row of `findings`; {} if no tier has data."""
    if line.verdict == Verdict.NO_DATA:
        return {}
    effect = load_claims(line.paper).effect(line.claim, line.decided_by)
    settled = line.verdict in SETTLED
    return {
        "scale": networks(line.models, line.runs),
        "measured": measured(line, effect),
        "missing": "" if settled else f". *Missing:* {load_claims(line.paper).settled_by}",
    }


def together(claims: pd.DataFrame, folder: Path) -> str:
    """Return the number of claims with each verdict, and draw it for each paper."""
    use_style()
    tally_bars(tally(claims.assign(tier="")), titles=TITLES)
    _save(folder, "synthesis")
    counts = claims["verdict"].value_counts()
    counted = ", ".join(f"{counts.get(verdict, 0)} {verdict}" for verdict in Verdict)
    return render("together.md", count=len(claims), counted=counted)


def networks(models: str, runs: int) -> str:
    """Return the data sets, the networks and the number of runs behind an effect, in words.

    `models` and `runs` are the columns of the ledger.

    >>> networks("2 networks, 2 architectures, 1 family on cifar100", 3)
    'CIFAR-100; 2 networks, 2 architectures, 1 family; 3 runs'
    """
    words, _, names = models.partition(" on ")
    cards = {name: data.find(name) for name in names.split(", ")}
    titles = " and ".join(card.title if card else f"`{name}`" for name, card in cards.items())
    return f"{titles}; {words}; {runs} run{'s' if runs > 1 else ''}"


def figure(claims: pd.DataFrame, folder: Path) -> str:
    """Draw a paper's rows of `largest`, the main claim first; return the Markdown."""
    paper = claims["paper"].iloc[0]
    order = claims["claim"].ne(load_claims(paper).main).sort_values(kind="stable").index
    drawn = claims.loc[order].dropna(subset="effect")
    if drawn.empty:
        return f"No tier has numbers yet for any of the {len(claims)} claims that are checked."
    use_style()
    effect = load_claims(paper).effect
    plain = drawn.assign(note=Note(), verdict="", second=[()] * len(drawn)).itertuples()
    decisive_effects(
        drawn.assign(sentence=[measured(x, effect(x.claim, x.decided_by)) for x in plain])
    )
    _save(folder, paper)
    listing = " ".join(map("{} ({}).".format, drawn["text"].str.rstrip("."), drawn["verdict"]))
    doubts = (note.of(Kind.DOUBT, Kind.WEAKNESS) for note in drawn["note"])
    reasons = dict.fromkeys(str(reason) for reasons in doubts for reason in reasons)
    rest = len(claims) - len(drawn)
    return render("found.md", paper=paper, listing=listing, rest=rest, reasons=reasons)


def _save(folder: Path, name: str) -> None:
    """Save the figure that was drawn last."""
    # the same numbers give the same file, and text as text makes it a fifth as large
    figure = plt.gcf()
    with plt.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(folder / f"{name}_found.svg", metadata={"Date": None})
    plt.close(figure)
