"""Tables of calibration errors, as those of Lyu et al. 2022: ours, the paper's, the difference."""

from __future__ import annotations

import os

import pandas as pd
from pandas.io.formats.style import Styler

from helpers.report.tables.cells import (
    ABSENT,
    DELTA,
    LAYOUT,
    MINUS,
    latex_text,
    mean_and_std,
    number,
    traced,
    write_latex,
)
from helpers.report.tables.comparisons import one_table, runs_in_words

TITLES = {"brier": "Brier", "ece": "ECE", "accuracy": "Accuracy"}
"""The metrics that the paper's tables show, and how they are headed."""


def caption(part: pd.DataFrame) -> str:
    """Return a complete caption for one data set and backbone of a `comparison`.

    It names the tier, the number of runs and, where ours stand in for the paper's, both.
    """
    first = one_table(part)
    text = f"{first['data_set']} with {first['backbone']}, tier {first['tier']}"
    if not first["table"]:
        return f"{text}: {runs_in_words(part)}; the paper has no such table."
    theirs = f"{first['paper_data_set']} with {first['paper_backbone']}"
    return (
        f"{text}, for the paper's {theirs}: {runs_in_words(part)}, beside the paper's Table"
        f" {first['table']}; {DELTA} is ours {MINUS} paper."
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
    styled = shown.hide(names=True).set_table_styles(LAYOUT)
    return traced(styled, behind.unstack(["metric", "kind"]))


def to_latex(part: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write the table of one data set and backbone for LaTeX (needs the package booktabs)."""
    shown = _shown(part).map(latex_text)
    write_latex(shown, path, caption=caption(part), label=_name(part))


def _name(part: pd.DataFrame) -> str:
    first = one_table(part)
    return f"{first['tier']}-{first['data_set']}-{first['backbone']}"


def _shown(part: pd.DataFrame) -> pd.DataFrame:
    """Lay out one data set and backbone as text: methods down, metrics across."""
    kinds = ["ours", "paper", DELTA] if one_table(part)["table"] else ["ours"]
    part = part[part["metric"].isin(TITLES)]
    text = part.assign(
        metric=part["metric"].map(TITLES),
        ours=[mean_and_std(mean, std) for mean, std in zip(part["mean"], part["std"], strict=True)],
        paper=part["paper"].map(lambda value: number(value, ".3f")),
    )
    text[DELTA] = part["difference"].map(lambda value: number(value, "+.3f"))
    wide = text.set_index(["method", "calibration", "metric"])[kinds].unstack("metric")
    wide = wide.swaplevel(axis=1)
    titles = [title for title in TITLES.values() if title in set(text["metric"])]
    columns = pd.MultiIndex.from_product([titles, kinds])
    order = pd.MultiIndex.from_frame(text[["method", "calibration"]].drop_duplicates())
    return wide.reindex(index=order, columns=columns).fillna(ABSENT)
