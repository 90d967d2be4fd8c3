"""Figures of the audit of one model; each function returns axes, or None without numbers."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.ticker import PercentFormatter

from helpers import metrics
from known_unknowns import LOOK
from known_unknowns.auditing.sentences import title
from known_unknowns.auditing.thresholds import Threshold
from known_unknowns.auditing.units import of_unit

if TYPE_CHECKING:
    from known_unknowns.auditing.auditing import Audit

BLUE = "#0173b2"
ORANGE = "#de8f05"
GREEN = "#029e73"
RED = "#d55e00"
GREY = "#666666"
#: Colour, line and hatch of groups of images: known, unknown, unlabelled.
_GROUPS = ((BLUE, "-", ""), (RED, "--", "////"), (GREEN, ":", "...."))
#: Lines of thresholds, which are at most five.
_LINES = ("--", ":", "-.", "-", (0, (8, 2, 2, 2, 2, 2)))
_ABOVE: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}


def draw_report(audit: Audit, errors: int) -> dict[str, list[tuple[str, str]]]:
    """Return text and image address of each finding's figures, and close the figures."""
    images: dict[str, list[tuple[str, str]]] = {}
    with plt.style.context(LOOK):
        for name, words, draw in (
            (
                "right",
                "The errors with the highest confidence",
                partial(surest_errors, count=errors),
            ),
            ("sure", "Accuracy against confidence", reliability),
            ("score", "AURC of every score", score_ranking),
            ("accept", "Risk against coverage", selective_risk),
            ("accept", "Scores and thresholds", scores_and_thresholds),
        ):
            if draw(audit) is None:
                continue
            figure = plt.gcf()
            figure.set_dpi(110)
            buffer = io.BytesIO()
            FigureCanvasAgg(figure).print_png(buffer)  # savefig would find the layout twice
            plt.close(figure)
            data = base64.b64encode(buffer.getvalue()).decode()
            images.setdefault(name, []).append((words, f"data:image/png;base64,{data}"))
    return images


def surest_errors(audit: Audit, count: int = 12) -> np.ndarray | None:
    """Show the most confident errors, four in a row, with a caption above each."""
    worst = audit.wrong[:count]
    pictures = audit.inputs.pictures(worst, size=96) if len(worst) else None
    if pictures is None:
        return None
    names = audit.inputs.class_names
    outputs = audit.inputs.validation
    rows = -(-len(pictures) // 4)
    figure, axes = plt.subplots(rows, 4, figsize=(6, 1.95 * rows), squeeze=False)
    figure.set_dpi(96)  # photographs make large files
    for ax in axes.flat:
        ax.axis("off")
    for ax, picture, index in zip(axes.flat, pictures, worst, strict=False):
        ax.imshow(picture, interpolation="nearest")
        caption = f"{names[outputs.predictions[index]][:16]}, {100 * audit.sure[index]:.0f} %\n"
        caption += f"label: {names[outputs.labels[index]][:16]}"
        ax.set_title(caption.replace("$", r"\$"), fontsize=9)
    return axes


def reliability(audit: Audit) -> np.ndarray:
    """Draw accuracy against confidence, before and after temperature scaling.

    Bars show the accuracy of each bin with at least 10 images, and hatched boxes the gap to the
    mean confidence of the bin. Below is the share of the images in each bin. The images are those
    that did not fit the temperature.
    """
    correct = audit.inputs.validation.correct
    figure, axes = plt.subplots(
        2, 2, figsize=(6, 4.4), sharex=True, sharey="row", height_ratios=(3, 1)
    )
    for (ax, below), when, confidences in zip(
        axes.T, ("before", "after"), (audit.claimed, audit.sure), strict=True
    ):
        curve = metrics.reliability_curve(confidences[audit.held_out], correct[audit.held_out])
        left = curve.edges[:, 0]
        width = np.diff(curve.edges, axis=1)[:, 0]
        share = curve.count / curve.count.sum()
        gap = curve.confidence - curve.accuracy
        accuracy = np.where(curve.count < 10, np.nan, curve.accuracy)
        bars: dict[str, Any] = {"width": width, "align": "edge", "linewidth": 0.6}
        ax.bar(left, accuracy, color=BLUE, label="accuracy", **bars)
        ax.bar(
            left,
            gap,
            bottom=accuracy,
            color=to_rgba(RED, 0.25),
            edgecolor=RED,
            hatch="////",
            label="gap",
            **bars,
        )
        ax.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1, label="perfect")
        ax.set_title(f"{when} scaling: ECE {share @ np.abs(gap):.3f}")
        below.bar(left, share, color=GREY, **bars)
        below.set(xlim=(0, 1), xlabel="confidence")
    axes[0, 0].set(ylim=(0, 1), ylabel="accuracy")
    axes[1, 0].set_ylabel("share")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return axes


