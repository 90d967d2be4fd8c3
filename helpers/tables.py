"""Tables of results beside the papers' own numbers, for the page, LaTeX and CSV."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import pandas as pd
from pandas.io.formats.style import Styler

from helpers import results
from helpers.checks import known_name
from helpers.files import atomic_path

TITLES = {"brier": "Brier", "ece": "ECE", "accuracy": "Accuracy"}
"""The metrics that the paper's tables show, and how they are headed."""

_CELL = ["method", "calibration", "metric"]
_PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
_MINUS = "\N{MINUS SIGN}"
_DELTA = "\N{GREEK CAPITAL LETTER DELTA}"
_ABSENT = "\N{EN DASH}"
_LATEX = {"_": r"\_", _PLUS_MINUS: r"$\pm$", _MINUS: "$-$", _DELTA: r"$\Delta$", _ABSENT: "--"}
_LAYOUT = [
    {"selector": "", "props": "font-size: 0.8em; font-variant-numeric: tabular-nums;"},
    {"selector": "td, thead th", "props": "white-space: nowrap; text-align: right;"},
    {"selector": "thead tr:first-child th", "props": "text-align: center;"},
    {"selector": "td, th", "props": "padding: 0.2em 0.35em;"},
    {"selector": "caption", "props": "caption-side: bottom; text-align: left;"},
]


def overview(table: pd.DataFrame, metrics: Sequence[str]) -> Styler:
    """Return means and standard deviations over runs, metrics across.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and one variant.
    metrics : sequence of str
        The columns, in this order; a row lacks those that its method does not have.

    Raises
    ------
    ValueError
        No row of the table is of these metrics, or as `helpers.results.summary`.
    """
    summary = results.summary(table[table["metric"].isin(list(metrics))])
    shown = summary.assign(
        text=[_mean(mean, std) for mean, std in zip(summary["mean"], summary["std"], strict=True)]
    )
    index = ["data_set", "backbone", "method", "calibration"]
    order = pd.MultiIndex.from_frame(shown[index].drop_duplicates())
    wide = shown.set_index([*index, "metric"])["text"].unstack("metric")
    wide = wide.reindex(index=order, columns=list(metrics)).fillna(_ABSENT)
    behind = shown.set_index([*index, "metric"])["rows"].unstack("metric")
    layout = [one for one in _LAYOUT if "first-child" not in one["selector"]]
    layout.append({"selector": "th", "props": "white-space: nowrap; vertical-align: top;"})
    styled = Styler(wide, uuid="-".join(metrics)).set_table_styles(layout)
    return _traced(styled, behind)


def comparison(
    table: pd.DataFrame,
    published: pd.DataFrame,
    *,
    published_as: Mapping[str, str],
    families: Mapping[str, str],
) -> pd.DataFrame:
    """Put means over runs beside a paper's printed numbers.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and one variant; metrics that the paper does not print are
        left out.
    published : DataFrame
        From `helpers.published.load`.
    published_as : mapping of str to str
        Which of the paper's data sets each of ours is or stands in for, as in
        ``{"digits": "SVHN"}``.  A data set that is not named gets no numbers of the paper.
    families : mapping of str to str
        The same for backbones, as in ``{"resnet8": "ResNet"}``.

    Returns
    -------
    DataFrame
        One row per number, in the order of the paper's tables: ``table`` (the paper's, "" where
        there is none), ``tier``, ``data_set``, ``backbone``, ``paper_data_set``,
        ``paper_backbone``, ``method``, ``calibration``, ``metric``; ``mean``, ``std``, ``runs``
        and ``rows`` as in `helpers.results.summary`; ``paper``, the printed number (NaN where
        there is none), and ``difference``, our mean minus it.

    Raises
    ------
    ValueError
        The table mixes papers, tiers or variants, or a mapping leads to a name that the paper
        does not have.
    """
    for name, mapping, column in (
        ("data set of the paper", published_as, "data_set"),
        ("backbone of the paper", families, "backbone"),
    ):
        for theirs in mapping.values():
            known_name(name, theirs, published[column].unique())
    for column in ("paper", "tier", "variant"):
        if table[column].nunique() > 1:
            several = ", ".join(sorted(table[column].unique()))
            raise ValueError(f"table: several {column}s ({several}); choose one")

    ours = results.summary(table[table["metric"].isin(published["metric"])])
    ours["paper_data_set"] = ours["data_set"].map(published_as).fillna("")
    ours["paper_backbone"] = ours["backbone"].map(families).fillna("")
    theirs = published.rename(
        columns={"data_set": "paper_data_set", "backbone": "paper_backbone", "value": "printed"}
    ).assign(order=range(len(published)))
    joined = ours.merge(
        theirs.drop(columns="source"), how="left", on=["paper_data_set", "paper_backbone", *_CELL]
    )
    joined = joined.sort_values("order", kind="stable", na_position="last", ignore_index=True)
    joined["table"] = joined["table"].fillna("")
    # `paper` was the paper's name up to here; in what is shown it is the paper's number
    joined["paper"] = joined["printed"]
    joined["difference"] = joined["mean"] - joined["printed"]
    columns = ["table", "tier", "data_set", "backbone", "paper_data_set", "paper_backbone"]
    columns += [*_CELL, "mean", "std", "runs", "rows", "paper", "difference"]
    return joined[columns]


