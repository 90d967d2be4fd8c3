"""Figures of the benchmarks: how many times as fast as others, and how the cost grows."""

from __future__ import annotations

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers.report.figures.style import BLUE, GREY, RED, check_columns, method_styles

_NAMED = 6  # scores
_WIDTH = 36  # letters in a line of a label: more than half of the figure is left for the ratios


def speed_ratios(comparisons: pd.DataFrame) -> Axes:
    """Draw how many times as fast as each peer, on a logarithmic axis, and what was aimed at.

    Parameters
    ----------
    comparisons : DataFrame
        A row per comparison: ``work``, ``peer``, ``ratio``, ``low``, ``high``, ``wanted``.  Rows
        without a ratio, which are not measured yet, are left out.

    Raises
    ------
    ValueError
        A column is missing, or nothing is measured.
    """
    columns = ["work", "peer", "ratio", "low", "high", "wanted"]
    check_columns("comparisons", comparisons, columns)
    measured = comparisons.dropna(subset="ratio")[::-1]
    if measured.empty:
        raise ValueError("comparisons: at least one with a ratio expected")
    labels = [fill(f"{one.work} · {one.peer}", _WIDTH) for one in measured.itertuples()]
    lines = np.array([label.count("\n") + 1.6 for label in labels])  # with room between them
    ax = plt.subplots(figsize=(6, 0.8 + 0.13 * lines.sum()), layout="constrained")[1]
    places = np.cumsum(lines) - lines / 2
    reached = (measured["ratio"] >= measured["wanted"]).to_numpy()
    for which, colour, marker, label in (
        (reached, BLUE, "o", "as fast as wanted, or faster"),
        (~reached, RED, "X", "slower than wanted"),
    ):
        some = measured[which]
        if some.empty:
            continue
        ax.hlines(places[which], some["low"], some["high"], color=colour, linewidth=2)
        ax.plot(some["ratio"], places[which], marker, color=colour, markersize=6, label=label)
    ax.plot(measured["wanted"], places, "|", color="black", markersize=11, label="wanted")
    ax.axvline(1, color=GREY, linewidth=1)
    ax.set_xscale("log")
    ax.set_yticks(places, labels, fontsize=8)
    ax.set_ylim(0, lines.sum())
    ax.set_xlabel("times as fast (median and range of the rounds)")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.grid(axis="x", alpha=0.3)
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize="small")
    return ax


def growth_exponents(costs: pd.DataFrame) -> pd.Series:
    """Return with which power of the number of images each cost grows, by least squares.

    Parameters
    ----------
    costs : DataFrame
        ``score``, ``step``, ``images``, ``seconds``: several numbers of images for each score
        and step.

    Returns
    -------
    Series of float64
        By score and step.

    Examples
    --------
    >>> costs = pd.DataFrame({"score": "msp", "step": "score", "images": [100, 200, 400]})
    >>> growth_exponents(costs.assign(seconds=[1.0, 2.0, 4.0])).round(3).to_dict()
    {('msp', 'score'): 1.0}
    """
    check_columns("costs", costs, ["score", "step", "images", "seconds"])
    slopes = {
        pair: np.polyfit(np.log(rows["images"]), np.log(rows["seconds"]), 1)[0]
        for pair, rows in costs.groupby(["score", "step"])
    }
    return pd.Series(slopes, dtype=np.float64)


def growth_curves(costs: pd.DataFrame) -> np.ndarray:
    """Draw seconds against images on logarithmic axes, a panel for each step.

    Parameters
    ----------
    costs : DataFrame
        As in `growth_exponents`.  The slowest six scores of a step have a colour and a name, the
        others are grey.

    Returns
    -------
    ndarray of Axes
        One for each step, in the order of the table; a dashed line has the slope of 1.

    Raises
    ------
    ValueError
        A column is missing.
    """
    check_columns("costs", costs, ["score", "step", "images", "seconds"])
    steps = costs["step"].unique()
    _, axes = plt.subplots(1, len(steps), figsize=(4 * len(steps), 4.4), squeeze=False)
    for ax, step in zip(axes[0], steps, strict=True):
        part = costs[costs["step"] == step]
        slowest = part.groupby("score")["seconds"].max().nlargest(_NAMED).index
        others = sorted({*part["score"]} - {*slowest})
        others = {score: {"color": "#bbbbbb", "label": ""} for score in others}
        styles = method_styles(slowest, part["images"].nunique())
        for score, style in (others | styles).items():
            rows = part[part["score"] == score]
            ax.plot(rows["images"], rows["seconds"], **{"label": score, "linewidth": 1} | style)
        ends = np.array([part["images"].min(), part["images"].max()])
        start = part.loc[part["images"] == ends[0], "seconds"].median()
        ax.plot(ends, start * ends / ends[0], "--", color="black", linewidth=1, label="slope 1")
        ax.set(xscale="log", yscale="log", title=step, xlabel="images", ylabel="seconds")
        ax.xaxis.set_minor_formatter("")
        ax.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)
    return axes[0]
