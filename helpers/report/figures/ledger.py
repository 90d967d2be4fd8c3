"""Figures of all papers together: verdicts on their claims, and their numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from helpers.report.claims import Verdict
from helpers.report.figures.claims import VERDICTS
from helpers.report.figures.style import (
    BLUE,
    GREEN,
    GREY,
    LIGHT,
    LINES,
    MARKERS,
    RED,
    axes_grid,
    check_columns,
    curve_style,
)

_BARS = {
    Verdict.SUPPORTED: (BLUE, ""),
    Verdict.CONTRADICTED: (RED, "////"),
    Verdict.UNDECIDED: (GREY, ".."),
    Verdict.NOT_TESTABLE: (LIGHT, ""),
    Verdict.NO_DATA: ("none", ""),
}
_BOX = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
_DERIVED = "^(rmse|pearson|spearman|predicted)_.*"
_FAR = 30  # clearances beyond are drawn here: sure is sure


def tally_bars(counts: pd.DataFrame, *, titles: Mapping[str, str]) -> Axes:
    """Draw how many claims of each paper the numbers of each tier support."""
    check_columns("counts", counts, [*map(str, Verdict)])
    places, heads = _grouped([paper for paper, _ in counts.index])
    ax = plt.subplots(figsize=(6, 0.21 * (places.max() + 1) + 1.0), layout="constrained")[1]
    left = np.zeros(len(counts))
    for verdict, (colour, hatch) in _BARS.items():
        widths = counts[str(verdict)].to_numpy()
        style = {"color": colour, "hatch": hatch, "edgecolor": "white" if hatch else GREY}
        bars = ax.barh(places, widths, 0.82, left=left, **style, linewidth=0.6)
        shown = [str(width) if width else "" for width in widths]
        ax.bar_label(bars, shown, label_type="center", fontsize="small", bbox=_BOX)
        left += widths
    _name_rows(ax, places, [tier for _, tier in counts.index], heads, titles)
    ax.set(xlabel="claims", xlim=(0, left.max() + 0.1))
    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white" if hatch else GREY, label=verdict)
        for verdict, (colour, hatch) in _BARS.items()
    ]
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.4, 1), ncols=3,
              columnspacing=1, handletextpad=0.4)  # fmt: skip
    return ax


def clearances(found: pd.DataFrame, *, titles: Mapping[str, str]) -> Axes:
    """Draw how far the effect that decides each claim lies from the margin, of each tier."""
    check_columns("found", found, ["paper", "claim", "tier", "verdict", "clearance"])
    claims = list(found.groupby(["paper", "claim"], sort=False).groups)
    places, heads = _grouped([paper for paper, _ in claims])
    place_of = dict(zip(claims, places, strict=True))
    ax = plt.subplots(figsize=(6, 0.21 * (places.max() + 1) + 1.3), layout="constrained")[1]
    drawn = found.dropna(subset="clearance")
    tiers = [tier for tier in dict.fromkeys(found["tier"]) if tier in set(drawn["tier"])]
    for row in drawn.itertuples():
        number, (_, colour) = tiers.index(row.tier), VERDICTS[row.verdict]
        x = np.clip(row.clearance, -_FAR, _FAR)
        y = place_of[row.paper, row.claim] + 0.6 * (number - (len(tiers) - 1) / 2) / len(tiers)
        ax.plot(x, y, MARKERS[number], color=colour, markersize=6, alpha=0.85)
    with_interval = set(zip(drawn["paper"], drawn["claim"], strict=True))
    for claim in (one for one in claims if one not in with_interval):  # a set has no fixed order
        ax.text(0, place_of[claim], "no interval", color=GREY, ha="center", va="center",
                fontsize=8, bbox=_BOX)  # fmt: skip
    ax.set_xscale("symlog", linthresh=1, linscale=1)
    ax.axvspan(1, 1.3 * _FAR, color=GREEN, alpha=0.12, linewidth=0, zorder=0)
    ax.axvspan(-1.3 * _FAR, -1, color=RED, alpha=0.1, linewidth=0, zorder=0)
    ax.axvline(0, linestyle=LINES[2], color=GREY, linewidth=1)
    ticks = [-_FAR, -10, -3, -1, 0, 1, 3, 10, _FAR]
    ax.set_xticks(ticks, [f"{tick:+d}" if tick else "margin" for tick in ticks], fontsize="small")
    ax.set(xlim=(-1.3 * _FAR, 1.3 * _FAR), xlabel="distance from the margin in halves of intervals")
    _name_rows(ax, places, [claim for _, claim in claims], heads, titles)
    plain = {"color": GREY, "linestyle": "none"}
    handles = [
        Line2D([], [], marker=MARKERS[n], label=tier, **plain) for n, tier in enumerate(tiers)
    ]
    handles += [Patch(color=colour, label=verdict) for verdict, (_, colour) in VERDICTS.items()]
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.35, 1), ncols=3)
    return ax


def counterpart_scatters(found: pd.DataFrame, *, titles: Mapping[str, str]) -> np.ndarray:
    """Draw our numbers against the printed ones, one panel for each paper."""
    check_columns("found", found, ["paper", "tier", "metric", "published", "reproduced"])
    papers = list(dict.fromkeys(found["paper"]))
    rows = -(-len(papers) // 2)
    axes = axes_grid(rows, 2, 4.4 * rows, 7.2)
    for ax in axes.flat[len(papers) :]:
        ax.remove()
    for paper, ax in zip(papers, axes.flat, strict=False):
        own = found[found["paper"] == paper]
        _scatter(own, ax)
        ax.set_title(titles[paper], loc="left", weight="bold")
    return axes.flatten()[: len(papers)]


def _scatter(own: pd.DataFrame, ax: Axes) -> None:
    last = own["tier"].iloc[-1]
    kinds = own["metric"].str.replace(_DERIVED, r"\1", regex=True)  # else more than fit a legend
    for number, (metric, points) in enumerate(own.groupby(kinds, sort=False)):
        look = curve_style(number)
        style = {"color": look["color"], "marker": look["marker"], "linestyle": "none"}
        for final, part in points.groupby(points["tier"] == last):
            face = {} if final else {"markerfacecolor": "none"}
            ax.plot(part["published"], part["reproduced"], **style, **face, markersize=4, alpha=0.7)
        ax.plot([], [], **style, label=metric)
    ends = own[["published", "reproduced"]].to_numpy(float)
    low, high = min(0.0, ends.min()), max(1.0, ends.max())
    ax.plot([low, high], [low, high], "--", color=GREY, linewidth=1, zorder=0)
    ax.set(aspect="equal", xlabel="published", ylabel="reproduced")
    others = ", ".join(tier for tier in dict.fromkeys(own["tier"]) if tier != last)
    key = f"filled: {last}" + (f", open: {others}" if others else "")
    ax.legend(title=key, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2,
              fontsize="small", title_fontsize="small")  # fmt: skip


def _grouped(papers: list[str]) -> tuple[np.ndarray, dict[str, float]]:
    """Return places of rows, with one left free above each paper, and where that is."""
    places, heads = [], {}
    for row, paper in enumerate(papers):
        heads.setdefault(paper, row + len(heads))
        places.append(row + len(heads))
    return np.array(places), heads


def _name_rows(
    ax: Axes, places: np.ndarray, names: list[str], heads: Mapping[str, float],
    titles: Mapping[str, str],
) -> None:  # fmt: skip
    ax.set_yticks(places, names, fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(places.max() + 0.6, -0.6)
    for paper, place in heads.items():
        ax.annotate(titles[paper], (0.01, place), xycoords=("axes fraction", "data"), weight="bold",
                    va="center", fontsize="small")  # fmt: skip