def caption(part: pd.DataFrame) -> str:
    """Return a complete caption for one data set and backbone of a `comparison`.

    It names the tier, the number of runs and, where ours stand in for the paper's, both.
    """
    first = _one_table(part)
    text = f"{first['data_set']} with {first['backbone']}, tier {first['tier']}"
    runs = sorted(part["runs"].unique())
    many = f"{runs[0]} run" if runs == [1] else f"{' to '.join(map(str, runs))} runs"
    spread = "" if runs == [1] else f"mean {_PLUS_MINUS} standard deviation over "
    if not first["table"]:
        return f"{text}: {spread}{many}; the paper has no such table."
    theirs = f"{first['paper_data_set']} with {first['paper_backbone']}"
    return (
        f"{text}, for the paper's {theirs}: {spread}{many}, beside the paper's Table"
        f" {first['table']}; {_DELTA} is ours {_MINUS} paper."
    )


def styler(part: pd.DataFrame) -> Styler:
    """Return the table of one data set and backbone, as it is shown on a page.

    Rows are methods before and after calibration; each metric has the columns "ours" (mean ±
    standard deviation over runs), "paper" and "Δ" (the difference), the latter two only where
    the paper has such a table.  Fractions keep three decimals, as in the paper.  No colour is
    set, so that the page's light or dark theme decides.  Under the pointer, a cell of ours names
    the rows of the results table that it is the mean of.

    Parameters
    ----------
    part : DataFrame
        The rows of one data set and one backbone of a `comparison`.

    Raises
    ------
    ValueError
        `part` is empty or holds several data sets or backbones.
    """
    # a fixed id: the same numbers give the same HTML
    name = _name(part)
    shown = Styler(_shown(part), uuid=name, caption=caption(part))
    titled = part.assign(metric=part["metric"].map(TITLES), kind="ours")
    behind = titled.set_index(["method", "calibration", "metric", "kind"])["rows"]
    styled = shown.hide(names=True).set_table_styles(_LAYOUT)
    return _traced(styled, behind.unstack(["metric", "kind"]))


def to_latex(part: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write the table of one data set and backbone for LaTeX (needs the package booktabs)."""
    shown = _shown(part).map(_latex).rename(index=_latex, columns=_latex)
    latex = (
        Styler(shown)
        .hide(names=True)
        .to_latex(
            hrules=True,
            caption=_latex(caption(part)),
            label=f"tab:{_name(part)}",
            position_float="centering",
            column_format="ll" + "r" * len(shown.columns),
            multirow_align="naive",  # anything else needs one more package
            multicol_align="c",
        )
    )
    with atomic_path(path) as temporary:
        temporary.write_text(latex, encoding="utf-8")


def to_csv(frame: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write a `comparison`, whole or in part, unrounded and with the rows behind each mean."""
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False)


def _traced(styled: Styler, rows: pd.DataFrame) -> Styler:
    """Let a cell show, under the pointer, the rows of the results table behind it."""
    rows = rows.reindex(index=styled.index, columns=styled.columns)
    text = rows.map(lambda names: "" if pd.isna(names) else f"rows {names}")
    return styled.set_tooltips(text, as_title_attribute=True)


def _one_table(part: pd.DataFrame) -> dict:
    """Return the first row of a part of a `comparison` that is one data set and backbone."""
    if part.empty:
        raise ValueError("part: empty")
    cells = part[["data_set", "backbone"]].drop_duplicates()
    if len(cells) > 1:
        several = "; ".join(", ".join(cell) for cell in cells.to_numpy())
        raise ValueError(f"part: one data set and backbone expected, got {several}")
    return part.iloc[0].to_dict()


def _name(part: pd.DataFrame) -> str:
    first = _one_table(part)
    return f"{first['tier']}-{first['data_set']}-{first['backbone']}"


def _shown(part: pd.DataFrame) -> pd.DataFrame:
    """Lay out one data set and backbone as text: methods down, metrics across."""
    kinds = ["ours", "paper", _DELTA] if _one_table(part)["table"] else ["ours"]
    part = part[part["metric"].isin(TITLES)]
    text = part.assign(
        metric=part["metric"].map(TITLES),
        ours=[_mean(mean, std) for mean, std in zip(part["mean"], part["std"], strict=True)],
        paper=part["paper"].map(lambda value: _number(value, ".3f")),
    )
    text[_DELTA] = part["difference"].map(lambda value: _number(value, "+.3f"))
    wide = text.set_index(["method", "calibration", "metric"])[kinds].unstack("metric")
    wide = wide.swaplevel(axis=1)
    titles = [title for title in TITLES.values() if title in set(text["metric"])]
    columns = pd.MultiIndex.from_product([titles, kinds])
    order = pd.MultiIndex.from_frame(text[["method", "calibration"]].drop_duplicates())
    return wide.reindex(index=order, columns=columns).fillna(_ABSENT)


def _number(value: float, pattern: str) -> str:
    return _ABSENT if pd.isna(value) else format(value, pattern).replace("-", _MINUS)


def _mean(mean: float, std: float) -> str:
    """Return mean ± standard deviation, or the mean alone where one run has no deviation.

    Examples
    --------
    >>> _mean(0.8136, 0.0123), _mean(0.8136, float("nan"))
    ('0.814 ± 0.012', '0.814')
    """
    shown = _number(mean, ".3f")
    return shown if pd.isna(std) else f"{shown} {_PLUS_MINUS} {_number(std, '.3f')}"


def _latex(text: str) -> str:
    """Return `text` with what LaTeX would misread replaced."""
    for plain, latex in _LATEX.items():
        text = text.replace(plain, latex)
    return text
