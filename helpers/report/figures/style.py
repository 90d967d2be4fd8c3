"""What all figures share: their look, and what they ask of the tables that they draw."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import product
from zlib import crc32

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

# seaborn's palette "colorblind"
PALETTE = (
    "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc",
    "#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9",
)  # fmt: skip
BLUE, ORANGE, GREEN, RED, PURPLE = PALETTE[:5]
GREY = "#666666"
LIGHT = "#bbbbbb"
SMALLEST = 8  # points of the smallest letters in any figure
MARKERS = "oXs^Dv<P>*"
LINES = ("-", "--", ":", "-.")
# the palette in an order that brings its pale colours last
_CURVES = (*PALETTE[:6], "#222222", PALETTE[7], PALETTE[9], PALETTE[6])
# training algorithms and scores: a column is a colour, and what one figure often shows together
# stands in several; "-" is a free place
_METHODS = (
    "baseline crl edl mc_dropout ensemble augmix odin outlier_exposure openmax noise",
    "stylised mixup rnd adversarial oc mimo rbf spectral soft_labels autoaugment",
    "msp vim kl_matching energy react gradnorm knn dice mahalanobis max_logit",
    "jsd gap entropy jacobian gmm tta native rmds scale gen",
    "closed_set open_set she fdbd nnguide distillation ash - open_set_openmax -",
    "nci relation - mahalanobis_pp - vra rmds_pp - - -",
)
_PLACES = {name.replace("_", ""): place for place, name in enumerate(" ".join(_METHODS).split())}
_TITLES = {  # where a title is not the name with other spaces, or ends with it in brackets
    "adversarialtraining": "adversarial",
    "ashs": "ash",
    "augmentations": "tta",
    "deepensemble": "ensemble",
    "erm": "baseline",
    "jensenshannondivergence": "jsd",
    "largest": "msp",
    "largestprobability": "msp",
    "mahalanobisdistance": "mahalanobis",
    "maximumlogit": "maxlogit",
    "mls": "maxlogit",
    "relativemahalanobisdistance": "rmds",
    "softlabeler": "softlabels",
    "spectralnormalisation": "spectral",
    "stylisedimages": "stylised",
    "testtimeaugmentation": "tta",
}
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
    "figure.dpi": 96,
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

    Figures are 6 inches wide with text of 11 points: 15 pixels high on a large screen, 9 on one of
    390 pixels.  No notebook changes the 96 dots an inch, which keep files small.
    """
    plt.rcParams.update(_LOOK)


def curve_style(number: int, points: int = 1) -> dict:
    """Return colour, line and marker of one of many curves of as many points.

    Of the first forty no two share line and marker, and of the first hundred none colour and
    marker.  Markers stand at shifted places, so that those of neighbouring curves do not hide each
    other.
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
    """Return colour, line and marker of methods: what the papers use has one look in all figures.

    Examples
    --------
    >>> styles = method_styles(["msp", "my score"])
    >>> styles["msp"] == method_styles(["Energy", "Largest"])["Largest"], len(styles)
    (True, 2)
    """
    width, names = len(_CURVES), list(dict.fromkeys(names))
    places = {}
    for name in names:
        short = re.sub(r"[\W_]", "", name.rpartition("(")[2].lower().replace("++", "pp"))
        if (known := _TITLES.get(short, short)) in _PLACES:
            places[name] = _PLACES[known]
    below = range(width * len(_METHODS), width**2)
    for name in names:
        if name not in places:
            start = crc32(name.encode()) % len(below)
            ways = [way for way in (*below[start:], *below[:start]) if way not in places.values()]
            likeness = [_likeness(way, places.values()) for way in ways]
            places[name] = ways[likeness.index(min(likeness))]
    return {name: curve_style(places[name], points) for name in names}


def _likeness(place: int, others: Iterable[int]) -> int:
    """Return how often a look shares colour, or marker, with those of other places."""
    own, rest = curve_style(place), [curve_style(other) for other in others]
    return sum(own[part] == one[part] for one in rest for part in ("color", "marker"))


def axes_or_new(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Axes:
    """Return the Axes that a caller gave, or those of a new figure."""
    return plt.subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax


def axes_grid(rows: int, columns: int, height: float, width: float = 6, **shape) -> np.ndarray:
    """Return the Axes of a new figure in rows and columns, even if that is one."""
    shape |= {"figsize": (width, height), "layout": "constrained", "squeeze": False}
    return plt.subplots(rows, columns, **shape)[1]


def legend_outside(axes: np.ndarray, columns: int) -> None:
    """Put the legend of the first of several Axes above them all."""
    first = axes.flat[0]
    handles = first.get_legend_handles_labels()
    first.figure.legend(*handles, loc="outside upper center", ncols=columns)


def grid_names(panels: Mapping[tuple[str, str], object]) -> tuple[list[str], list[str]]:
    """Return the first and the second names of a grid's panels in order; refuse one with gaps."""
    names = [list(dict.fromkeys(key[part] for key in panels)) for part in (0, 1)]
    missing = [key for key in product(*names) if key not in panels]
    if missing or not panels:
        raise ValueError(f"panels: missing {missing or 'all'}")
    return names[0], names[1]


def check_columns(name: str, table: pd.DataFrame, columns: Iterable[str]) -> None:
    """Refuse a table that is empty or lacks a column, naming the argument and the column."""
    missing = [column for column in columns if column not in table]
    if missing:
        raise ValueError(f"{name}: no column {', '.join(missing)}")
    if table.empty:
        raise ValueError(f"{name}: empty")


def refuse_several(name: str, table: pd.DataFrame, *columns: str) -> None:
    """Refuse a table whose rows one figure would mix, naming the argument and what it mixes."""
    for column in columns:
        if table[column].nunique() > 1:
            several = ", ".join(map(str, table[column].unique()))
            raise ValueError(f"{name}: several of {column} ({several}); choose one")
