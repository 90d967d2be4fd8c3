"""Figures of the audit of one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers.checks import known_name
from helpers.labelfree import Regression
from helpers.report.figures import gscore_scatter, risk_coverage_curves, score_histograms
from helpers.report.figures.style import BLUE, LINES, ORANGE, RED, axes_grid, check_columns


def score_ranking(ranking: pd.DataFrame, titles: Mapping[str, str], *, chosen: str) -> Axes:
    """Draw the AURC of all scores with its intervals, the best one on top."""
    check_columns("ranking", ranking, ["score", "metric", "set", "value", "low", "high"])
    names = list(dict.fromkeys(ranking["score"]))
    known_name("chosen score", chosen, names)
    areas = ranking[ranking["metric"] == "aurc"]
    # long titles take their room beside the axis, not from it
    width = 3.8 + 0.075 * max(len(titles[name]) for name in names)
    ax = plt.subplots(figsize=(width, 1.1 + 0.27 * len(names)), layout="constrained")[1]
    kinds = (("", "ID images", BLUE, "o"), ("all", "ID and unknown images", RED, "s"))
    for number, (name, label, colour, marker) in enumerate(kinds):
        rows = areas[areas["set"] == name]
        if rows.empty:
            continue
        places = [names.index(score) + 0.24 * number - 0.12 for score in rows["score"]]
        # the value may lie outside the percentiles of its own replicates
        ends = np.abs(rows[["low", "high"]].sub(rows["value"], axis=0).to_numpy().T)
        ax.errorbar(
            rows["value"], places, xerr=ends, fmt=marker, color=colour, markersize=4,
            elinewidth=1.2, label=label,
        )  # fmt: skip
    ax.set(yticks=range(len(names)), ylim=(len(names) - 0.4, -0.6), xlabel="AURC, lower is better")
    ax.set_yticklabels([titles[name] for name in names])
    ax.get_yticklabels()[names.index(chosen)].set_fontweight("bold")
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    return ax


def scores_and_thresholds(
    samples: Mapping[str, np.ndarray], thresholds: Mapping[str, float], *, score: str
) -> Axes:
    """Draw how the scores of groups of images are distributed, and where thresholds cut.

    The axis leaves out the lowest and the highest 0.5 % of all scores, which may be far away.
    """
    ends = np.quantile(np.concatenate(list(samples.values())), [0.005, 0.995])
    ends = min([ends[0], *thresholds.values()]), max([ends[1], *thresholds.values()])
    cut = {name: np.clip(values, *ends) for name, values in samples.items()}
    ax = score_histograms(cut, score=score, bins=40)
    for (name, value), line in zip(thresholds.items(), LINES[1:] * 2, strict=False):
        ax.axvline(value, color="black", linewidth=1.5, linestyle=line, label=name)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def selective_risk(
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    points: Mapping[str, tuple[float, float]],
) -> Axes:
    """Draw risk–coverage curves, and the points that thresholds choose on the first of them."""
    ax = risk_coverage_curves(curves)
    for (name, place), marker in zip(points.items(), "D*P", strict=False):
        ax.plot(
            *place, marker, color=ORANGE, markeredgecolor="black", markersize=11, label=name,
            linestyle="none", zorder=5,
        )  # fmt: skip
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def surest_errors(pictures: np.ndarray, captions: Sequence[str]) -> np.ndarray:
    """Show images, four in a row, with a caption above each."""
    if not len(pictures) or len(pictures) != len(captions):
        raise ValueError(f"captions: {len(pictures)} expected, at least 1, got {len(captions)}")
    rows = -(-len(pictures) // 4)
    axes = axes_grid(rows, 4, 1.95 * rows)
    axes[0, 0].figure.set_dpi(96)  # photographs make large files
    for ax in axes.flat:
        ax.axis("off")
    for ax, picture, caption in zip(axes.flat, pictures, captions, strict=False):
        ax.imshow(picture, interpolation="nearest")
        ax.set_title(caption, fontsize=9)
    return axes


def prediction_on_line(regression: Regression, gscore: float, *, metric: str) -> Axes:
    """Draw the line from Gscore to a metric, and where unlabelled images lie on it."""
    ax = gscore_scatter(regression, metric=metric)
    ax.axvline(gscore, color=RED, linewidth=1.5, linestyle="--", label="unlabelled images")
    value = float(np.clip(regression.predict([gscore])[0], 0, 1))
    ax.plot(gscore, 100 * value, "D", color=RED, markersize=7, label="prediction")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=2)
    return ax
