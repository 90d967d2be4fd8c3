"""Figures of open-set recognition: what a parameter moves, and our numbers beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from helpers.checks import float_array
from helpers.metrics import ReliabilityCurve
from helpers.papers.openset_calibration.tables import TITLES
from helpers.report.figures.style import GREY, LINES, method_styles


def reliability_curves(table: pd.DataFrame) -> dict[tuple[str, str], ReliabilityCurve]:
    """Return the paper's figure 1 as a results table has it, the images of all runs together.

    Parameters
    ----------
    table : DataFrame
        Rows of one data set, one network and one variant.

    Returns
    -------
    dict of (method, calibration) to ReliabilityCurve
        In the order of the table; empty where the table has no bins, as older ones.
    """
    names = table["metric"].str.extract(r"^(?P<of>\w+)_in_bin_(?P<bin>\d+)_of_(?P<bins>\d+)$")
    rows = table.join(names).dropna(subset="of").astype({"bin": int, "bins": int})
    curves = {}
    for panel, part in rows.groupby(["method", "calibration"], sort=False):
        part = part.assign(total=part["value"] * part["images"])
        sums = part.pivot_table(
            index="bin", columns="of", values=["total", "images"], aggfunc="sum"
        )
        count, upper = sums["images", "accuracy"], sums.index.to_numpy()
        edges = np.column_stack([upper - 1, upper]) / part["bins"].iloc[0]
        confidence, accuracy = (
            (sums["total", of] / count).to_numpy() for of in ("confidence", "accuracy")
        )
        curves[panel] = ReliabilityCurve(edges, confidence, accuracy, count.to_numpy())
    return curves


def sweep(
    values, curves: Mapping[str, np.ndarray], *, parameter: str, chosen: float, unknown: float
) -> Axes:
    """Draw what happens when a parameter of an open-set method moves.

    Parameters
    ----------
    values : array_like, shape [T]
        Of the parameter.  If they span more than two decades, their axis is logarithmic.
    curves : mapping of str to array_like, shape [T]
        What becomes of each quantity: shares of the test images, calibration errors.
    parameter : str
        What is moved.
    chosen : float
        The value that is used, marked by a vertical line.
    unknown : float
        Share of images of unknown classes: the accuracy of refusing everything.

    Raises
    ------
    ValueError
        NaN, empty, or arrays of different lengths.
    """
    values = float_array(parameter, values)
    ax = plt.subplots(layout="constrained")[1]
    for number, (name, curve) in enumerate(curves.items()):
        curve = float_array(name, curve, length=len(values))
        ax.plot(values, curve, LINES[number], color=f"C{number}", label=name, linewidth=2)
    ax.axvline(chosen, color=GREY, linewidth=1.2, label=f"chosen, {chosen:.3g}")
    ax.axhline(unknown, color="C0", linewidth=1, dashes=(1, 3), label="refusing everything")
    if values.min() > 0 and values.max() > 100 * values.min():
        ax.set_xscale("log")
    ax.set(xlabel=parameter, ylabel="share of test images, ECE", ylim=(0, 1))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def published_scatter(comparison: pd.DataFrame, *, metric: str) -> Axes:
    """Draw our means against the paper's numbers; agreement is the diagonal.

    Parameters
    ----------
    comparison : DataFrame
        From `helpers.report.tables.comparisons`.  One marker shape per method;
        filled after calibration, open before it.  Bars are standard deviations over runs.
    metric : str

    Raises
    ------
    ValueError
        No number of this metric has one of the paper's beside it.
    """
    part = comparison[(comparison["metric"] == metric) & comparison["paper"].notna()]
    if part.empty:
        raise ValueError(f"comparison: no {metric} beside a number of the paper")
    ax = plt.subplots(figsize=(4.5, 4.5), layout="constrained")[1]
    handles = []
    styles = method_styles(part["method"])
    for method, own in part.groupby("method", sort=False):
        style = {key: styles[method][key] for key in ("color", "marker")} | {"linestyle": "none"}
        handles.append(Line2D([], [], label=method, **style))
        for calibration, points in own.groupby("calibration", sort=False):
            face = "white" if calibration == "before" else style["color"]
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
