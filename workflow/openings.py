"""What the introduction and each paper's overview page open with, written anew at every build.

The introduction: a table of the main claims, which the README has too.  An overview page: three
sentences (what the paper says, what was found here and at what scale, what would settle it), what
to do until then, and a figure of all its claims, each at the largest tier that judges it.  All of
it follows from the ledger: a number or a verdict that changes there changes here.
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
from helpers.papers import PAPERS, TIERS
from helpers.report import figures
from helpers.report.claims import Verdict
from helpers.report.ledger import PUBLISHED, published_checks, tally
from helpers.report.preconditions import networks_in_words
from helpers.report.table import markdown_table, number

ROOT = Path(__file__).resolve().parent.parent
_MORE = {
    "one run": "further runs, since there is one",
    "one architecture": "other architectures, since there is one",
    "one family of networks": "networks of other families, since there is one",
}  # the caveats of `helpers.report.ledger.caveat`
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
_AUDIT = "{doc}`the audit <audit>`"
_NOW = {
    "unknown_detection": {
        Verdict.SUPPORTED: "Where several networks can be afforded, answer with all of them.",
        Verdict.CONTRADICTED: "Do not pay for several networks unseen: where images of other "
        f"classes are at hand to train with, try these first, and compare both by {_AUDIT}.",
    },
    "human_centric": {
        Verdict.SUPPORTED: "Stay with MSP.",
        Verdict.CONTRADICTED: f"Let {_AUDIT} choose the score on your own model and images.",
        Verdict.UNDECIDED: "Stay with MSP until another score is ahead of it on your own model and "
        f"images by more than chance: {_AUDIT} ranks them with intervals.",
    },
    "uimnet": {
        Verdict.SUPPORTED: "Train as usual, and search its settings.",
        Verdict.CONTRADICTED: "Give what is ahead of ERM a search as long as ERM's on your data.",
        Verdict.UNDECIDED: "Train as usual, and search its settings: that something else is worth "
        "its cost for images of the known classes has not been shown.",
    },
    "gscore": {
        Verdict.SUPPORTED: "Order sets by the Gscore; for a number, take an estimator that has an "
        "interval ({doc}`which <../notebooks/gscore/estimators>`).",
        Verdict.CONTRADICTED: "Do not judge a detector by its Gscore; take another estimator "
        "({doc}`which <../notebooks/gscore/estimators>`).",
        Verdict.UNDECIDED: "Do not judge a detector by its Gscore alone; take an estimator that "
        "has an interval ({doc}`which <../notebooks/gscore/estimators>`).",
    },
    "openset_calibration": {
        Verdict.SUPPORTED: "Fit a temperature, and still reject before trusting a probability "
        f"where unknown classes may appear: {_AUDIT} makes the rejector.",
        Verdict.CONTRADICTED: "Do not count on a temperature where unknown classes may appear: "
        f"{_AUDIT} makes a rejector.",
    },
}
"""What a reader can do with a verdict on a main claim, until something settles it."""


def write(
    found: pd.DataFrame, tables: Mapping[tuple[str, str], pd.DataFrame], folder: Path
) -> dict[str, str]:
    """Return what each paper's overview page opens with, and draw the figures.

    Parameters
    ----------
    found : DataFrame
        The ledger, from `glance.judge`.
    tables : mapping of (tier, paper) to DataFrame
        The results tables that it was made of.
    folder : Path
        Where the figures go, as ``<paper>_found.svg``: the folder ``reference``.

    Returns
    -------
    dict of str to str
        Markdown, by paper; of the chapter about all of them, ``synthesis``; and of the
        introduction, ``intro``.
    """
    claims, main = glance.largest(found), glance.findings(found)
    texts = {"intro": main_claims(found, tables, "{{doc}}`{title} <{paper}>`")}
    for line in main.itertuples():
        own = found[(found["paper"] == line.paper) & (found["claim"] == line.claim)]
        others = own[~own["tier"].isin([line.tier, PUBLISHED])]
        others = others[others["verdict"] != Verdict.NO_DATA]
        table = tables.get((line.tier, line.paper))
        scale = "" if table is None else networks(table)
        said = [says(line), was_found(line, others, scale), heads(line, others)]
        said += [would_settle(line), to_do(line)]
        picture = figure(claims[claims["paper"] == line.paper], folder)
        texts[line.paper] = "\n\n".join(filter(None, [*said, picture]))
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


def _counted(claims: pd.DataFrame) -> str:
    counts = claims["verdict"].value_counts()
    return ", ".join(f"{counts.get(one, 0)} {one}" for one in Verdict)


def together(claims: pd.DataFrame, folder: Path) -> str:
    """Return how all claims fare, each at the largest tier that judges it, and draw it.

    The arguments are those of `figure`, of all papers.
    """
    tiers = claims.loc[claims["verdict"] != Verdict.NO_DATA, "tier"]
    shown = " and ".join(f"`{tier}`" for tier in TIERS if tier in set(tiers)) or "none yet"
    figures.use_style()
    # one bar a paper: which tier judges differs from claim to claim
    ax = figures.tally_bars(tally(claims.assign(tier="all claims")), titles=glance.TITLES)
    _save(ax, folder, "synthesis")
    each = _counted(claims)
    return f"""**What the papers say.** {len(claims)} sentences of the five papers are checked here.

**What was found here.** Each by the largest tier that can judge it (of {shown}), they are: {each}.

