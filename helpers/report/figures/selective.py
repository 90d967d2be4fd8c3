"""Curves: risk against coverage, and loss and accuracy against the epoch."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers.checks import float_array
from helpers.report.figures.style import GREY, check_columns, curve_style, method_styles


def risk_coverage_curves(curves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Axes:
    """Draw the risk among the most confident images against their share, one curve per method.

    Two grey curves frame them, both of the first method: the error rate, which is the risk of an
    order by chance, and the ideal order, in which no wrong answer precedes a right one.  A method
    that is right more often may cross it.
    """
    if not curves:
        raise ValueError("curves: empty")
    ax = plt.subplots(figsize=(6, 4.8), layout="constrained")[1]
    top, frame = 0.0, None
    styles = method_styles(curves, max(len(coverage) for coverage, _ in curves.values()))
    for method, (coverage, risk) in curves.items():
        coverage = float_array(f"{method}, coverage", coverage)
        risk = float_array(f"{method}, risk", risk, length=len(coverage))
        ax.plot(coverage, risk, label=method, **styles[method])
        frame = frame or (coverage, np.maximum(0, 1 - (1 - risk[-1]) / coverage), risk[-1])
        top = max(top, *risk[coverage >= 0.05])
    ax.plot(*frame[:2], color=GREY, linewidth=1, linestyle="--", label="ideal order")
    ax.axhline(frame[2], color=GREY, linewidth=1, linestyle=":", label="error rate")
    # what the first few images happen to be must not set the scale
    ax.set(xlim=(0, 1), ylim=(0, 1.1 * top or 1), xlabel="coverage", ylabel="risk")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return ax


def learning_curves(table: pd.DataFrame) -> np.ndarray:
    """Draw loss and accuracy against the epoch, side by side."""
    check_columns("table", table, ["epoch", "loss", "accuracy"])
    axes = plt.subplots(1, 2, figsize=(6, 2.8), layout="constrained")[1]
    several = "network" in table
    groups = dict([*table.groupby("network", sort=False)]) if several else {"": table}
    styles = method_styles(groups) if several else {"": curve_style(0)}
    for name, style in styles.items():
        style = {part: style[part] for part in ("color", "linestyle")}
        for ax, column in zip(axes, ("loss", "accuracy"), strict=True):
            ax.plot(groups[name]["epoch"], groups[name][column], label=name, **style)
            ax.set(xlabel="epoch", title=column)
            ax.xaxis.get_major_locator().set_params(integer=True)
    if several:
        axes[1].legend(loc="lower right")
    return axes
