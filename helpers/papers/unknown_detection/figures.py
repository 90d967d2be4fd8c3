"""Figure of the improvement over the baseline, beside the paper's own."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers.report.figures.style import BLUE, GREY, RED, check_columns

_BASELINE = "baseline"


def improvement(
    table: pd.DataFrame, published: pd.DataFrame, *, methods: Mapping[str, str]
) -> Axes:
    """Draw by how much each method lowers the AURC of unknown detection, in percent.

    The improvement is (AURC of the baseline − AURC of the method) / AURC of the baseline.  Ours
    is taken run by run, each against the baseline of the same run: a bar for the mean and a dot
    for each run.  The paper's is taken from its printed means, since it prints no runs; each of
    its data sets has a marker of its own.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier, variant, data set and backbone; its rows with the metric
        "aurc" and the test set "union" are used.
    published : DataFrame
        From `helpers.report.published.load`, or a part of it; may be empty.
    methods : mapping of str to str
        Names and titles of the methods, in the order in which they are shown.  "baseline" gets
        no bar, and a method that neither has gets no place.

    Raises
    ------
    ValueError
        The table has no AURC of the baseline and another method in one run, or several of one.
    """
    check_columns("table", table, ["run", "method", "metric", "test_set", "value"])
    ours = _gain(table, "run")
    if ours.empty:
        raise ValueError("table: no aurc of baseline and another method on the test set union")
    theirs = _gain(published, "data_set")
    shown = [m for m in methods if m != _BASELINE and (m in ours.columns or m in theirs.columns)]
    ax = plt.subplots(figsize=(6, 0.42 * len(shown) + 1.4), layout="constrained")[1]
    places = np.arange(len(shown))
    ours, theirs = ours.reindex(columns=shown), theirs.reindex(columns=shown)
    handles = [ax.barh(places, ours.mean(), 0.62, color=BLUE, alpha=0.55, label="ours, mean")]
    dots = ax.plot(ours.T, places, "o", color=BLUE, markersize=4, label="ours, each run")
    handles.append(dots[0])
    for marker, (data_set, means) in zip("DsP^", theirs.iterrows(), strict=False):
        style = {"color": RED, "markerfacecolor": "white", "markersize": 7, "markeredgewidth": 1.4}
        handles += ax.plot(means, places, marker, **style, label=f"paper, {data_set}")
    ax.axvline(0, color=GREY, linewidth=1)
    ax.set_yticks(places, [methods[method] for method in shown])
    ax.set(ylim=(len(shown) - 0.5, -0.5), xlabel="AURC improved over the baseline (%)")
    ax.tick_params(axis="y", length=0)
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def _gain(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the improvement of the union's AURC in percent, methods across, one row per `by`."""
    part = table[(table["metric"] == "aurc") & (table["test_set"] == "union")]
    if part.duplicated([by, "method"]).any():
        raise ValueError(
            f"table: several aurc of one method and {by}; choose one tier, data set, backbone and"
            " variant"
        )
    aurc = part.pivot(index=by, columns="method", values="value")
    if _BASELINE not in aurc:
        return pd.DataFrame()
    reference = aurc.pop(_BASELINE)
    return (100 * aurc.rsub(reference, axis=0).div(reference, axis=0)).dropna(how="all")