**What would settle it.** One by one, with what decided it:
{{doc}}`the ledger <../notebooks/synthesis/ledger>`.

```{{figure}} reference/synthesis_found.svg
:alt: Of the claims of each paper, how many have which verdict.

The claims of each paper by their verdicts, each at the largest tier that judges it.
```
"""


def says(line) -> str:
    """Return the paper's main claim in our words, and where it stands."""
    key = PAPERS[line.paper].key
    by = f"{{cite:t}}`{key}`, " if key else ""
    return f"**What the paper says.** {line.text} ({by}{line.source})"


def was_found(line, others: pd.DataFrame, scale: str) -> str:
    """Return the verdict, the tier and its networks, the numbers, and what other tiers say.

    Parameters
    ----------
    line : a row of `glance.findings`
    others : DataFrame
        Rows of the ledger: the same claim at the other tiers that have numbers.
    scale : str
        From `networks`.
    """
    lead = "**What was found here.**"
    if line.verdict == Verdict.NO_DATA:
        return f"{lead} Nothing yet: there are no numbers that say anything to it ({line.note})."
    bounds = f"[{number(line.low, '+.3f')}, {number(line.high, '+.3f')}]"
    bounds = "(without an interval)" if pd.isna(line.low) else bounds
    second = f", {line.second}" if line.second else ""
    claimed = f"{line.relation} {number(line.margin, 'g')}"
    which = f" (of {line.effects} effects the one that decides)" if line.effects > 1 else ""
    rest = [f"{one.verdict} at `{one.tier}`" for one in others.itertuples()]
    beyond = f"; elsewhere it is {', '.join(rest)}" if rest else ""
    return (
        f"{lead} At the {{term}}`tier` `{line.tier}` ({scale}) it is **{line.verdict}**: "
        f"{line.decided_by}{which} is {number(line.effect, '+.3f')} {bounds}{second}, "
        f"claimed {claimed}; {_theirs(line)}{beyond}."
    )


def _theirs(line) -> str:
    """Return what the paper's own printed numbers say to the effect."""
    if published_checks(PAPERS[line.paper].claims.CLAIMS) is None:
        return "the paper's own numbers are not at hand"
    if pd.isna(line.printed):
        return "the paper prints no numbers for this effect"
    whose = "" if line.tier == "paper" else ", of other networks and images,"
    return f"the paper's own numbers{whose} give {number(line.printed, '+.3f')}"


def heads(line, others: pd.DataFrame) -> str:
    """Return what must be said where numbers are of tier `frozen`; "" where none are.

    Parameters
    ----------
    line, others
        As in `was_found`.
    """
    if "frozen" not in {line.tier, *others["tier"]} or line.verdict == Verdict.NO_DATA:
        return ""
    return (
        "At the tier `frozen`, heads see the features of networks that have learnt ImageNet's "
        'classes: to these, "unknown" classes that are among them are not new '
        "({doc}`how it is measured <unknown_detection>`)."
    )


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


def would_settle(line) -> str:
    """Return what is missing for a verdict that holds of the paper's own networks and images.

    Parameters
    ----------
    line : a row of `glance.findings`
    """
    lead, last = "**What would settle it.**", largest_planned(line.paper)
    parts, what = missing(line), "the chapter's largest tier"
    if last == "paper":
        what = "the paper's own scale"
    if line.tier != last or line.verdict == Verdict.NO_DATA:
        command = f"`make run TIER={last} PAPER={line.paper}`"
        parts.append(f"{what}, {command} ({{doc}}`how to <how_to_run>`)")
    elif not parts:
        return f"{lead} This is {what}, and nothing speaks against the verdict."
    text = "; ".join(parts)
    return f"{lead} {text[0].upper()}{text[1:]}."


def to_do(line) -> str:
    """Return what to do now, as things stand.

    Parameters
    ----------
    line : a row of `glance.findings`
    """
    wait = f"Rely on neither side: measure it on your own model and images, as {_AUDIT} does."
    return f"**What to do now.** {_NOW.get(line.paper, {}).get(line.verdict, wait)}"


def missing(line) -> list[str]:
    """Return what would have to be there for a clear verdict at the line's own tier, in words."""
    others, doubt, reason = glance.reasons(line.note)
    if line.verdict == Verdict.NO_DATA:
        return []
    if line.verdict == Verdict.NOT_TESTABLE:
        return [f"networks of which this is no longer true: {reason}"]
    if line.verdict != Verdict.UNDECIDED:
        caveats = filter(None, line.caveat.split("; "))
        return [_MORE.get(one, f"more than {one}") for one in caveats]
    parts = []
    if pd.isna(line.low):
        parts.append("several runs, since there is no interval")
    elif line.low <= line.margin <= line.high:
        runs = "more than one run" if line.runs == 1 else "more runs"
        parts.append(f"{runs} or more images, since the interval reaches over the margin")
    if others:
        parts.append(f"agreement, since by themselves others are on the other side ({others})")
    if doubt:
        parts.append(f"numbers of which this is no longer true: {doubt}")
    if line.runs == 1 and not any("than one run" in part for part in parts):
        parts.append(_MORE["one run"])
    return parts


def largest_planned(paper: str) -> str:
    """Return the largest tier of which there are parameters for a paper."""
    return next(
        tier for tier in reversed(TIERS) if (ROOT / "params" / tier / f"{paper}.yaml").exists()
    )


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
