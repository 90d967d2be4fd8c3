"""Tables of unknown detection, as those of Kim et al. 2023: our numbers above the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.checks import known_name
from helpers.papers.unknown_detection import PAPER, composition
from helpers.papers.unknown_detection.authors import AUTHORS
from helpers.papers.unknown_detection.methods import title
from helpers.papers.unknown_detection.parameters import ASIDE, BY_IMAGENET, METHODS
from helpers.report import published, results
from helpers.report.table import DOWN, TIMES, UP, Table, categories, mark_best, numbers
from helpers.report.tables import comparisons

_HEADINGS = {  # heading, scale, and 1 where more is better, -1 where less is
    "accuracy": (f"ACC {UP} (%)", 100, 1),
    "aurc": (f"AURC {DOWN} ({TIMES}1000)", 1000, -1),
    "eaurc": (f"E-AURC {DOWN} ({TIMES}1000)", 1000, -1),
    "fpr_at_tpr": (f"FPR at 95 % TPR {DOWN} (%)", 100, -1),
    "auroc": (f"AUROC {UP} (%)", 100, 1),
}
_TASKS = {
    (metric, test_set): task
    for metric in ("aurc", "eaurc")
    for test_set, task in (
        ("union", "unknown detection"),
        (composition.PAPER_UNION, "unknown detection, the paper's shares"),
        ("test", "misclassification"),
    )
}
_DRAWS = 2000  # of runs and images, for an interval
_FIRST = (*dict.fromkeys(_TASKS.values()), "test", "near")  # as the paper; all others follow
_MAIN = {  # heading, scale, pattern
    ("accuracy", "test"): ("accuracy, %", 100, ".1f"),
    ("aurc", "union"): ("AURC × 1000, unknown detection", 1000, ".0f"),
    ("aurc", composition.PAPER_UNION): ("the same, the paper's shares of images", 1000, ".0f"),
    ("eaurc", "union"): ("E-AURC × 1000, unknown detection", 1000, ".0f"),
    ("aurc", "test"): ("AURC × 1000, misclassification", 1000, ".0f"),
    ("auroc", "near"): ("AUROC near-OOD, %", 100, ".1f"),
}


def beside(table: pd.DataFrame) -> pd.DataFrame:
    """Return a `comparison` of a results table with the paper's numbers, E-AURC among them.

    Where the shares of the kinds of images in the union are not the paper's, AURC of the two say
    little to each other, and E-AURC and the union `composition.PAPER_UNION` more.  Rows that the
    paper has no number beside are left out, but for those of further methods on its test sets; of
    `ASIDE`, which are not ranked by confidence, these are AUROC and FPR.  The column ``precision``
    says by which numbers the networks were trained.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and variant.
    """
    theirs = composition.printed(published.load("unknown_detection"))
    whole = comparisons.comparison(
        composition.with_excess(table),
        theirs,
        published_as=PAPER.published_as,
        families=PAPER.networks,
    )
    cell = ["data_set", "backbone", "test_set", "metric"]
    printed = pd.MultiIndex.from_frame(theirs[cell])
    cell = [f"paper_{name}" for name in cell[:3]] + cell[3:]
    more = pd.MultiIndex.from_frame(whole[cell]).isin(printed) & ~whole["method"].isin(METHODS)
    more &= ~whole["method"].isin(ASIDE) | whole["metric"].isin(["auroc", "fpr_at_tpr"])
    return whole[whole["paper"].notna() | more].assign(precision=precision(table))


def areas(table: pd.DataFrame) -> pd.DataFrame:
    """Return AURC and E-AURC of methods, × 1000, and below them the paper's of its Table 5.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier, data set, backbone and variant.
    """
    theirs = composition.printed(published.load("unknown_detection").query("table == '5'"))
    ours = composition.with_excess(table[~table["method"].isin(ASIDE)])
    both = pd.concat({"ours": ours, "paper": theirs}, names=["of"]).reset_index("of")
    both = both[both["metric"].isin(["aurc", "eaurc"])]
    both = both[both["test_set"].isin(["union", composition.PAPER_UNION, "test"])]
    cells = both.pivot_table("value", ["of", "method"], ["metric", "test_set"], sort=False)
    return (1000 * cells).round(0)


def detection(
    part: pd.DataFrame, *, metrics: Sequence[str], methods: Mapping[str, str] | None = None
) -> Table:
    """Return a table of unknown detection.

    Each method has a row of ours (mean ± standard deviation over runs) and below it the paper's;
    one of the two is left out where it has no number at all.  What others answered, see `yours`,
    has one row, "yours".  Columns are the metrics on each of
    their test sets, scaled as in the paper, with two decimals.  Among ours and among the paper's
    the best of a column is bold, and the best without Outlier Exposure, which alone is trained
    with outliers, underlined.

    Parameters
    ----------
    part : DataFrame
        The rows of one data set and one backbone of a `comparison`, or of `printed_alone`.
    metrics : sequence of str
        Which of "accuracy", "aurc", "eaurc", "fpr_at_tpr" and "auroc" are shown, in this order.
    methods : mapping of str to str, optional
        Names and titles of the methods, in the order of the rows; others are left out.  By default
        the paper's nine, and then all that there are.

    Raises
    ------
    ValueError
        A metric is unknown, `part` has none of the numbers asked for, or it is empty or holds
        several data sets or backbones.
    """
    for metric in metrics:
        known_name("metric", metric, _HEADINGS)
    if methods is None:
        methods = METHODS | {name: title(name) for name in part["method"].unique()}
    part = part[part["metric"].isin(list(metrics)) & part["method"].isin(list(methods))]
    if part.empty:
        raise ValueError("part: no number of these methods and metrics")
    cells, sets = comparisons.head_stand_ins(comparisons.stack_sources(part))
    _, scale, sign = zip(*cells["metric"].map(_HEADINGS), strict=True)
    rank = cells["mean"] * list(sign)
    among = [cells[name] for name in ("source", "metric", "test_set")]
    pairs = zip(cells["metric"], cells["test_set"], strict=True)
    tasks = pd.Series([_TASKS.get(pair, pair[1]) for pair in pairs])
    cells = cells.assign(
        text=numbers(cells, pd.Series(scale), ".2f"),
        bold=mark_best(rank, *among),
        underlined=mark_best(rank.where(cells["method"] != "outlier_exposure"), *among),
        method=categories(cells["method"], methods),
        metric=categories(cells["metric"], {name: _HEADINGS[name][0] for name in metrics}),
        test_set=categories(tasks, _FIRST),
    )
    marks = "Bold: best of the column; underlined: best without Outlier Exposure."
    if "smoothness" in set(part["method"]):
        marks += (
            f" {ASIDE['smoothness']} asks no network: what lies far from 50 % by it, on either"
            " side, can be told apart without one."
        )
    return Table(
        cells,
        ["method", "source"],
        ["metric", *sets],
        name=comparisons.name_of(part, *metrics),
        caption=" ".join([comparisons.caption_of(part), *part.get("precision", [])[:1], marks]),
        data=part,
    )


def as_authors(table: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers with the choices of the authors' code, and ours where these are the same.

    Parameters
    ----------
    table : DataFrame
        A results table, all variants.

    Returns
    -------
    DataFrame
        One variant, `authors.AUTHORS`: its own rows, and of ``primary`` all others.  Each keeps the
        name of the row that it is.
    """
    number = [name for name in results.IDENTITY if name != "variant"]
    theirs, ours = (table[table["variant"] == one] for one in (AUTHORS, "primary"))
    there = pd.MultiIndex.from_frame(theirs[number])
    same = ours[~pd.MultiIndex.from_frame(ours[number]).isin(there)]
    return pd.concat([same, theirs], ignore_index=True).assign(variant=AUTHORS)


