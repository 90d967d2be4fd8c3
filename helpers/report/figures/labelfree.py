"""A figure of evaluation without labels: Gscore and metric over many sets of images."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from helpers.checks import float_array, known_name
from helpers.labelfree import METRICS, Regression
from helpers.labelfree.regression import fewest_sets
from helpers.metrics.correlation import pearson, spearman
from helpers.report.figures.style import BLUE, GREY, RED, axes_or_new


def metric_title(metric: str) -> str:
    """Return what one of `helpers.labelfree.METRICS` is called; refuse any other."""
    known_name("metric", metric, METRICS)
    return metric.replace("_", " ") if "_" in metric else metric.upper()


def gscore_scatter(
    regression: Regression,
    *,
    metric: str,
    level: float = 0.9,
    unseen: tuple[np.ndarray, np.ndarray] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric against the Gscore of sets, with the line and its prediction intervals."""
    title = metric_title(metric)
    scores = float_array("regression.gscores", regression.gscores)
    truths = regression.predict(scores) + regression.residuals
    ax = axes_or_new(ax, figsize=(6, 3.6))
    dots = {"linestyle": "none", "markersize": 4.5, "markeredgewidth": 1.2}
    ends = [scores]
    ax.plot(scores, 100 * truths, "o", color=BLUE, alpha=0.7, label="meta-training sets", **dots)
    if unseen is not None:
        own = float_array("unseen", unseen[0])
        theirs = float_array("unseen", unseen[1], length=len(own))
        ax.plot(own, 100 * theirs, "x", color=RED, label="test sets", **dots)
        ends.append(own)
    grid = np.linspace(min(map(np.min, ends)), max(map(np.max, ends)), 100)
    if len(scores) >= fewest_sets(level):
        low, high = regression.interval(grid, level)
        ax.fill_between(
            grid, 100 * low, 100 * high, color=GREY, alpha=0.2, linewidth=0,
            label=f"{100 * level:g} % interval",
        )  # fmt: skip
    ax.plot(grid, 100 * regression.predict(grid), color=GREY, linewidth=1.5, label="line")
    text = f"r = {pearson(scores, truths):.3f}, ρ = {spearman(scores, truths):.3f}"
    text = text.replace("-", "\N{MINUS SIGN}")
    ax.set_title(text, loc="left", pad=4)
    ax.set(xlabel="Gscore", ylabel=f"{title} (%)")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=2)
    return ax
