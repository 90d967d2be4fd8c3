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
from matplotlib.ticker import MaxNLocator

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

#: Ticks of the axis of distances from a margin; beyond its ends, distances are at the ends.
TICKS = (-30, -5, -1, 0, 1, 5, 30)
_LABEL = "distance from the margin, in half intervals\n(logarithmic beyond ±1)"
_CLAIMED: dict[str, Any] = {"color": style.BLUE, "alpha": 0.12, "linewidth": 0}
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
    """Draw the effect that decides each claim, the claims of one paper below one another.

    Above each effect are its claim, its tier and the column ``sentence``.
    """
    columns = ["text", "tier", "sentence", "verdict", "effect", "low", "high", "relation", "margin"]
    style.check_columns("lines", lines, [*columns, "printed"])
    blocks = []
    for text, tier, sentence in lines[columns[:3]].itertuples(index=False):
        claim = fill(text, 74, break_on_hyphens=False)
        below = "\n" * (claim.count("\n") + 1)
        blocks.append((claim, below + fill(f"{tier}: {sentence}", 78)))
    # in inches
    ends = np.cumsum([0, *(0.2 * words.count("\n") + 0.66 for _, words in blocks)])
    height = ends[-1] + 1.4
    ax = plt.figure(figsize=(6.5, height), layout="none").add_axes(
        (0.01, 0.7 / height, 0.98, ends[-1] / height)
    )
    for row, (claim, words), top, end in zip(
        lines.itertuples(), blocks, ends, ends[1:], strict=False
    ):
        look: dict[str, Any] = {"va": "top", "linespacing": 1.2, "fontsize": 12}
        look["transform"] = ax.get_yaxis_transform()
        ax.text(0, top + 0.1, claim, weight="normal" if top else "bold", **look)
        ax.text(0, top + 0.1, words, color=style.GREY, **look)
        _decisive(row, end - 0.18, ax)
    draw_distances(ax)
    ax.set(ylim=(ends[-1], 0), yticks=[])
    ax.spines["left"].set_visible(False)
    handles: list[Artist] = [*_marks(set(lines["verdict"]))]
    if lines["printed"].notna().any():
        handles.append(Line2D([], [], **_PRINTED, label="paper, other data"))
    handles.append(Patch(**_CLAIMED, label="claimed"))
    ax.figure.legend(handles=handles, loc="upper center", ncols=3)
    return ax


def draw_distances(ax: Axes) -> None:
    """Prepare the x axis for distances from a margin, in half intervals."""
    ax.set_xscale("symlog", linthresh=1)
    ax.set_xticks(TICKS, [f"{tick:+d}".replace("-", "−") if tick else "0" for tick in TICKS])
    ax.set(xlim=(-40, 40), xlabel=_LABEL)


def _decisive(row, y: float, ax: Axes) -> None:
    """Draw one effect as its distance from the margin, in half intervals."""
    side = -1 if row.relation == "<" else 1
    values = side * (np.array([row.effect, row.low, row.high, row.printed], float) - row.margin)
    half = np.nan_to_num(row.high - row.low) / 2 or 1.0
    effect, low, high, printed = np.clip(values / half, TICKS[0], TICKS[-1])
    marker, colour, _ = VERDICTS[row.verdict]
    ax.fill_between([0, 40], y - 0.1, y + 0.1, **_CLAIMED)
    ax.vlines(TICKS, y - 0.1, y + 0.1, color=style.LIGHT, linewidth=1)
    ax.plot([low, high], [y, y], color=colour, linewidth=2.5)
    ax.plot(effect, y, marker, color=colour, markersize=8)
    if not np.isnan(printed):
        ax.plot(printed, y, **_PRINTED)


def tally_bars(counts: pd.DataFrame, *, titles: Mapping[str, str]) -> Axes:
    """Draw how many claims of each paper the numbers of each tier support."""
    style.check_columns("counts", counts, [*map(str, Verdict)])
    names = [", ".join(filter(None, (titles[paper], tier))) for paper, tier in counts.index]
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
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel="claims", xlim=(0, left.max() + 0.1), ylim=(len(counts) - 0.4, -0.6))
    ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return ax
