"""The state at a glance: what the numbers at hand say to the papers, written anew at every build.

The book's introduction and the README show the same findings, made from results tables alone.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers.papers import PAPERS, TIERS, load  # noqa: E402
from helpers.papers.human_centric import overview  # noqa: E402
from helpers.papers.human_centric.tables import near_and_far  # noqa: E402
from helpers.report import figures, results  # noqa: E402
from helpers.report.claims import ALL, Verdict  # noqa: E402
from helpers.report.ledger import PUBLISHED, ledger, published_checks, read, tally  # noqa: E402
from helpers.report.table import MINUS, markdown_table, number  # noqa: E402

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


def reasons(note: str) -> tuple[str, str, str]:
    """Return what a ledger's note says: who is on the other side, the doubt, why not testable.

    >>> reasons("against: vit"), reasons("doubted: it turns")
    (('vit', '', ''), ('', 'it turns', ''))
    """
    return tuple(note.partition(one)[2] for one in ("against: ", "doubted: ", "not testable: "))


def effect(line) -> str:
    """Return what decided a claim: the effect, ours with its interval, what is claimed, theirs.

    And the effect in the paper's second variant; which data sets and networks, by themselves, are
    on the other side of the margin; or why the mean describes nothing, or nothing can be tested.

    >>> from types import SimpleNamespace
    >>> effect(SimpleNamespace(decided_by="gain of AUROC", effect=0.25, low=0.125, high=0.375,
    ...                        relation=">", margin=0.0, printed=-0.5, note="", second=""))
    "Gain of AUROC: +0.250 [+0.125, +0.375], claimed > 0; the paper's −0.500"
    >>> effect(SimpleNamespace(decided_by="r", effect=0.25, low=0.125, high=0.375, relation=">",
    ...                        margin=0.0, printed=float("nan"), note="doubted: it turns",
    ...                        second="by others +0.125 [+0.000, +0.250]"))
    'R: +0.250 [+0.125, +0.375], by others +0.125 [+0.000, +0.250], claimed > 0; it turns'
    """
    ours, low, high, theirs = (
        number(value, "+.3f") for value in (line.effect, line.low, line.high, line.printed)
    )
    claimed = f"{line.relation} {line.margin:g}".replace("-", MINUS)
    beside = "" if pd.isna(line.printed) else f"; the paper's {theirs}"
    what = line.decided_by[0].upper() + line.decided_by[1:]
    others, doubt, reason = reasons(line.note)
    other = f"; on the other side, each by itself: {others}" if others else ""
    doubted = "".join(f"; {why}" for why in (doubt, reason) if why)
    second = f", {line.second}" if line.second else ""
    return f"{what}: {ours} [{low}, {high}]{second}, claimed {claimed}{beside}{other}{doubted}"


def counts(found: pd.DataFrame) -> str:
    """Return a table: how many claims have which verdict, tier by tier."""
    totals = tally(found).groupby(level="tier", sort=False).sum()
    rows = [
        ["the papers' own numbers" if tier == PUBLISHED else f"`{tier}`", *row]
        for tier, row in zip(totals.index, totals.to_numpy().tolist(), strict=True)
    ]
    return markdown_table(["tier", *totals.columns], rows)


def example(folder: Path) -> str:
    """Return the part of the introduction about one network, and draw its figure, ``sets.svg``.

    It is made of the committed results of networks that others have trained; "" without them.
    """
    file = RESULTS / "pretrained" / "human_centric.parquet"
    if not file.exists():
        return ""
    table = overview.rows_of(results.read(file))
    parameters = load("human_centric", "pretrained", root=ROOT)
    near = [name for name in parameters.near if name in set(table["test_set"])]
    shown = near_and_far(table, methods=overview.SHOWN)
    right = table[(table["metric"] == "accuracy") & (table["test_set"] == "test")].iloc[0]
    sets = table.loc[table["metric"] == "auroc", "test_set"].nunique() - 3  # but for the means
    figures.use_style()
    ax = overview.auroc_of_sets(table, near)
    with plt.rc_context({"svg.hashsalt": "sets"}):
        ax.figure.savefig(folder / "sets.svg", metadata={"Date": None})
    plt.close(ax.figure)
    return f"""ResNet-20, which {{doc}}`others have trained <reference/networks>` on CIFAR-10,
names {100 * right["value"]:.1f} % of {right["images"]:,} test images correctly.
It was also shown {sets} sets of images of classes that it has never learnt: {len(near)} *near*
ones, which are photographs of other things, and {sets - len(near)} *far* ones, from digits to brain
scans.
It names one of its ten classes for every one of them, and a {{term}}`score` has to tell.
The table has the share of these images that a score accepts, by a threshold that keeps 99 % of
the correctly classified training images (DER99), and how well the score ranks them below the
network's own test images (AUROC); in per cent, means over the sets:

{shown.markdown()}

```{{figure}} reference/sets.svg
:alt: The AUROC of six scores on each set of unknown images, near and far ones.

Each mark is one set. At 50 % a score is no better than a coin.
```

More of this network, and of larger ones: {{doc}}`human-centric evaluation <human_centric>`.
"""


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


def page(found: pd.DataFrame, folder: Path) -> str:
    """Return the part of the introduction about the state, and draw its figure.

    Parameters
    ----------
    found : DataFrame
        The ledger, from `judge`.
    folder : Path
        Where the figure goes, as ``glance.svg``: the folder ``reference`` beside the introduction.

    Returns
    -------
    str
        Markdown.
    """
    figures.use_style()
    ax = figures.clearances(found, titles=TITLES)
    with plt.rc_context({"svg.hashsalt": "glance"}):  # the same numbers give the same file
        ax.figure.savefig(folder / "glance.svg", metadata={"Date": None})
    plt.close(ax.figure)
    claims = len(found.drop_duplicates(["paper", "claim"]))
    lines = "\n".join(f"- {_sentence(line)}" for line in findings(found).itertuples())
    return f"""The main claim of each paper, and what the largest tier with results says to it:

{lines}

In brackets are 95 % intervals; beside a clear one a claim is undecided when a data set or a network
of its own disagrees with the mean.

All {claims} claims, by verdict; a tier without results has no data:

{counts(found)}

And how sure the verdicts are:

```{{figure}} reference/glance.svg
:alt: For each claim and tier, how far the effect that decides it lies from its margin.

The effect that decides each claim, measured from its margin in halves of its interval.
Right of 1 the whole interval is on the claimed side, left of −1 on the other; what is grey there
is a mean with which a data set or a network of its own disagrees.
```
"""


def _sentence(line) -> str:
    """Return a finding in one line."""
    said = f"{{doc}}`{TITLES[line.paper]} <{line.paper}>`: “{line.text}”"
    if line.verdict == Verdict.NO_DATA:
        return f"{said} No tier has results yet."
    caveat = f" ({line.caveat})" if line.caveat else ""
    return f"{said} **{line.verdict}** at `{line.tier}`{caveat}. {effect(line)}."
