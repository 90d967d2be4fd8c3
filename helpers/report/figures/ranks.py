"""Figures of rank tests: which methods are told apart over many cases."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from helpers.metrics.ranks import groups
from helpers.report.figures.style import BLUE, GREY

_STEP = 0.5  # from one bar to the next, in lines of text
_LETTERS = 17  # of a name in one line; longer ones would leave the axis no room


def critical_difference(ranks: pd.Series, difference: float) -> Axes:
    """Draw a critical-difference diagram: mean ranks, and which methods do not differ.

    Methods hang from an axis of mean ranks, the better half on the right with the best on top,
    each with its mean rank.  A bar joins methods of which no two differ, with a dot on each;
    below, the difference that two methods need is drawn to the same scale.  Long names take
    several lines.

    Notes
    -----
    Demšar 2006, section 3.2.4.
    """
    bars = [ranks[list(group)] for group in groups(ranks, difference) if len(group) > 1]
    worst = len(ranks)
    if worst < 2:
        raise ValueError("ranks: two methods or more expected, got 1")
    levels = _levels(bars, gap=0.03 * (worst - 1))
    half = (worst + 1) // 2
    ranks = ranks.sort_values(kind="stable")
    names = [textwrap.fill(str(name), _LETTERS) for name in ranks.index]
    apart = 1 + max(name.count("\n") for name in names)  # from one label to the next
    # of the labels, in lines of text below the axis
    top = 0.9 + apart / 2 + _STEP * max(levels, default=0)
    scale = top + apart * (half - 0.5) + 0.8
    bottom = scale + 1.2
    # narrower than other figures: there is text on both sides, for a phone too
    ax = plt.subplots(figsize=(5, 0.21 * bottom + 0.55), layout="constrained")[1]

    text = {"textcoords": "offset points", "va": "center"}
    for place, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        # each side from its outermost rank inwards, so that no line crosses another
        if place < half:
            line, edge = top + apart * place, 1
            ax.annotate(f"{name}  {rank:.2f}", (edge, line), (4, 0), ha="left", **text)
        else:
            line, edge = top + apart * (worst - 1 - place), worst
            ax.annotate(f"{rank:.2f}  {name}", (edge, line), (-4, 0), ha="right", **text)
        ax.plot([rank, rank, edge], [0, line, line], color=GREY, linewidth=0.9)
    for bar, level in zip(bars, levels, strict=True):
        height = [0.6 + _STEP * level] * len(bar)
        ax.plot(bar, height, "o-", color=BLUE, linewidth=2.5, markersize=4.5)
    middle = (1 + worst) / 2
    ends = middle - difference / 2, middle + difference / 2
    ax.plot(ends, [scale, scale], "|-", color="black")
    ax.text(middle, scale + 0.3, f"critical difference {difference:.2f}", ha="center", va="top")

    # the difference of few cases may exceed the axis
    ax.set(xlim=(max(worst, ends[1]), min(1, ends[0])), ylim=(bottom, 0))
    ax.set(yticks=[], xticks=range(1, worst + 1, 1 + (worst - 1) // 4))
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("mean rank (1 is best)")
    ax.spines[["left", "right", "bottom"]].set_visible(False)
    ax.spines["top"].set(visible=True, bounds=(1, worst))
    return ax


def _levels(bars: Sequence[pd.Series], gap: float) -> list[int]:
    """Return the first level for each bar, best first, at which it is clear of those before."""
    levels, ends = [], []
    for bar in bars:
        clear = [level for level, end in enumerate(ends) if end + gap < bar.min()]
        levels.append(clear[0] if clear else len(ends))
        ends[levels[-1] : levels[-1] + 1] = [bar.max()]
    return levels