def precision(table: pd.DataFrame) -> str:
    """Say in a sentence by which numbers networks were trained; the device's words tell.

    Examples
    --------
    >>> precision(pd.DataFrame({"device": ["cpu, 1 thread", "NVIDIA H200", "none"]}))
    'Trained with float32 (cpu, 1 thread), bfloat16 (NVIDIA H200); the paper with float32.'
    >>> precision(pd.DataFrame({"device": ["NVIDIA H200, float32"]}))
    'Trained with float32 (NVIDIA H200); the paper with float32.'
    """
    devices = [one for one in dict.fromkeys(table["device"]) if one != "none"]
    words = []
    for device in devices:
        plain = "float32" if device.startswith("cpu") else "bfloat16"
        named = next((p for p in ("float32", "bfloat16") if f", {p}" in device), plain)
        words.append(f"{named} ({device.replace(f', {named}', '')})")
    return f"Trained with {', '.join(words) or 'a precision not known'}; the paper with float32."


def by_imagenet(table: pd.DataFrame) -> pd.DataFrame:
    """Return AUROC against near classes that ImageNet has, and against those that it has not.

    What a network of ImageNet gains by having learnt classes that are "unknown" here, as far as the
    classes of both kinds are as hard otherwise.

    Parameters
    ----------
    table : DataFrame
        A results table, made with ``near_by_imagenet``.

    Returns
    -------
    DataFrame
        By method: means over runs of both in per cent, their ``difference``, and an interval of it,
        ``low`` to ``high``, at 95 %, over runs and test images.
    """
    own = table[(table["variant"] == "primary") & (table["metric"] == "auroc")]
    rows = {}
    for method, part in own[own["test_set"].isin(BY_IMAGENET)].groupby("method", sort=False):
        cells = {name: part[part["test_set"] == name].sort_values("run") for name in BY_IMAGENET}
        if any(one.empty for one in cells.values()):
            continue
        seen, new = (np.stack(cells[name]["bootstrap"].map(np.asarray)) for name in BY_IMAGENET)
        values = {name: one["value"].to_numpy() for name, one in cells.items()}
        each = values[BY_IMAGENET[0]] - values[BY_IMAGENET[1]]
        # runs share the test images, so that the images are drawn alike in all of them
        images = (seen - new).mean(axis=0)
        rng = np.random.default_rng(0)
        drawn = rng.choice(each, (_DRAWS, len(each))).mean(axis=1)
        drawn = drawn + rng.choice(images - images.mean(), _DRAWS)
        low, high = np.quantile(drawn, [0.025, 0.975])
        found = {name: one.mean() for name, one in values.items()}
        rows[method] = found | {"difference": each.mean(), "low": low, "high": high}
    return 100 * pd.DataFrame.from_dict(rows, orient="index")


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return accuracy, AURC and near AUROC of the methods, the paper's of Table 5 in brackets.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and backbone; rows of `yours` may be among them.
    parameters
        Those that it was made with.
    """
    table = table[table["variant"] == "primary"]
    own = beside(table)
    own = own[~own["method"].isin(ASIDE)]
    parts = []
    for (metric, test_set), (head, scale, pattern) in _MAIN.items():
        one = own[(own["metric"] == metric) & (own["test_set"] == test_set)]
        parts.append(one.assign(text=comparisons.numbers_beside(one, scale, pattern), head=head))
    cells = pd.concat(parts)
    titles = METHODS | {name: title(name) for name in cells["method"].unique()}
    cells["method"] = categories(cells["method"], titles)
    recipe = parameters.training | parameters.networks[parameters.network]
    stem = f"stem stride {recipe['stem_stride']}, " if "stem_stride" in recipe else ""
    caption = (
        f"Part of {parameters.data_set} known, the rest of its classes near-OOD, "
        f"{', '.join(parameters.far)} far-OOD; tier `{parameters.tier}` ({parameters.network}, "
        f"{stem}{recipe['epochs']} epochs): {comparisons.runs_in_words(cells)}; in brackets "
        "the paper's, at its full schedule and with its own far-OOD sets (its Table 5). An AURC "
        "grows with the share of unknown images, of which the paper's union has more; E-AURC is "
        f"what exceeds the least that any ranking could have. {precision(table)}"
    )
    if frozen := comparisons.frozen_in_words(parameters, table):
        caption += f" {frozen}"
    return Table(
        cells,
        ["method"],
        ["head"],
        name=comparisons.name_of(own, "main"),
        caption=caption,
        data=own,
    )
