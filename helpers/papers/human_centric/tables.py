"""Tables of detection error rates, as those of Zhu et al. 2022: scores on one model, and a zoo."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Mapping

import pandas as pd
from pandas.io.formats.style import Styler

from helpers.report import results
from helpers.report.tables.cells import (
    ABSENT,
    DOWN,
    LAYOUT,
    UP,
    latex_text,
    number,
    traced,
    write_latex,
)
from helpers.report.tables.comparisons import one_table

_RATES = ("der99", "der95")  # as the paper's cells have them
_MEANS = ("input-shifted", "label-shifted")  # means over sets, which the paper does not print
_ACCEPTING = "accept everything"
_LAYOUT = [
    *LAYOUT,
    {"selector": "tbody th", "props": "white-space: nowrap; text-align: left;"},
    {"selector": "tbody th", "props": "vertical-align: top; font-weight: normal;"},
]


def error_rates_styler(
    part: pd.DataFrame, table: pd.DataFrame, *, methods: Mapping[str, str]
) -> Styler:
    """Return the detection error rates of one model, as they are shown on a page.

    Each score has a row of ours and below it the paper's; one of the two is left out where it has
    no number at all.  Columns are test sets and, last, the average; a cell is "DER99 | DER95" in
    per cent, means over runs.  Among ours and among the paper's the lowest DER99 and the lowest
    DER95 of a column are bold.  The last row is the rule that accepts every image: it errs where
    the model does, and on all images of a label-shifted set.  No colour is set, so that the
    page's light or dark theme decides.  Under the pointer, a cell of ours names the rows of the
    results table behind it.

    Parameters
    ----------
    part : DataFrame
        The rows of one data set and one model of a `comparison`, or of `printed_alone`.
    table : DataFrame
        The results table that `part` is of, whose accuracies the last row is taken from; a test
        set without accuracy is a label-shifted one.  Without the accuracy of this model there is
        no such row.
    methods : mapping of str to str
        Names and titles of the scores, in the order of the rows; others are left out.

    Raises
    ------
    ValueError
        `part` has none of the numbers asked for, or it is empty or holds several data sets or
        models.
    """
    text, rows = _error_rates(part, table, methods, "<b>{}</b>".format)
    shown = Styler(text, uuid=_name(part), caption=error_rates_caption(part)).hide(names=True)
    for level in range(text.columns.nlevels):  # long names of data sets may be broken
        shown = shown.format_index(lambda name: name.replace("_", "_<wbr>"), axis=1, level=level)
    heads = {"selector": "thead th", "props": "white-space: normal;"}
    return traced(shown.set_table_styles([*_LAYOUT, heads]), rows)


def error_rates_to_latex(
    part: pd.DataFrame,
    table: pd.DataFrame,
    path: str | os.PathLike,
    *,
    methods: Mapping[str, str],
) -> None:
    """Write the table of `error_rates_styler` for LaTeX (needs the package booktabs)."""
    text, _ = _error_rates(part, table, methods, r"\textbf{{{}}}".format)
    text = text.map(lambda cell: cell.replace(ABSENT, "--").replace(" | ", r" $\mid$ "))
    write_latex(text, path, caption=error_rates_caption(part), label=_name(part))


def error_rates_caption(part: pd.DataFrame) -> str:
    """Return a complete caption for one data set and model of a `comparison`.

    It names the tier, the number of runs and the paper's table, and says what the cells hold.
    """
    first = one_table(part)
    theirs = f"Table {first['table']}, {first['paper_data_set']} with {first['paper_backbone']}"
    ours = f"{first['data_set']} with {first['backbone']}, tier {first['tier']}"
    if not first["runs"]:
        text = f"The paper's {theirs}, alone: there is no run of ours at this scale."
    elif first["table"]:
        text = f"{ours}: {_means(part)}, above the paper's {theirs}."
    else:
        text = f"{ours}: {_means(part)}; the paper has no such table."
    text += f" DER99 | DER95 in per cent {DOWN}; bold: lowest of the column."
    if _stand_ins(part):
        text += " Below a test set that stands in for one of the paper, that one is named."
    return text


def zoo_styler(table: pd.DataFrame, *, methods: Mapping[str, str]) -> Styler:
    """Return average DER99 of all scores on all models, as it is shown on a page.

    Rows are models, with their accuracy on the test images before the scores, all in per cent and
    means over runs.  The lowest of a model is bold.  Models that could not be evaluated come last,
    without numbers; the caption has what went wrong.  No colour is set, so that the page's light
    or dark theme decides.  Under the pointer, a cell names the rows of the results table that it
    is the mean of.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and variant.
    methods : mapping of str to str
        Names and titles of the scores, in the order of the columns; others are left out.

    Raises
    ------
    ValueError
        The table has none of the numbers asked for.
    """
    text, best, rows = _zoo(table, methods)
    css = best.map(lambda yes: "font-weight: bold;" if yes else "")
    caption = html.escape(zoo_caption(table), quote=False)
    shown = Styler(text, uuid="-".join(["zoo", *_tiers(table)]), caption=caption).hide(names=True)
    return traced(shown.set_table_styles(_LAYOUT).apply(lambda _: css, axis=None), rows)


def zoo_to_latex(
    table: pd.DataFrame, path: str | os.PathLike, *, methods: Mapping[str, str]
) -> None:
    """Write the table of `zoo_styler` for LaTeX (needs the package booktabs)."""
    text, best, _ = _zoo(table, methods)
    text = text.map(latex_text)
    text = text.where(~best, r"\textbf{" + text + "}")
    write_latex(text, path, caption=zoo_caption(table), label="-".join(["zoo", *_tiers(table)]))


def zoo_caption(table: pd.DataFrame) -> str:
    """Return a complete caption for the models of a results table, with what failed."""
    measured = results.summary(_zoo_rows(table))
    text = (
        f"Tier {', '.join(_tiers(table))}: accuracy {UP} and average DER99 {DOWN} in per cent,"
        f" {_means(measured)}. Bold: lowest of the model."
    )
    failed = table[table["metric"] == "failed"]
    of_models = failed["method"] == "network"
    models = failed[of_models].drop_duplicates(["data_set", "backbone"])
    messages = [f"{row.backbone} ({row.notes})" for row in models.itertuples()]
    text += f" Not evaluated: {'; '.join(messages)}." if messages else ""
    groups = failed[~of_models].groupby(["method", "notes"], sort=False)["backbone"]
    messages = [
        f"{method} of {', '.join(dict.fromkeys(names))} ({why})" for (method, why), names in groups
    ]
    return f"{text} Could not be had: {'; '.join(messages)}." if messages else text


def _error_rates(
    part: pd.DataFrame,
    table: pd.DataFrame,
    methods: Mapping[str, str],
    bold: Callable[[str], str],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Lay out text and the rows behind it: scores down, test sets across."""
    ours = part.assign(source="ours")
    theirs = part.assign(source="paper", mean=part["paper"], rows="")
    both = pd.concat([ours, theirs]).dropna(subset="mean")
    both = both[both["metric"].isin(_RATES) & ~both["test_set"].isin(_MEANS)]
    both = both[both["method"].isin(list(methods))]
    if both.empty:
        raise ValueError("part: no detection error rate of these scores")
    both["method"] = both["method"].map(methods)
    wide = both.set_index(["method", "source", "metric", "test_set"])[["mean", "rows"]]
    wide = wide.unstack(["metric", "test_set"])
    lines = [(title, source) for title in methods.values() for source in ("ours", "paper")]
    lines = pd.MultiIndex.from_tuples([line for line in lines if line in wide.index])
    found = both["test_set"].unique().tolist()
    sets = [name for name in found if name != "average"] + ["average"] * ("average" in found)
    cells = pd.MultiIndex.from_product([_RATES, sets])
    means, rows = (wide[kind].reindex(index=lines, columns=cells) for kind in ("mean", "rows"))
    text = means.map(lambda share: number(100 * share, ".2f"))
    text = text.where(~_lowest(means, 1), text.map(bold))
    text = text["der99"] + " | " + text["der95"]
    rows = (rows["der99"].fillna("") + " " + rows["der95"].fillna("")).map(str.strip)

    accuracy = _accuracies(part, table)
    if len(accuracy):
        errors = (1 - accuracy["mean"]).reindex(sets).fillna(1.0)
        errors["average"] = errors.drop("average", errors="ignore").mean()
        last = (_ACCEPTING, "ours")
        text.loc[last, :] = errors[sets].map(lambda share: number(100 * share, ".2f"))
        rows.loc[last, :] = accuracy["rows"].reindex(sets).fillna("")
    text = text.replace(f"{ABSENT} | {ABSENT}", ABSENT)
    heads = _heads(sets, _stand_ins(part))
    return text.set_axis(heads, axis=1), rows.where(rows != "").set_axis(heads, axis=1)


