"""Figures of the evaluation without labels: what a Gscore is, and how it goes with a metric."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers.checks import float_array, known_name
from helpers.labelfree import Parts, Regression, fit_regression
from helpers.papers.gscore.protocol import DETECTORS
from helpers.papers.gscore.tables import METRIC_TITLES
from helpers.report.figures.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    axes_or_new,
    check_columns,
)


def score_parts(
    known, unknown, parts: Parts, *, score: str, bins: int = 40, ax: Axes | None = None
) -> Axes:
    """Draw the scores of a mixture, and the two parts that an evaluator takes it for.

    The histograms of ID and OOD images, which the evaluator does not tell apart, stand one on the
    other; a part is drawn as the Gaussian of its mean and deviation with the area of its images.
    A part whose scores do not spread is a line at its mean; an empty one is not drawn.

    Parameters
    ----------
    known, unknown : array_like, shape [N], [M]
        Scores of the ID and OOD images of the mixture.
    parts : Parts
        Of one threshold: arrays of shape [2].
    score : str
        What the axis is called.
    bins : int
        Over the range of all scores.
    ax : Axes, optional

    Raises
    ------
    ValueError
        Empty, NaN or infinite scores, or parts of several thresholds.
    """
    known, unknown = float_array("known", known), float_array("unknown", unknown)
    if np.shape(parts.means) != (2,):
        raise ValueError(f"parts: those of one threshold expected, got {np.shape(parts.means)}")
    from scipy.stats import norm  # here, since SciPy takes long to import

    ax = axes_or_new(ax, figsize=(6, 3.2))
    edges = np.histogram_bin_edges(np.concatenate([known, unknown]), bins)
    _, _, groups = ax.hist(
        [unknown, known], edges, stacked=True, alpha=0.35, color=[RED, BLUE], label=["OOD", "ID"]
    )
    for bars, hatch in zip(groups, ("////", ""), strict=True):
        for bar in bars:
            bar.set(hatch=hatch, edgecolor="white")
    grid, width = np.linspace(edges[0], edges[-1], 400), edges[1] - edges[0]
    styles = (("part taken for ID", GREEN, "-"), ("part taken for OOD", ORANGE, "--"))
    numbers = zip(parts.means, parts.deviations, parts.counts, strict=True)
    highest = np.histogram(np.concatenate([known, unknown]), edges)[0].max()
    peak = highest
    for (name, colour, line), (mean, deviation, count) in zip(styles, numbers, strict=True):
        style = {"color": colour, "linestyle": line, "linewidth": 2}
        if deviation > 0:
            images = count * width * norm.pdf(grid, mean, deviation)
            ax.plot(grid, images, label=f"{name}, {count}", **style)
            peak = max(peak, images.max())
        elif count:
            ax.axvline(mean, label=f"{name}, {count}", **style)
    ax.set_ylim(top=1.05 * min(peak, 1.5 * highest))  # a narrow part would press all else flat
    ax.set(xlabel=score, ylabel="images")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def gscore_scatter(
    regression: Regression,
    *,
    metric: str,
    level: float = 0.9,
    unseen: tuple[np.ndarray, np.ndarray] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric against the Gscore of sets, with the line and its prediction intervals.

    Parameters
    ----------
    regression : Regression
        A dot is one of its meta-training sets; their correlations, of Pearson and of Spearman,
        are above the Axes.
    metric : str
        What the line predicts; one of `helpers.labelfree.METRICS`.
    level : float
        Of the intervals, whose band is shaded.
    unseen : (array_like, array_like), shape [M] each, optional
        Gscore and metric of sets that the line was not fitted to, drawn as crosses.
    ax : Axes, optional

    Raises
    ------
    ValueError
        The metric is unknown, or NaN, infinite or too few numbers.
    """
    title = METRIC_TITLES[known_name("metric", metric, METRIC_TITLES)]
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
    low, high = regression.interval(grid, level)
    ax.fill_between(
        grid, 100 * low, 100 * high, color=GREY, alpha=0.2, linewidth=0,
        label=f"{100 * level:g} % interval",
    )  # fmt: skip
    ax.plot(grid, 100 * regression.predict(grid), color=GREY, linewidth=1.5, label="line")
    from scipy.stats import pearsonr, spearmanr  # here, since SciPy takes long to import

    pearson, spearman = pearsonr(scores, truths)[0], spearmanr(scores, truths)[0]
    text = f"r = {pearson:.3f}, ρ = {spearman:.3f}".replace("-", "\N{MINUS SIGN}")
    ax.set_title(text, loc="left", pad=4)
    ax.set(xlabel="Gscore", ylabel=f"{title} (%)")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=2)
    return ax


