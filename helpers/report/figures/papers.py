"""Figures of our numbers beside the papers' own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from helpers.papers.openset_calibration.tables import TITLES
from helpers.report.figures.style import BLUE, GREY, MARKERS, RED, axes_or_new, check_columns

_BASELINE = "baseline"


def published_scatter(comparison: pd.DataFrame, *, metric: str, ax: Axes | None = None) -> Axes:
    """Draw our means against the paper's numbers; agreement is the diagonal.

    Parameters
    ----------
    comparison : DataFrame
        From `helpers.report.tables.comparisons`.  One marker shape per method; filled after
        calibration, open before it.  Bars are standard deviations over runs.
    metric : str
    ax : Axes, optional

    Raises
    ------
    ValueError
        No number of this metric has one of the paper's beside it.
    """
    part = comparison[(comparison["metric"] == metric) & comparison["paper"].notna()]
    if part.empty:
        raise ValueError(f"comparison: no {metric} beside a number of the paper")
    ax = axes_or_new(ax, figsize=(4.5, 4.5))
    handles = []
    for number, (method, own) in enumerate(part.groupby("method", sort=False)):
        style = {"color": f"C{number}", "marker": MARKERS[number], "linestyle": "none"}
        handles.append(Line2D([], [], label=method, **style))
        for calibration, points in own.groupby("calibration", sort=False):
            face = "white" if calibration == "before" else f"C{number}"
            ax.errorbar(
                points["paper"], points["mean"], points["std"].fillna(0), **style,
                markerfacecolor=face, elinewidth=0.8, markersize=7,
            )  # fmt: skip
    name = TITLES.get(metric, metric)
    largest = max(part["paper"].max(), (part["mean"] + part["std"].fillna(0)).max())
    end = 1.05 * largest if largest > 0 else 1.0
    ax.plot([0, end], [0, end], "--", color=GREY, linewidth=1, zorder=0)
    ax.set(xlim=(0, end), ylim=(0, end), aspect="equal")
    ax.set(xlabel=f"{name}, paper", ylabel=f"{name}, reproduced")
    if set(part["calibration"]) >= {"before", "after"}:
        plain = {"color": GREY, "marker": "o", "linestyle": "none"}
        handles.append(Line2D([], [], markerfacecolor="white", label="before scaling", **plain))
        handles.append(Line2D([], [], label="after scaling", **plain))
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def improvement(
    table: pd.DataFrame,
    published: pd.DataFrame,
    *,
    methods: Mapping[str, str],
    ax: Axes | None = None,
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
    ax : Axes, optional

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
    ax = axes_or_new(ax, figsize=(6, 0.42 * len(shown) + 1.4))
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
