"""Tables of our own numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from helpers.report import results
from helpers.report.table import Table, categories, numbers
from helpers.report.tables.comparisons import runs_in_words


def overview(table: pd.DataFrame, metrics: Sequence[str]) -> Table:
    """Return means and standard deviations over runs, metrics across.

    Test sets go down, where there are several.
    """
    means = results.summary(table[table["metric"].isin(list(metrics))])
    cells = means.assign(text=numbers(means), metric=categories(means["metric"], metrics))
    several = ["test_set"] if cells["test_set"].nunique() > 1 else []
    return Table(
        cells,
        ["data_set", *several, "backbone", "method", "calibration"],
        ["metric"],
        name="-".join(metrics),
        caption=f"{runs_in_words(means).capitalize()}.",
        data=means,
        named=True,
    )
