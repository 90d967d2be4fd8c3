"""Tables of numbers as heat maps, each number written in its cell."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

_DARK, _LIGHT = ".15", "white"


def heatmap(
    ax: Axes,
    values: pd.DataFrame,
    pattern: str = ".0f",
    *,
    bold: pd.DataFrame | None = None,
    slope: float = 45,
    fontsize: float = 8,
    **colours,
) -> None:
    """Draw a table as coloured cells, its rows downwards, with the numbers in them."""
    numbers = np.ma.masked_invalid(values.to_numpy(dtype=np.float64))
    mesh = ax.pcolormesh(numbers, edgecolors="white", linewidth=0.5, **colours)
    for row, column in np.argwhere(~np.ma.getmaskarray(numbers)):
        number = numbers[row, column]
        written = format(float(format(number, pattern)) + 0.0, pattern)  # no zero below zero
        red, green, blue = mesh.cmap(mesh.norm(number))[:3]
        bright = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.408
        ax.text(
            column + 0.5, row + 0.5, written.replace("-", "\N{MINUS SIGN}"), fontsize=fontsize,
            ha="center", va="center", color=_DARK if bright else _LIGHT,
            weight="bold" if bold is not None and bold.iloc[row, column] else "normal",
        )  # fmt: skip
    ax.set(xlim=(0, values.shape[1]), ylim=(len(values), 0))
    names = {"rotation": slope, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(np.arange(values.shape[1]) + 0.5, values.columns, **names)
    ax.set_yticks(np.arange(len(values)) + 0.5, values.index)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
