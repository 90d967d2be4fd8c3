"""Figures of how networks are trained."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from helpers.report.figures.style import check_columns, curve_style, method_styles


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
