"""Figures of the papers' claims and numbers, and of the verdicts of this project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from helpers.report.claims import ALL, Verdict
from helpers.report.figures.style import (
    BLUE,
    GREEN,
    GREY,
    LIGHT,
    LINES,
    MARKERS,
    ORANGE,
    RED,
    axes_grid,
    check_columns,
    curve_style,
)

VERDICTS = {
    Verdict.SUPPORTED: ("o", BLUE),
    Verdict.CONTRADICTED: ("X", RED),
    Verdict.UNDECIDED: ("s", GREY),
    Verdict.NOT_TESTABLE: ("d", LIGHT),
}
"""Marker and colour of each verdict that has numbers."""

_COLUMNS = ("claim", "check", "data_set", "backbone", "effect", "low", "high", "relation", "margin")


def claim_intervals(checks: pd.DataFrame) -> np.ndarray:
    """Draw every effect with its interval and the side of the margin where it is claimed.

    For claims of few effects on several data sets and backbones; many effects are more easily
    read in `claim_effects`.
    """
    check_columns("checks", checks, [*_COLUMNS, "decides", "verdict"])
    blocks = [block for _, block in checks.groupby(["claim", "check"], sort=False)]
    axes = _panels(checks, list(map(len, blocks)))
    for block, ax in zip(blocks, axes, strict=True):
        pooled = block["data_set"] == ALL
        block = pd.concat([block[pooled], block[~pooled]])
        cells = block[["data_set", "backbone"]].itertuples(index=False)
        names = ["all" if cell[0] == ALL else ", ".join(cell) for cell in cells]
        first = block.iloc[0]
        title = first["check"] + ("" if first["decides"] else " (reported only)")
        _intervals(block, names, title, ax)
    return axes


def claim_effects(checks: pd.DataFrame) -> np.ndarray:
    """Draw the effects of each claim below one another, over all data sets and backbones."""
    check_columns("checks", checks, [*_COLUMNS, "decides", "verdict"])
    pooled = checks[checks["data_set"] == ALL]
    blocks = [block for _, block in pooled.groupby(["claim", "relation", "margin"], sort=False)]
    heads = [_names(block) for block in blocks]
    axes = _panels(checks, [sum(1 + name.count("\n") for name in names) for names, _ in heads])
    for block, (names, title), ax in zip(blocks, heads, axes, strict=True):
        _intervals(block, names, title, ax)
        ax.locator_params(axis="x", nbins=5)  # long names leave it little width
    return axes


def decisive_effects(lines: pd.DataFrame) -> Axes:
    """Draw the effect that decides each claim, claims of one paper below one another."""
    from helpers.report.table import number  # which wants Jinja2; other figures do without

    columns = ["text", "tier", "verdict", "effect", "low", "high", "relation", "margin", "printed"]
    check_columns("lines", lines, columns)
    names = [fill(text, 33) for text in lines["text"]]
    heights = [0.165 * (name.count("\n") + 3) + 0.16 for name in names]
    fig = plt.figure(figsize=(4.5, sum(heights) + 0.75), layout="none")
    top = fig.get_figheight()
    ax = fig.add_axes((0.65, 0.02 / top, 0.34, sum(heights) / top))
    at = 0.0
    for row, name, height in zip(lines.itertuples(), names, heights, strict=True):
        _decisive(row, at + height / 2, ax)
        words = {"x": -1.88, "va": "top", "transform": ax.get_yaxis_transform()}
        weight = "normal" if at else "bold"
        ax.text(y=at + 0.06, s=name, weight=weight, fontsize=10, **words)
        said = name.count("\n") + 1
        bounds = f" [{number(row.low, '+.3f')}, {number(row.high, '+.3f')}]"
        theirs = "" if pd.isna(row.printed) else f", paper {number(row.printed, '+.3f')}"
        found = number(row.effect, "+.3f") + ("" if pd.isna(row.low) else bounds)
        claimed = f"claimed {row.relation} {number(row.margin, 'g')}"
        numbers = f"{row.tier}: {found}\n{claimed}{theirs}"
        ax.text(y=at + 0.07 + 0.165 * said, s=numbers, color=GREY, fontsize=9, **words)
        at += height
    ax.axvline(0, linestyle=":", color=GREY, linewidth=1)
    ax.axvspan(0, 1.15, color=GREEN, alpha=0.12, linewidth=0, zorder=0)
    ax.set(xlim=(-1.15, 1.15), ylim=(at, 0))
    ax.set_axis_off()
    shown = [one for one in VERDICTS if one in set(lines["verdict"])]
    plain = {"linestyle": "none", "markersize": 8}
    handles = [
        Line2D([], [], marker=VERDICTS[one][0], color=VERDICTS[one][1], label=str(one), **plain)
        for one in shown
    ]
    if lines["printed"].notna().any():
        handles.append(Line2D([], [], **_PRINTED, **plain, label="paper, other data"))
    handles.append(Patch(color=GREEN, alpha=0.12, label="claimed"))
    fig.legend(handles=handles, loc="upper left", ncols=3, columnspacing=1, handletextpad=0.3)
    return ax


_PRINTED = {"marker": "D", "color": ORANGE, "markerfacecolor": "none"}


def _decisive(row, y: float, ax: Axes) -> None:
    """Draw one effect from its margin, in units of the largest distance in its row."""
    side = -1 if row.relation == "<" else 1
    values = {name: side * (getattr(row, name) - row.margin)
              for name in ("effect", "low", "high", "printed")}  # fmt: skip
    unit = max((abs(one) for one in values.values() if not pd.isna(one)), default=0.0) or 1.0
    effect, low, high, printed = (one / unit for one in values.values())
    marker, colour = VERDICTS[row.verdict]
    ax.plot([low, high], [y, y], color=colour, linewidth=2.5)
    ax.plot(effect, y, marker, color=colour, markersize=8)
    if not pd.isna(printed):
        ax.plot(printed, y, **_PRINTED, linestyle="none", markersize=8)


def _names(block: pd.DataFrame) -> tuple[list[str], str]:
    """Return names of a claim's effects without what they share, and a title that says it."""
    names = block["check"].where(block["decides"], block["check"] + " (reported only)")
    parts = [name.partition(", ") for name in names]
    shared = len({first for first, _, _ in parts}) == 1 and all(rest for *_, rest in parts)
    short = [rest if shared else name for name, (*_, rest) in zip(names, parts, strict=True)]
    title = block["claim"].iloc[0] + (f": {parts[0][0]}" if shared else "")
    return [fill(name, 37) for name in short], title


