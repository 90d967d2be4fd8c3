"""Tables of our own numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from pandas.io.formats.style import Styler

from helpers.report import results
from helpers.report.tables.cells import ABSENT, LAYOUT, mean_and_std, traced


def overview(table: pd.DataFrame, metrics: Sequence[str]) -> Styler:
    """Return means and standard deviations over runs, metrics across.

    Test sets go down, where there are several.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and one variant.
    metrics : sequence of str
        The columns, in this order; a row lacks those that its method does not have.

    Raises
    ------
    ValueError
        No row of the table is of these metrics, or as `helpers.report.results.summary`.
    """
    summary = results.summary(table[table["metric"].isin(list(metrics))])
    shown = summary.assign(
        text=[
            mean_and_std(mean, std)
            for mean, std in zip(summary["mean"], summary["std"], strict=True)
        ]
    )
    several = ["test_set"] if shown["test_set"].nunique() > 1 else []
    index = ["data_set", *several, "backbone", "method", "calibration"]
    order = pd.MultiIndex.from_frame(shown[index].drop_duplicates())
    wide = shown.set_index([*index, "metric"])["text"].unstack("metric")
    wide = wide.reindex(index=order, columns=list(metrics)).fillna(ABSENT)
    behind = shown.set_index([*index, "metric"])["rows"].unstack("metric")
    layout = [one for one in LAYOUT if "first-child" not in one["selector"]]
    layout.append({"selector": "th", "props": "white-space: nowrap; vertical-align: top;"})
    styled = Styler(wide, uuid="-".join(metrics)).set_table_styles(layout)
    return traced(styled, behind)
