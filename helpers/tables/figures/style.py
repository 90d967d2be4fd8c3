"""Common style of all figures, and checks of the tables that they draw."""

from __future__ import annotations

import re
from collections.abc import Iterable
from zlib import crc32

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib_inline import backend_inline

from helpers.files import content_of

# seaborn's palette "colorblind"
PALETTE = (
    "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc",
    "#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9",
)  # fmt: skip
BLUE, ORANGE, GREEN, RED, PURPLE = PALETTE[:5]
GREY = "#666666"
LIGHT = "#bbbbbb"
MARKERS = "oXs^Dv<P>*"
LINES = ("-", "--", ":", "-.")
# the palette with its pale colours at the end
_CURVES = (*PALETTE[:6], "#222222", PALETTE[7], PALETTE[9], PALETTE[6])
_DATA = content_of(__file__)
_NAMES = " ".join(_DATA["methods"]).replace("_", "").split()
_PLACES = {name: number for number, name in enumerate(_NAMES)}


def use_style() -> None:
    """Set one look for all figures: a colour-blind palette, and text that a phone can show.

    Notebooks store twice as many pixels as they show, which modern screens need.
    """
    plt.rcParams.update(_DATA["look"] | {"axes.prop_cycle": plt.cycler(color=PALETTE)})
    if "inline" in mpl.get_backend():
        backend_inline.set_matplotlib_formats("retina")


def curve_style(number: int, points: int = 1) -> dict:
    """Return colour, line and marker of one of many curves with `points` points each.

    No two of the first forty share line and marker, and no two of the first hundred share colour
    and marker. Neighbouring curves have their markers at different points.
    """
    row, column = divmod(number, len(_CURVES))
    mark = (row + column) % len(MARKERS)
    step = max(1, points // 5)
    return {
        "color": _CURVES[column],
        "linestyle": LINES[(mark + row) % len(LINES)],
        "marker": MARKERS[mark],
        "markevery": (step * mark // len(MARKERS), step),
        "markersize": 5,
        "linewidth": 1.4,
    }


def method_styles(names: Iterable[str], points: int = 1) -> dict[str, dict]:
    """Return colour, line and marker of methods: a method has one look in all figures.

    Examples
    --------
    >>> styles = method_styles(["msp", "my score"])
    >>> styles["msp"] == method_styles(["Energy", "Largest"])["Largest"], len(styles)
    (True, 2)
    """
    names = list(dict.fromkeys(names))
    looks: dict[str, int] = {}
    for name in names:
        bare = name.rpartition("(")[2].lower().replace("++", "pp")
        short = re.sub(r"[\W_]", "", bare)
        method = _DATA["titles"].get(short, short)
        if method in _PLACES:
            looks[name] = _PLACES[method]
    further = range(len(_NAMES), len(_CURVES) ** 2)
    for name in names:
        if name in looks:
            continue
        start = crc32(name.encode()) % len(further)
        order = [*further[start:], *further[:start]]
        free = [look for look in order if look not in looks.values()]
        looks[name] = min(free, key=lambda look: _likeness(look, looks.values()))
    return {name: curve_style(looks[name], points) for name in names}


def _likeness(number: int, others: Iterable[int]) -> int:
    """Return how often a look shares colour, or marker, with other looks."""
    look = curve_style(number)
    shared = 0
    for other in map(curve_style, others):
        shared += look["color"] == other["color"]
        shared += look["marker"] == other["marker"]
    return shared


def new_axes(figsize: tuple[float, float]) -> Axes:
    """Return the Axes of a new figure."""
    return plt.subplots(figsize=figsize, layout="constrained")[1]


def axes_grid(rows: int, columns: int, height: float, width: float, **shape) -> np.ndarray:
    """Return the Axes of a new figure in rows and columns, even if that is one."""
    shape |= {"figsize": (width, height), "layout": "constrained", "squeeze": False}
    return plt.subplots(rows, columns, **shape)[1]


def legend_above(ax: Axes, columns: int) -> None:
    """Put the legend of an Axes above it."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=columns)


def legend_outside(axes: np.ndarray, columns: int) -> None:
    """Put the legend of the first of several Axes above them all."""
    first = axes.flat[0]
    handles = first.get_legend_handles_labels()
    first.figure.legend(*handles, loc="outside upper center", ncols=columns)


def check_columns(name: str, table: pd.DataFrame, columns: Iterable[str]) -> None:
    """Refuse a table that is empty or lacks a column, naming the argument and the column."""
    missing = [column for column in columns if column not in table]
    if missing:
        raise ValueError(f"{name}: no column {', '.join(missing)}")
    if table.empty:
        raise ValueError(f"{name}: empty")