def _panels(checks: pd.DataFrame, rows: Sequence[float]) -> np.ndarray:
    """Return one Axes for each number of rows, one below another, with the legend of both."""
    heights = [0.19 * count + 0.55 for count in rows]
    axes = axes_grid(len(rows), 1, sum(heights) + 0.7, height_ratios=heights)
    has_intervals = checks["low"].notna().any()
    axes[-1, 0].set_xlabel("effect and 95 % interval" if has_intervals else "effect")
    handles = [
        Line2D([], [], marker=marker, color=colour, linestyle="none", label=str(verdict))
        for verdict, (marker, colour) in VERDICTS.items()
    ]
    handles.append(Patch(color=GREEN, alpha=0.12, label="claimed side"))
    axes[0, 0].figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return axes[:, 0]


def _intervals(block: pd.DataFrame, names: Sequence[str], title: str, ax: Axes) -> None:
    """Draw effects that share a margin, one below another; those over all are thicker."""
    first = block.iloc[0]
    for y, row in enumerate(block.to_dict("records")):
        overall = row["data_set"] == ALL
        if row["verdict"] not in VERDICTS:
            ax.text(first["margin"], y, " no data", color=GREY, va="center", fontsize="small")
            continue
        marker, colour = VERDICTS[row["verdict"]]
        width = 2.5 if overall else 1.2
        ax.plot([row["low"], row["high"]], [y, y], color=colour, linewidth=width)
        ax.plot(row["effect"], y, marker, color=colour, markersize=8 if overall else 5)
    ax.axvline(first["margin"], linestyle=":", color=GREY, linewidth=1)
    ax.margins(x=0.1)
    left, right = ax.get_xlim()
    claimed = (left, first["margin"]) if first["relation"] == "<" else (first["margin"], right)
    ax.axvspan(*claimed, color=GREEN, alpha=0.12, linewidth=0, zorder=0)
    ax.set_title(title, loc="left", weight="bold", fontsize="small")
    ax.set(xlim=(left, right), ylim=(len(block) - 0.5, -0.5))
    ax.set_yticks(range(len(names)), names, fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize="small")


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