def _accuracies(part: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return mean accuracy, and the rows behind it, of the model of `part` by test set."""
    first = one_table(part)
    own = table[table["metric"] == "accuracy"]
    for name in ("data_set", "backbone"):
        own = own[own[name] == first[name]]
    return results.summary(own).set_index("test_set") if len(own) else own


def _heads(sets: list[str], stands_for: Mapping[str, str]) -> pd.Index:
    """Return what stands above each column: the test set, and what it stands in for."""
    if not stands_for:
        return pd.Index(sets)
    beside = [f"for {stands_for[name]}" if name in stands_for else "" for name in sets]
    return pd.MultiIndex.from_arrays([sets, beside])


def _stand_ins(part: pd.DataFrame) -> dict[str, str]:
    """Return the test sets whose numbers stand beside those of another set of the paper."""
    beside = part[part["paper"].notna() & (part["test_set"] != part["paper_test_set"])]
    return dict(zip(beside["test_set"], beside["paper_test_set"], strict=True))


def _zoo(
    table: pd.DataFrame, methods: Mapping[str, str]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Lay out text, marks of the lowest error rates, and rows behind: models down."""
    summary = results.summary(_zoo_rows(table))
    summary = summary[summary["method"].isin(["network", *methods])]
    if not summary["method"].isin(list(methods)).any():
        raise ValueError("table: no average der99 of these scores")
    titles = {"network": f"accuracy {UP}", **methods}
    failed = table[(table["metric"] == "failed") & (table["method"] == "network")]
    model = ["data_set", "backbone"] if table["data_set"].nunique() > 1 else ["backbone"]
    lines = pd.concat([summary, failed])[model].drop_duplicates()
    lines = pd.MultiIndex.from_frame(lines) if len(model) > 1 else pd.Index(lines["backbone"])
    wide = summary.set_index([*model, "method"])[["mean", "rows"]].unstack("method")
    columns = [name for name in titles if name in wide["mean"]]
    means, rows = (wide[kind].reindex(index=lines, columns=columns) for kind in ("mean", "rows"))
    scores = means.drop(columns="network", errors="ignore")
    best = _lowest(scores.T, None).T.reindex(columns=columns, fill_value=False)
    text = means.map(lambda share: number(100 * share, ".1f"))
    frames = (text, best, rows)
    return tuple(frame.rename(columns=titles).rename_axis(columns=None) for frame in frames)


def _zoo_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a results table that the zoo's table is made of."""
    error = (table["metric"] == "der99") & (table["test_set"] == "average")
    accuracy = (table["metric"] == "accuracy") & (table["test_set"] == "test")
    return table[error | accuracy]


def _lowest(shares: pd.DataFrame, level: int | None) -> pd.DataFrame:
    """Mark the lowest of each column (within each value of a level of the index, if one is given).

    Several that are the lowest are all marked, but none where all are the same.
    """
    groups = shares.groupby(level=level) if level is not None else shares.groupby(lambda _: 0)
    return shares.eq(groups.transform("min")) & groups.transform("min").lt(groups.transform("max"))


def _means(part: pd.DataFrame) -> str:
    """Return what the cells, which have no room for deviations, are the means of."""
    fewest, most = part["runs"].min(), part["runs"].max()
    if most == 1:
        return "1 run"
    return f"means over {most if fewest == most else f'{fewest} to {most}'} runs"


def _tiers(table: pd.DataFrame) -> list[str]:
    return sorted(table["tier"].unique())


def _name(part: pd.DataFrame) -> str:
    first = one_table(part)
    names = [first["tier"], first["data_set"], first["backbone"], "der"]
    return "-".join(filter(None, names))