def gscore_scatters(
    table: pd.DataFrame, *, evaluator: str = "ude_wasserstein", level: float = 0.9
) -> np.ndarray:
    """Draw `gscore_scatter` of FPR95 and AUROC for every network and detector of a results table.

    The sets of the first run's division, at its threshold: dots are mixed with the ID images
    ``meta``, and crosses with ``test``.

    Parameters
    ----------
    table : DataFrame
        Of one tier.
    evaluator : str
        One of `helpers.labelfree.EVALUATORS`.
    level : float
        Of the intervals.

    Returns
    -------
    ndarray of Axes, shape [panels, 2]
        A column for each metric, so that the figure is no wider with more panels.  What these
        differ in, of data set, network and detector, is written above the row.

    Raises
    ------
    ValueError
        No such Gscores, a number that is there twice, or as `helpers.labelfree.fit_regression`.
    """
    place = ["data_set", "backbone", "detector"]
    check_columns("table", table, [*place[:2], "run", "test_set", "method", "metric", "value"])
    rows = table[table["run"] == 0].assign(detector=table["method"].str.partition("/")[0])
    tests = rows.loc[rows["metric"].str.startswith("predicted_"), "test_set"]
    rows = rows[rows["variant"].isin(["meta", "test"])]
    gscores = rows[rows["method"].str.endswith(f"/{evaluator}") & (rows["metric"] == "gscore")]
    if gscores.empty:
        raise ValueError(f"table: no Gscores by {evaluator}")
    keys = [*place, "variant", "test_set"]
    truths = rows[rows["method"] == rows["detector"]]
    first, second = (
        one.pivot(index=keys, columns="metric", values="value") for one in (gscores, truths)
    )
    sets = first.join(second).loc[gscores.set_index(keys).index]  # a pivot sorts
    groups = dict([*sets.groupby(place, sort=False)])
    told = [n for n, column in enumerate(zip(*groups, strict=True)) if len(set(column)) > 1]
    size = (7.6, 2.9 * len(groups) + 0.4)
    axes = plt.subplots(len(groups), 2, figsize=size, layout="constrained", squeeze=False)[1]
    for row, (names, one) in zip(axes, groups.items(), strict=True):
        tested = one.index.get_level_values("test_set").isin(tests)
        learnt = one[~tested].xs("meta", level="variant")
        unseen = one[tested].xs("test", level="variant") if tested.any() else None
        for ax, metric in zip(row, ("fpr95", "auroc"), strict=True):
            line = fit_regression(learnt[["gscore"]], learnt[metric], [0.0])
            crosses = None if unseen is None else (unseen["gscore"], unseen[metric])
            gscore_scatter(line, metric=metric, level=level, unseen=crosses, ax=ax)
            ax.get_legend().remove()
        above = ", ".join(DETECTORS.get(names[n], names[n]) for n in told)
        if above:
            row[0].set_title(f"{above}\n{row[0].get_title('left')}", loc="left", pad=4)
    axes[0, 0].figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center",
                             ncols=4)  # fmt: skip
    return axes


def predicted_against_true(
    truths,
    predictions,
    intervals: tuple[np.ndarray, np.ndarray] | None = None,
    *,
    metric: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw predictions for sets that a line was not fitted to; agreement is the diagonal.

    Parameters
    ----------
    truths, predictions : array_like, shape [S]
        Of the metric, as shares.
    intervals : (array_like, array_like), shape [S] each, optional
        Ends of the prediction intervals, drawn as bars.  A set whose truth lies outside is a red
        cross, any other a blue dot; the legend counts both.
    metric : str
        One of `helpers.labelfree.METRICS`.
    ax : Axes, optional

    Raises
    ------
    ValueError
        The metric is unknown; empty, NaN, or arrays of different lengths.
    """
    title = METRIC_TITLES[known_name("metric", metric, METRIC_TITLES)]
    truths = float_array("truths", truths)
    predictions = float_array("predictions", predictions, length=len(truths))
    low, high = (truths, truths) if intervals is None else intervals
    low, high = (float_array("intervals", one, length=len(truths)) for one in (low, high))
    inside = (low <= truths) & (truths <= high)
    ax = axes_or_new(ax, figsize=(4.5, 4.5))
    if intervals is not None:
        ax.vlines(100 * truths, 100 * low, 100 * high, color=GREY, alpha=0.35, linewidth=1)
    for which, marker, colour, name in (
        (inside, "o", BLUE, "truth inside" if intervals is not None else "sets"),
        (~inside, "x", RED, "truth outside"),
    ):
        if which.any():
            ax.plot(
                100 * truths[which], 100 * predictions[which], marker, color=colour, markersize=5,
                linestyle="none", label=f"{name}, {which.sum()}",
            )  # fmt: skip
    ax.axline((0, 0), slope=1, color=GREY, linestyle="--", linewidth=1, zorder=0)
    everything = 100 * np.concatenate([truths, predictions, low, high])
    ends = (everything.min() - 3, everything.max() + 3)
    ax.set(xlim=ends, ylim=ends, aspect="equal")
    ax.set(xlabel=f"{title}, true (%)", ylabel=f"{title}, predicted (%)")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax
