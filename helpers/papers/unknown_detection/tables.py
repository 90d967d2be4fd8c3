"""Tables of unknown detection, as those of Kim et al. 2023: our numbers above the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from helpers.checks import known_name
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.report import published
from helpers.report.table import DOWN, TIMES, UP, Table, categories, mark_best, numbers
from helpers.report.tables import comparisons

_HEADINGS = {  # heading, scale, and 1 where more is better, -1 where less is
    "accuracy": (f"ACC {UP} (%)", 100, 1),
    "aurc": (f"AURC {DOWN} ({TIMES}1000)", 1000, -1),
    "fpr_at_tpr": (f"FPR at 95 % TPR {DOWN} (%)", 100, -1),
    "auroc": (f"AUROC {UP} (%)", 100, 1),
}
_TASKS = {("aurc", "union"): "unknown detection", ("aurc", "test"): "misclassification"}
_FIRST = (*_TASKS.values(), "test", "near")  # in the paper's order; all others follow
_MAIN = {  # heading, scale, pattern
    ("accuracy", "test"): ("accuracy, %", 100, ".1f"),
    ("aurc", "union"): ("AURC × 1000, unknown detection", 1000, ".0f"),
    ("aurc", "test"): ("AURC × 1000, misclassification", 1000, ".0f"),
    ("auroc", "near"): ("AUROC near-OOD, %", 100, ".1f"),
}


def detection(
    part: pd.DataFrame, *, metrics: Sequence[str], methods: Mapping[str, str] = METHODS
) -> Table:
    """Return a table of unknown detection.

    Each method has a row of ours (mean ± standard deviation over runs) and below it the paper's;
    one of the two is left out where it has no number at all.  Columns are the metrics on each of
    their test sets, scaled as in the paper, with two decimals.  Among ours and among the paper's
    the best of a column is bold, and the best without Outlier Exposure, which alone is trained
    with outliers, underlined.

    Parameters
    ----------
    part : DataFrame
        The rows of one data set and one backbone of a `comparison`, or of `printed_alone`.
    metrics : sequence of str
        Which of "accuracy", "aurc", "fpr_at_tpr" and "auroc" are shown, in this order.
    methods : mapping of str to str
        Names and titles of the methods, in the order of the rows; others are left out.

    Raises
    ------
    ValueError
        A metric is unknown, `part` has none of the numbers asked for, or it is empty or holds
        several data sets or backbones.
    """
    for metric in metrics:
        known_name("metric", metric, _HEADINGS)
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
    return Table(
        cells,
        ["method", "source"],
        ["metric", *sets],
        name=comparisons.name_of(part, *metrics),
        caption=f"{comparisons.caption_of(part)} {marks}",
        data=part,
    )


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return accuracy, AURC and near AUROC of the methods, the paper's of Table 5 in brackets.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and backbone.
    parameters
        Those that it was made with.
    """
    own = comparisons.comparison(
        table[table["variant"] == "primary"],
        published.load("unknown_detection").query("table == '5'"),
        published_as={parameters.data_set: "CIFAR-40"},
        families={parameters.network: "ResNet18"},
    )
    own = own[own["method"].isin(list(METHODS))]
    parts = []
    for (metric, test_set), (title, scale, pattern) in _MAIN.items():
        one = own[(own["metric"] == metric) & (own["test_set"] == test_set)]
        parts.append(one.assign(text=comparisons.numbers_beside(one, scale, pattern), head=title))
    cells = pd.concat(parts)
    cells["method"] = categories(cells["method"], METHODS)
    recipe = parameters.training | parameters.networks[parameters.network]
    caption = (
        f"Part of {parameters.data_set} known, the rest of its classes near-OOD, "
        f"{', '.join(parameters.far)} far-OOD; tier `{parameters.tier}` ({parameters.network}, "
        f"stem stride {recipe['stem_stride']}, {recipe['epochs']} "
        f"epochs): {comparisons.runs_in_words(cells)}; in brackets the paper's, at its full "
        "schedule and with its own far-OOD sets (its Table 5)."
    )
    return Table(
        cells,
        ["method"],
        ["head"],
        name=comparisons.name_of(own, "main"),
        caption=caption,
        data=own,
    )
