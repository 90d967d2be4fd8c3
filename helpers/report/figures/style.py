"""What all figures share: their look, and what they ask of the tables that they draw."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

# seaborn's palette "colorblind"
PALETTE = (
    "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc",
    "#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9",
)  # fmt: skip
BLUE, ORANGE, GREEN, RED, PURPLE = PALETTE[:5]
GREY = "#666666"
MARKERS = "oXs^Dv<P>*"
LINES = ("-", "--", ":", "-.")
# the palette in an order that brings its pale colours last
_CURVES = ("C0", "C1", "C2", "C3", "C4", "C5", "#222222", "C7", "C9", "C6")
# seaborn's context "paper" and style "ticks", where they differ from matplotlib's defaults, without
# the seconds that all notebooks together would need to import it; what is other than there, last
_DARK, _LIGHT = ".15", ".8"
_LOOK = {
    "axes.prop_cycle": plt.cycler(color=PALETTE),
    "axes.axisbelow": True,
    "axes.edgecolor": _DARK,
    "axes.labelcolor": _DARK,
    "axes.linewidth": 1.0,
    "font.sans-serif": ["Arial", "DejaVu Sans", "Liberation Sans", "Bitstream Vera Sans",
                        "sans-serif"],
    "grid.color": _LIGHT,
    "legend.title_fontsize": 9.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.8,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "patch.linewidth": 0.8,
    "text.color": _DARK,
    **{f"{axis}tick.color": _DARK for axis in "xy"},
    **{f"{axis}tick.major.size": 4.8 for axis in "xy"},
    **{f"{axis}tick.major.width": 1.0 for axis in "xy"},
    **{f"{axis}tick.minor.size": 3.2 for axis in "xy"},
    **{f"{axis}tick.minor.width": 0.8 for axis in "xy"},
    "figure.figsize": (6, 4),
    "figure.dpi": 144,
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.labelsize": 11,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.6,
}  # fmt: skip


def use_style() -> None:
    """Set one look for all figures: a colour-blind palette, and text that a phone can show.

    Figures are 6 inches wide with text of 11 points, so that on a screen of 390 pixels the text
    is still some 10 pixels high; 144 dots an inch keep lines sharp and files small.
    """
    plt.rcParams.update(_LOOK)


def curve_style(number: int, points: int) -> dict:
    """Return colour, line and marker of one of many curves of as many points.

    No two of the first twenty share line and marker.  Markers stand at shifted places, so that
    those of neighbouring curves do not hide each other.
    """
    step = max(1, points // 5)
    shift = number % len(MARKERS) / len(MARKERS)
    return {
        "color": _CURVES[number % len(_CURVES)],
        "linestyle": LINES[number % len(LINES)],
        "marker": MARKERS[number % len(MARKERS)],
        "markevery": (int(step * shift), step),
        "markersize": 5,
        "linewidth": 1.4,
    }


def axes_or_new(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Axes:
    """Return the Axes that a caller gave, or those of a new figure."""
    return plt.subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax


def grid_names(panels: Mapping[tuple[str, str], object]) -> tuple[list[str], list[str]]:
    """Return the first and the second names of a grid's panels in order; refuse one with gaps."""
    names = [list(dict.fromkeys(key[part] for key in panels)) for part in (0, 1)]
    missing = [key for key in product(*names) if key not in panels]
    if missing or not panels:
        raise ValueError(f"panels: missing {missing or 'all'}")
    return names[0], names[1]


def check_columns(name: str, table: pd.DataFrame, columns: list[str]) -> None:
    """Refuse a table that is empty or lacks a column, naming the argument and the column."""
    missing = [column for column in columns if column not in table]
    if missing:
        raise ValueError(f"{name}: no column {', '.join(missing)}")
    if table.empty:
        raise ValueError(f"{name}: empty")
