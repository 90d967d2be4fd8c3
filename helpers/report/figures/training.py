"""Figures of how networks are trained."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from helpers.report.figures.style import LINES, check_columns


def learning_curves(table: pd.DataFrame, *, axes: np.ndarray | None = None) -> np.ndarray:
    """Draw loss and accuracy against the epoch, side by side.

    Parameters
    ----------
    table : DataFrame
        ``epoch``, ``loss``, ``accuracy``, as `helpers.training` returns it; tables of several
        networks may be put one below another with a column ``network`` that tells them apart.
    axes : ndarray of Axes, shape [2], optional

    Raises
    ------
    ValueError
        The table is empty or lacks a column.
    """
    check_columns("table", table, ["epoch", "loss", "accuracy"])
    if axes is None:
        axes = plt.subplots(1, 2, figsize=(6, 2.8), layout="constrained")[1]
    groups = table.groupby("network", sort=False) if "network" in table else [(None, table)]
    for number, (name, curve) in enumerate(groups):
        line = LINES[number % len(LINES)]
        for ax, column in zip(axes, ("loss", "accuracy"), strict=True):
            ax.plot(curve["epoch"], curve[column], linestyle=line, color=f"C{number}", label=name)
            ax.set(xlabel="epoch", title=column)
            ax.xaxis.get_major_locator().set_params(integer=True)
    if "network" in table:
        axes[1].legend(loc="lower right")
    return axes