def score_ranking(audit: Audit) -> Axes:
    """Draw the AURC of all scores with its intervals, the best one on top."""
    areas = audit.ranking[audit.ranking["metric"] == "aurc"]
    areas = areas.assign(**100 * areas[["value", "low", "high"]])
    names = list(areas["score"].unique())
    # the abbreviation in brackets, if there is one: long titles hide the axis on a phone
    titles = [title(name).rpartition("(")[2].strip(")") for name in names]
    ax = plt.subplots(figsize=(5.5, 1.1 + 0.27 * len(names)))[1]
    kinds = (("", "ID images", BLUE, "o"), ("all", "ID and unknown images", RED, "s"))
    for number, (name, words, colour, marker) in enumerate(kinds):
        rows = areas[areas["set"] == name]
        if rows.empty:
            continue
        heights = [names.index(score) + 0.24 * number - 0.12 for score in rows["score"]]
        # the value may be outside the percentiles of its own replicates
        ends = np.abs(rows[["low", "high"]].sub(rows["value"], axis=0).to_numpy().T)
        ax.errorbar(
            rows["value"],
            heights,
            xerr=ends,
            fmt=marker,
            color=colour,
            markersize=4,
            elinewidth=1.2,
            label=of_unit(words, audit.inputs.unit),
        )
    ax.set(
        yticks=range(len(names)), ylim=(len(names) - 0.4, -0.6), xlabel="AURC (%), lower is better"
    )
    ax.set_yticklabels(titles)
    ax.get_yticklabels()[names.index(audit.best[0])].set_fontweight("bold")
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    return ax


def _guaranteed(audit: Audit) -> dict[str, Threshold]:
    """Return the thresholds that exist, by their names in a legend."""
    names = {
        "average": "risk on average",
        "smallest": "guaranteed larger risk",
        "production": of_unit("guaranteed for unlabelled images", audit.inputs.unit),
    }
    return {
        names.get(name, f"guaranteed {name}"): threshold
        for name, threshold in audit.thresholds.items()
        if not threshold.problem
    }


def selective_risk(audit: Audit) -> Axes:
    """Draw risk–coverage curves, and the points of the thresholds on the first curve.

    Two grey curves belong to the chosen score: the error rate, which is the risk of a random
    order, and the ideal order, with all correct predictions first.
    """
    ax = plt.subplots(figsize=(6, 4.8))[1]
    top = 0.0
    chosen = metrics.risk_coverage_curve(audit.samples["validation"], audit.correct)
    largest = metrics.risk_coverage_curve(audit.sure[audit.measuring], audit.correct)
    for name, (coverage, risk), colour, line in (
        (title(audit.best[0]), chosen, BLUE, "-"),
        ("confidence", largest, GREEN, "--"),
    ):
        ax.plot(coverage, risk, line, color=colour, linewidth=1.4, label=name)
        top = max(top, risk[coverage >= 0.05].max())  # the first few images set no scale
    coverage, risk = chosen
    ideal = np.maximum(0, 1 - (1 - risk[-1]) / coverage)
    ax.plot(coverage, ideal, color=GREY, linewidth=1, linestyle="--", label="ideal order")
    ax.axhline(risk[-1], color=GREY, linewidth=1, linestyle=":", label="error rate")
    for (name, threshold), marker in zip(_guaranteed(audit).items(), "D*sPX", strict=False):
        ax.plot(
            threshold.coverage[0],
            threshold.risk[0],
            marker,
            color=ORANGE,
            label=name,
            markeredgecolor="black",
            markersize=11,
            linestyle="none",
            zorder=5,
        )
    ax.set(xlim=(0, 1), ylim=(0, 1.1 * top or 1), xlabel="coverage", ylabel="risk")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1))
    ax.legend(**_ABOVE, ncols=2)
    return ax


def scores_and_thresholds(audit: Audit) -> Axes:
    """Draw the score distributions of groups of images, and the thresholds.

    The axis leaves out the lowest and the highest 0.5 % of all scores, which may be far away.
    """
    groups = {"validation": audit.samples["validation"]}
    if audit.inputs.ood:
        unknown = [audit.samples[name] for name in audit.inputs.ood]
        groups[of_unit("sets of unknown images", audit.inputs.unit)] = np.concatenate(unknown)
    if "production" in audit.samples:
        groups["unlabelled"] = audit.samples["production"]
    lines = {name: threshold.value for name, threshold in _guaranteed(audit).items()}
    ends = np.quantile(np.concatenate(list(groups.values())), [0.005, 0.995])
    low = min([ends[0], *lines.values()])
    high = max([ends[1], *lines.values()])
    ax = plt.subplots(figsize=(6, 3.2))[1]
    _draw_groups(ax, groups, low, high)
    for (name, value), line in zip(lines.items(), _LINES, strict=False):
        ax.axvline(value, color="black", linewidth=1.5, linestyle=line, label=name)
    ax.set(xlabel=title(audit.best[0]), ylabel=of_unit("share of images", audit.inputs.unit))
    ax.legend(**_ABOVE, ncols=2)
    return ax


def _draw_groups(ax: Axes, groups: Mapping[str, np.ndarray], low: float, high: float) -> None:
    """Draw the distribution of each group, as shares of the group."""
    unit = 1e-9 * max(abs(low), abs(high)) or 1.0  # scores that differ only by rounding
    cut = {name: np.round(np.clip(each, low, high) / unit) * unit for name, each in groups.items()}
    limits = min(map(np.min, cut.values())), max(map(np.max, cut.values()))
    for (label, values), (colour, line, hatch) in zip(cut.items(), _GROUPS, strict=False):
        ax.hist(
            values,
            bins=40,
            range=limits,
            weights=np.full(len(values), 1 / len(values)),
            histtype="stepfilled",
            facecolor=to_rgba(colour, 0.25),
            edgecolor=colour,
            linestyle=line,
            linewidth=1.5,
            hatch=hatch,
            label=label,
        )
