"""Figures of the papers' claims and the verdicts of this project."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import helpers.tables.figures.style as style
from synthesis.effects import Verdict

#: Marker, colour and hatch of each verdict.
VERDICTS = {
    Verdict.SUPPORTED: ("o", style.BLUE, ""),
    Verdict.CONTRADICTED: ("X", style.RED, "////"),
    Verdict.UNDECIDED: ("s", style.GREY, ".."),
    Verdict.NOT_TESTABLE: ("d", style.LIGHT, ""),
    Verdict.NO_DATA: ("", "none", ""),
}

_CLAIMED: dict[str, Any] = {"color": style.GREEN, "alpha": 0.12, "linewidth": 0}
_PRINTED: dict[str, Any] = {
    "marker": "D",
    "color": style.ORANGE,
    "markerfacecolor": "none",
    "linestyle": "none",
    "markersize": 8,
}


def _marks(verdicts: Collection[Verdict]) -> list[Line2D]:
    """Return the entries of a legend for verdicts that have numbers."""
    return [
        Line2D([], [], marker=marker, color=colour, linestyle="none", markersize=8, label=verdict)
        for verdict, (marker, colour, _) in VERDICTS.items()
        if marker and verdict in verdicts
    ]


def decisive_effects(lines: pd.DataFrame) -> Axes:
    """Draw the effect that decides each claim, the claims of one paper below one another."""
    from helpers.tables.table import number  # needs Jinja2; other figures do not

    columns = ["text", "tier", "verdict", "effect", "low", "high", "relation", "margin", "printed"]
    style.check_columns("lines", lines, columns)
    names = [fill(text, 33) for text in lines["text"]]
    heights = [0.165 * (name.count("\n") + 3) + 0.16 for name in names]
    top = sum(heights) + 0.75
    ax = plt.figure(figsize=(4.5, top), layout="none").add_axes(
        (0.65, 0.02 / top, 0.34, sum(heights) / top)
    )
    ends = np.cumsum([0, *heights])
    for row, name, start, end in zip(lines.itertuples(), names, ends, ends[1:], strict=False):
        _decisive(row, (start + end) / 2, ax)
        text: dict[str, Any] = {"va": "top", "transform": ax.get_yaxis_transform()}
        weight = "normal" if start else "bold"
        ax.text(-1.88, start + 0.06, name, weight=weight, fontsize=10, **text)
        effect, low, high, printed = (
            number(value, "+.3f") for value in (row.effect, row.low, row.high, row.printed)
        )
        numbers = f"{row.tier}: {effect}" + ("" if pd.isna(row.low) else f" [{low}, {high}]")
        numbers += f"\nclaimed {row.relation} {number(row.margin, 'g')}"
        numbers += "" if pd.isna(row.printed) else f", paper {printed}"
        below = start + 0.07 + 0.165 * (name.count("\n") + 1)
        ax.text(-1.88, below, numbers, color=style.GREY, fontsize=9, **text)
    ax.axvline(0, linestyle=":", color=style.GREY, linewidth=1)
    ax.axvspan(0, 1.15, **_CLAIMED, zorder=0)
    ax.set(xlim=(-1.15, 1.15), ylim=(ends[-1], 0))
    ax.set_axis_off()
    handles: list[Artist] = [*_marks(set(lines["verdict"]))]
    if lines["printed"].notna().any():
        handles.append(Line2D([], [], **_PRINTED, label="paper, other data"))
    handles.append(Patch(**_CLAIMED, label="claimed"))
    ax.figure.legend(handles=handles, loc="upper left", ncols=3, columnspacing=1, handletextpad=0.3)
    return ax


def _decisive(row, y: float, ax: Axes) -> None:
    """Draw one effect from its margin, in units of the largest distance in its row."""
    side = -1 if row.relation == "<" else 1
    values = side * (np.array([row.effect, row.low, row.high, row.printed], float) - row.margin)
    unit = np.nanmax(np.abs(values)) or 1.0
    effect, low, high, printed = values / unit
    marker, colour, _ = VERDICTS[row.verdict]
    ax.plot([low, high], [y, y], color=colour, linewidth=2.5)
    ax.plot(effect, y, marker, color=colour, markersize=8)
    if not np.isnan(printed):
        ax.plot(printed, y, **_PRINTED)


def tally_bars(counts: pd.DataFrame, *, titles: Mapping[str, str]) -> Axes:
    """Draw how many claims of each paper the numbers of each tier support."""
    style.check_columns("counts", counts, [*map(str, Verdict)])
    names = [f"{titles[paper]}, {tier}" for paper, tier in counts.index]
    size = (6, 0.21 * len(counts) + 1.0)
    ax = plt.subplots(figsize=size, layout="constrained")[1]
    left = np.zeros(len(counts))
    for verdict, (_, colour, hatch) in VERDICTS.items():
        widths = counts[str(verdict)].to_numpy()
        edge = "white" if hatch else style.GREY
        look: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": edge}
        look |= {"label": verdict, "linewidth": 0.6}
        bars = ax.barh(range(len(counts)), widths, 0.82, left=left, **look)
        box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        shown = [str(width) if width else "" for width in widths]
        ax.bar_label(bars, shown, label_type="center", fontsize="small", bbox=box | {"alpha": 0.85})
        left += widths
    ax.set_yticks(range(len(counts)), names, fontsize="small")
    ax.set(xlabel="claims", xlim=(0, left.max() + 0.1), ylim=(len(counts) - 0.4, -0.6))
    ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return ax
