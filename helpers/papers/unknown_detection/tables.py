"""Tables of unknown detection, as those of Kim et al. 2023: our numbers above the paper's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import pandas as pd
from pandas.io.formats.style import Styler

from helpers.checks import known_name
from helpers.report.tables.cells import (
    ABSENT,
    DOWN,
    LAYOUT,
    TIMES,
    UP,
    latex_text,
    mean_and_std,
    traced,
    write_latex,
)
from helpers.report.tables.comparisons import one_table, runs_in_words

_HEADINGS = {  # heading, scale, and 1 where more is better, -1 where less is
    "accuracy": (f"ACC {UP} (%)", 100, 1),
    "aurc": (f"AURC {DOWN} ({TIMES}1000)", 1000, -1),
    "fpr_at_tpr": (f"FPR at 95 % TPR {DOWN} (%)", 100, -1),
    "auroc": (f"AUROC {UP} (%)", 100, 1),
}
_TASKS = {("aurc", "union"): "unknown detection", ("aurc", "test"): "misclassification"}
_FIRST = ("union", "test", "near")  # test sets in the paper's order; all others follow
_WITH_OUTLIERS = "outlier_exposure"
_LAYOUT = [
    *LAYOUT,
    {"selector": "tbody th", "props": "white-space: nowrap; text-align: left;"},
    {"selector": "tbody th", "props": "vertical-align: top; font-weight: normal;"},
    {"selector": "thead tr:not(:first-child) th", "props": "white-space: normal;"},
]


def detection_styler(
    part: pd.DataFrame, *, methods: Mapping[str, str], metrics: Sequence[str]
) -> Styler:
    """Return a table of unknown detection, as it is shown on a page.

    Each method has a row of ours (mean ± standard deviation over runs) and below it the paper's;
    one of the two is left out where it has no number at all.  Columns are the metrics on each of
    their test sets, scaled as in the paper, with two decimals.  Among ours and among the paper's
    the best of a column is bold, and the best without Outlier Exposure, which alone is trained
    with outliers, underlined.  No colour is set, so that the page's light or dark theme decides.
    Under the pointer, a cell of ours names the rows of the results table that it is the mean of.

    Parameters
    ----------
    part : DataFrame
        The rows of one data set and one backbone of a `comparison`, or of `printed_alone`.
    methods : mapping of str to str
        Names and titles of the methods, in the order of the rows; others are left out.
    metrics : sequence of str
        Which of "accuracy", "aurc", "fpr_at_tpr" and "auroc" are shown, in this order.

    Raises
    ------
    ValueError
        A metric is unknown, `part` has none of the numbers asked for, or it is empty or holds
        several data sets or backbones.
    """
    text, best, best_without, rows = _shown(part, methods, metrics)
    css = best.map(lambda yes: "font-weight: bold;" if yes else "")
    css += best_without.map(lambda yes: "text-decoration: underline;" if yes else "")
    caption = detection_caption(part, metrics=metrics)
    shown = Styler(text, uuid=_name(part, metrics), caption=caption).hide(names=True)
    shown = shown.set_table_styles(_LAYOUT).apply(lambda _: css, axis=None)
    for level in range(1, text.columns.nlevels):  # long names of data sets may be broken
        shown = shown.format_index(lambda name: name.replace("_", "_<wbr>"), axis=1, level=level)
    return traced(shown, rows)


def detection_to_latex(
    part: pd.DataFrame,
    path: str | os.PathLike,
    *,
    methods: Mapping[str, str],
    metrics: Sequence[str],
) -> None:
    """Write the table of `detection_styler` for LaTeX (needs the package booktabs)."""
    text, best, best_without, _ = _shown(part, methods, metrics)
    text = text.map(latex_text)
    text = text.where(~best_without, r"\underline{" + text + "}")
    text = text.where(~best, r"\textbf{" + text + "}")
    caption = detection_caption(part, metrics=metrics)
    write_latex(text, path, caption=caption, label=_name(part, metrics))


def detection_caption(part: pd.DataFrame, *, metrics: Sequence[str]) -> str:
    """Return a complete caption for one data set and backbone of a `comparison`.

    It names the tier, the number of runs and the paper's table, and says what the marks mean.
    """
    first = one_table(part)
    theirs = f"Table {first['table']}, {first['paper_data_set']} with {first['paper_backbone']}"
    ours = f"{first['data_set']} with {first['backbone']}, tier {first['tier']}"
    if not first["runs"]:
        text = f"The paper's {theirs}, alone: there is no run of ours at this scale."
    elif first["table"]:
        text = f"{ours}: {runs_in_words(part)}, above the paper's {theirs}."
    else:
        text = f"{ours}: {runs_in_words(part)}; the paper has no such table."
    if _stand_ins(part, metrics):
        text += " Below a test set that stands in for one of the paper, that one is named."
    return f"{text} Bold: best of the column; underlined: best without Outlier Exposure."


def _shown(
    part: pd.DataFrame, methods: Mapping[str, str], metrics: Sequence[str]
) -> tuple[pd.DataFrame, ...]:
    """Lay out text, marks of the best and of the best without outliers, and rows behind."""
    for metric in metrics:
        known_name("metric", metric, _HEADINGS)
    ours = part.assign(source="ours")
    theirs = part.assign(source="paper", mean=part["paper"], std=part["paper_std"], rows="")
    both = pd.concat([ours, theirs]).dropna(subset="mean")
    both = both[both["metric"].isin(list(metrics)) & both["method"].isin(list(methods))]
    if both.empty:
        raise ValueError("part: no number of these methods and metrics")
    scale = both["metric"].map({name: scale for name, (_, scale, _) in _HEADINGS.items()})
    sign = both["metric"].map({name: sign for name, (_, _, sign) in _HEADINGS.items()})
    numbers = zip(scale * both["mean"], scale * both["std"], strict=True)
    both = both.assign(
        text=[mean_and_std(mean, std, ".2f") for mean, std in numbers],
        rank=sign * both["mean"],
        method=both["method"].map(methods),
    )
    cells = both.set_index(["method", "source", "metric", "test_set"])
    wide = cells[["text", "rank", "rows"]].unstack(["metric", "test_set"])
    found = both["test_set"].unique().tolist()
    order = [name for name in _FIRST if name in found]
    order += [name for name in found if name not in order]
    columns = [(metric, name) for metric in metrics for name in order]
    columns = [column for column in columns if column in wide["rank"]]
    sources = ("ours", "paper")
    lines = [(title, source) for title in methods.values() for source in sources]
    lines = [line for line in lines if line in wide.index]
    text, rank, rows = (wide[kind].reindex(lines)[columns] for kind in ("text", "rank", "rows"))
    untaught = rank[rank.index.get_level_values("method") != methods.get(_WITH_OUTLIERS)]
    marks = (_best(rank), _best(untaught).reindex(rank.index, fill_value=False))
    heads = pd.MultiIndex.from_tuples(_heads(columns, _stand_ins(part, metrics)))
    return tuple(frame.set_axis(heads, axis=1) for frame in (text.fillna(ABSENT), *marks, rows))


def _best(rank: pd.DataFrame) -> pd.DataFrame:
    """Mark the highest of each column, among ours and among the paper's.

    Several that are the best are all marked, but none where all are the same.
    """
    groups = rank.groupby(level="source")
    return rank.eq(groups.transform("max")) & groups.transform("min").lt(groups.transform("max"))


def _heads(columns: Sequence[tuple[str, str]], stands_for: Mapping[str, str]) -> list[tuple]:
    """Return what stands above each column: the metric, the test set, what it stands in for."""
    heads = []
    for metric, test_set in columns:
        head = (_HEADINGS[metric][0], _TASKS.get((metric, test_set), test_set))
        beside = f"for {stands_for[test_set]}" if test_set in stands_for else ""
        heads.append((*head, beside) if stands_for else head)
    return heads


def _stand_ins(part: pd.DataFrame, metrics: Sequence[str]) -> dict[str, str]:
    """Return the test sets whose numbers stand beside those of another set of the paper."""
    beside = part[part["metric"].isin(list(metrics)) & part["paper"].notna()]
    beside = beside[beside["test_set"] != beside["paper_test_set"]]
    return dict(zip(beside["test_set"], beside["paper_test_set"], strict=True))


def _name(part: pd.DataFrame, metrics: Sequence[str]) -> str:
    first = one_table(part)
    return "-".join(filter(None, [first["tier"], first["data_set"], first["backbone"], *metrics]))
