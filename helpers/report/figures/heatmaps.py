"""Tables of numbers as heat maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from helpers.checks import float_array
from helpers.report.figures.style import axes_grid, grid_names

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


_NAME = 0.13  # inches that the name of a row or a column takes; if not all fit, none is given


def softmax_heatmaps(
    panels: Mapping[tuple[str, str], np.ndarray],
    *,
    columns: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    same: Mapping[str, Sequence[Sequence[int]]],
) -> np.ndarray:
    """Draw the mean softmax of unknown classes over known ones, a panel per method and OOD set.

    Each panel's title names the known class that gets most, on average over the rows.  Rows and
    columns are named where there is room: for some 20 columns, that is with two methods.
    """
    methods, sets = grid_names(panels)
    shares = {key: float_array(f"panels: {key}", share, ndim=2) for key, share in panels.items()}
    for (_, ood), share in shares.items():
        if share.shape != (len(rows.get(ood, ())), len(columns)):
            raise ValueError(f"panels: {ood}: one row and column per name, got {share.shape}")
    heights = [min(max(_NAME * len(rows[ood]), 1), 2.4) for ood in sets]
    shape = {"height_ratios": heights, "sharex": True, "sharey": "row"}
    axes = axes_grid(len(sets), len(methods), sum(heights) + 0.45 * len(sets) + 1.6, **shape)
    figure = axes[0, 0].figure
    largest = max(np.max(share) for share in shares.values())  # one scale, to compare them
    for (row, column), ax in np.ndenumerate(axes):
        ood, share = sets[row], shares[methods[column], sets[row]]
        image = ax.imshow(share, cmap="cividis", vmin=0, vmax=largest, aspect="auto")
        most = share.mean(axis=0)
        title = f"most: {columns[most.argmax()]}, {most.max():.2f}"
        ax.set_title(title if row else f"{methods[column]}\n{title}", fontsize="small")
        _frame(ax, same.get(ood, ()))
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0, labelsize="small")
        if not column:
            fits = _NAME * len(rows[ood]) <= heights[row] + 1e-9
            ax.set_yticks(*(range(len(rows[ood])), rows[ood]) if fits else ([],))
            ax.set_ylabel(ood if fits else f"{ood}, {len(rows[ood])} classes")
    for ax in axes[-1]:
        fits = _NAME * len(columns) <= 5.3 / len(methods)
        ax.set_xticks(*(range(len(columns)), columns) if fits else ([],))
        ax.tick_params(axis="x", labelrotation=90)
        ax.set_xlabel("known class" if fits else f"{len(columns)} known classes")
    bar = {"location": "bottom", "aspect": 40, "shrink": 0.7, "pad": 0.02}
    figure.colorbar(image, ax=axes, label="mean probability", **bar)
    figure.align_ylabels(axes[:, 0])
    return axes


def _frame(ax: Axes, own: Sequence[Sequence[int]]) -> None:
    """Frame the cells of each row's own superclass, those of neighbouring rows together."""
    cells = enumerate(map(list, own))
    for columns, run in groupby(cells, key=lambda cell: cell[1]):
        first, *_ = height = [row for row, _ in run]
        if columns:
            style = {"edgecolor": "white", "linewidth": 1.4, "fill": False}
            corner, width = (columns[0] - 0.5, first - 0.5), columns[-1] - columns[0] + 1
            ax.add_patch(Rectangle(corner, width, len(height), **style))
