"""Figures of the synthesis: who is best by which measure, and what becomes of each image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers.checks import known_name
from helpers.report.figures.heatmaps import heatmap
from helpers.report.figures.images import check_pictures
from helpers.report.figures.style import GREY, MARKERS, axes_grid, check_columns, method_styles
from known_unknowns.across.measures import MEASURES
from known_unknowns.across.parameters import ALGORITHMS
from known_unknowns.across.tables import AMONG, best_scores, pareto
from known_unknowns.across.transfer import CHAPTERS

_OVER = ("accuracy", "ece", "passes")
_REJECT = 5  # per cent: below it, a threshold that keeps the other validation images rejects


def cell_heatmap(means: pd.DataFrame, *, measure: str) -> Axes:
    """Show one measure of every score (down) with every algorithm (across); darker is better.

    Numbers are per cent.  The best score of each algorithm is framed; cells that do not apply
    stay white.

    Parameters
    ----------
    means : DataFrame
        From `known_unknowns.across.tables.cells`.
    measure : str
        One of `known_unknowns.across.measures.MEASURES` that is of a score and in `means`.

    Raises
    ------
    ValueError
        The measure is unknown, is of the algorithm alone, or is not there.
    """
    known_name("measure", measure, [name for name in means if MEASURES[name].of_score])
    values = 100 * _scores_by_algorithms(means[measure]).dropna(how="all")
    figsize = (0.36 * values.shape[1] + 1.6, 0.25 * len(values) + 1.7)
    ax = plt.subplots(figsize=figsize, layout="constrained")[1]
    higher = MEASURES[measure].higher
    heatmap(ax, values, cmap="viridis_r" if higher else "viridis")
    best = values.eq(values.max() if higher else values.min()).to_numpy()
    for row, column in np.argwhere(best):
        box = {"fill": False, "edgecolor": "black", "linewidth": 1.4, "clip_on": False}
        ax.add_patch(plt.Rectangle((column, row), 1, 1, **box))
    ax.set_title(f"{MEASURES[measure].title} (%)")
    return ax


def place_heatmaps(means: pd.DataFrame, measures: Sequence[str]) -> np.ndarray:
    """Show the places that measures give scores (down) with algorithms (across); dark is best.

    Parameters
    ----------
    means : DataFrame
        From `known_unknowns.across.tables.cells`.
    measures : sequence of str
        Columns of `means`; three next to each other.

    Returns
    -------
    ndarray of Axes, shape [rows, 3]
    """
    rows = -(-len(measures) // 3)
    height = 0.14 * means.index.unique("score").size + 0.5  # a line of text for each score
    options = {"sharex": True, "sharey": True, "layout": "constrained"}
    axes = plt.subplots(rows, 3, figsize=(8.4, rows * height), squeeze=False, **options)[1]
    for ax, name in zip(axes.flat, measures, strict=False):
        places = means[name].rank(pct=True, ascending=not MEASURES[name].higher)
        wide = _scores_by_algorithms(places)
        ax.imshow(wide, cmap="viridis", vmin=0, vmax=1, aspect="auto")
        ax.set_title(MEASURES[name].title, fontsize=9)
        ax.set_yticks(range(len(wide)), wide.index, fontsize=8)
        ax.set_xticks(range(wide.shape[1]), wide.columns, fontsize=8, rotation=90)
        ax.tick_params(length=0)
    return axes


def _scores_by_algorithms(values: pd.Series) -> pd.DataFrame:
    """Return numbers with scores down and the titles of algorithms across, in their order."""
    wide = values.unstack("algorithm")
    order = {level: values.index.unique(level) for level in ("score", "algorithm")}
    return wide.reindex(index=order["score"], columns=order["algorithm"]).rename(columns=ALGORITHMS)


def agreement_matrix(pairs: pd.DataFrame) -> np.ndarray:
    """Show how far measures agree, those that agree most side by side, beside their dendrogram.

    Numbers are rank correlations times 100.  Clusters are merged by average linkage of the
    distance 1 − correlation, which the dendrogram's axis shows.

    Parameters
    ----------
    pairs : DataFrame
        From `known_unknowns.across.tables.agreement`.

    Returns
    -------
    ndarray of Axes, shape [2]
        Those of the matrix and of the dendrogram.

    Raises
    ------
    ValueError
        The table is empty or lacks a column.
    """
    from scipy.cluster import hierarchy  # here, since SciPy takes long to import
    from scipy.spatial.distance import squareform

    check_columns("pairs", pairs, ["first", "second", "correlation"])
    names = list(dict.fromkeys(pairs["first"]))
    square = pairs.pivot(index="first", columns="second", values="correlation").loc[names, names]
    merges = hierarchy.linkage(squareform(1 - square.to_numpy(), checks=False), "average")
    drawn = hierarchy.dendrogram(merges, no_plot=True)
    square = square.iloc[drawn["leaves"], drawn["leaves"]]
    size = len(square)
    (axes,) = axes_grid(1, 2, 0.3 * size + 1.6, 6.4, width_ratios=[size, 3])
    ax, tree = axes
    titles = {name: MEASURES[name].title for name in square}
    shown = 100 * square.rename(index=titles, columns=titles)
    heatmap(ax, shown, cmap="PuOr", vmin=-100, vmax=100)
    for places, distances in zip(drawn["icoord"], drawn["dcoord"], strict=True):
        tree.plot(distances, np.array(places) / 10, color=GREY, linewidth=1)  # leaves at 5, 15, …
    tree.set(ylim=(size, 0), xlim=(0, None), yticks=[], xlabel="distance")
    tree.spines["left"].set_visible(False)
    return axes


def agreement_intervals(pairs: Mapping[str, pd.DataFrame]) -> Axes:
    """Draw how far each measure agrees with the AURC of unknown detection, with 95 % intervals.

    Parameters
    ----------
    pairs : mapping of str to DataFrame
        From `known_unknowns.across.tables.agreement`, by the names of its `AMONG`; each has a
        marker of its own.  Measures come in the order of the first, the one that agrees most on
        top.

    Raises
    ------
    ValueError
        No table, an unknown name, or a table without AURC.
    """
    if not pairs:
        raise ValueError("pairs: empty")
    rows = {}
    for among, table in pairs.items():
        known_name("among", among, AMONG)
        check_columns("pairs", table, ["first", "second", "correlation", "low", "high", "ranked"])
        known_name("measure", "aurc", table["first"])
        own = table[(table["first"] == "aurc") & (table["second"] != "aurc")]
        rows[among] = own.set_index("second")
    correlations = pd.DataFrame({among: own["correlation"] for among, own in rows.items()})
    order = correlations.sort_values(next(iter(rows)), ascending=False, kind="stable").index
    places = {name: place for place, name in enumerate(order)}
    ax = plt.subplots(figsize=(6, 0.36 * len(places) + 1.3), layout="constrained")[1]
    for number, (among, own) in enumerate(rows.items()):
        y = own.index.map(places) + 0.22 * (number - (len(rows) - 1) / 2)
        colour = f"C{number}"
        ax.hlines(y, own["low"], own["high"], color=colour, linewidth=1.4)
        ax.plot(
            own["correlation"], y, MARKERS[number], color=colour, markersize=6,
            label=f"{AMONG[among]} ({own['ranked'].iloc[0]})",
        )  # fmt: skip
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_yticks(range(len(places)), [MEASURES[name].title for name in places])
    ax.set(xlim=(-1.02, 1.02), ylim=(len(places) - 0.5, -0.5))
    ax.set_xlabel(f"rank correlation with {MEASURES['aurc'].title}")
    ax.grid(axis="y", linewidth=0.4)
    ax.tick_params(axis="y", length=0)
    ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=1 if len(rows) > 2 else 2)
    return ax


def transfer_intervals(pairs: pd.DataFrame) -> np.ndarray:
    """Draw how far tiers put scores in the same order, with 95 % intervals.

    Parameters
    ----------
    pairs : DataFrame
        From `known_unknowns.across.transfer.transfer`; each pair of tiers has a marker of its
        own, each chapter a panel.

    Returns
    -------
    ndarray of Axes, shape [chapters]

    Raises
    ------
    ValueError
        The table is empty or lacks a column.
    """
    check_columns("pairs", pairs, [*_ENDS, "chapter", "measure", "correlation", "low", "high"])
    if pairs.empty:
        raise ValueError("pairs: empty")
    names = pairs[_ENDS[0]] + " – " + pairs[_ENDS[1]]
    panels = dict(tuple(pairs.assign(pair=names).groupby("chapter", sort=False)))
    heights = [len(one) for one in panels.values()]
    figure, axes = plt.subplots(
        len(panels), figsize=(6.4, 0.2 * sum(heights) + 1.6 + 0.22 * names.nunique()),
        sharex=True, squeeze=False, layout="constrained", height_ratios=heights,
    )  # fmt: skip
    styles, handles = method_styles(dict.fromkeys(names)), {}
    for ax, (chapter, own) in zip(axes[:, 0], panels.items(), strict=True):
        rows = own.sort_values("measure", key=lambda one: one.map(_places(one)), kind="stable")
        starts = rows["measure"].ne(rows["measure"].shift()).cumsum().to_numpy()
        heights = np.arange(len(rows)) + 0.6 * starts
        for y, one in zip(heights, rows.itertuples(), strict=True):
            style = styles[one.pair]
            ax.hlines(y, one.low, one.high, color=style["color"], linewidth=1.4)
            (handles[one.pair],) = ax.plot(
                one.correlation, y, style["marker"], color=style["color"], markersize=6
            )
        middles = pd.Series(heights).groupby(rows["measure"].to_numpy(), sort=False).mean()
        ax.set_yticks(middles, middles.index)
        ax.set(xlim=(-1.02, 1.02), title=CHAPTERS[chapter].title)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(heights[-1] + 0.7, heights[0] - 0.7)
    axes[-1, 0].set_xlabel("rank correlation of the scores' order")
    figure.legend(handles.values(), handles, loc="outside lower center")
    return axes[:, 0]


_ENDS = ("first", "second")


def _places(names: pd.Series) -> dict[str, int]:
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def pareto_panels(means: pd.DataFrame) -> np.ndarray:
    """Draw each algorithm with its best score, and which of them are on the Pareto front.

    AURC, by which the scores are chosen, stands against accuracy, ECE and passes, the last on a
    logarithmic axis.  The front is that of all measures shown at once: what is on it in none of
    the panels may be on it by all.  Algorithms on it have markers of their own, the others are
    small grey dots.

    Parameters
    ----------
    means : DataFrame
        From `known_unknowns.across.tables.cells`.

    Returns
    -------
    ndarray of Axes, shape [panels]

    Raises
    ------
    ValueError
        `means` lacks one of these measures.
    """
    check_columns("means", means, ["aurc", *_OVER])
    chosen = best_scores(means, "aurc")
    front = pareto(chosen, ["aurc", *_OVER])
    styles = method_styles(dict.fromkeys(algorithm for algorithm, _ in chosen.index[front]))
    figure, axes = plt.subplots(1, 3, figsize=(6.4, 4.4), sharey=True, layout="constrained")
    for name, ax in zip(_OVER, axes, strict=True):
        scale = 1 if name == "passes" else 100
        x, y = scale * chosen[name], 100 * chosen["aurc"]
        ax.plot(x[~front], y[~front], ".", color=GREY, label="not on the front")
        for algorithm, score in chosen.index[front]:
            ax.plot(
                x[algorithm, score], y[algorithm, score], styles[algorithm]["marker"],
                color=styles[algorithm]["color"], markersize=8, markeredgecolor="white",
                label=f"{ALGORITHMS[algorithm]}, {score}",
            )  # fmt: skip
        per_cent = "" if name == "passes" else " (%)"
        better = "→ better" if MEASURES[name].higher else "← better"
        ax.set_xlabel(f"{MEASURES[name].title}{per_cent}\n{better}")
        ax.margins(0.1)
    axes[2].set_xscale("log")
    axes[2].xaxis.set_major_formatter("{x:g}")
    axes[0].set_ylabel(f"{MEASURES['aurc'].title} (%)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return axes


def image_cards(
    images: np.ndarray,
    percentiles: pd.DataFrame,
    captions: Sequence[str],
    *,
    groups: Sequence[str],
) -> np.ndarray:
    """Show images, and below each where every method places it among validation images.

    Parameters
    ----------
    images : ndarray of uint8, shape [N, H, W, 3]
    percentiles : DataFrame of float64, shape [N, methods]
        In [0, 100], a method's percentile of each image among ID validation images; the columns'
        names are shown.  What is below 5 is in bold: a threshold that keeps the other 95 % of the
        validation images rejects it.
    captions : sequence of str, length N
        What the image is, and what it is taken for.
    groups : sequence of str, length N
        Images of a group are next to each other; its name stands above them.

    Returns
    -------
    ndarray of Axes, shape [2]
        Those of the images and of the heat map.

    Raises
    ------
    ValueError
        No RGB images, percentiles out of range, or lengths that differ.
    """
    images = check_pictures("images", images)
    for name, one in (("percentiles", percentiles), ("captions", captions), ("groups", groups)):
        if len(one) != len(images):
            raise ValueError(f"{name}: {len(images)} expected, one per image, got {len(one)}")
    if not ((percentiles >= 0) & (percentiles <= 100)).all(axis=None):
        raise ValueError("percentiles: between 0 and 100 expected")
    count, methods = percentiles.shape
    shape = {"height_ratios": [1.7, methods], "sharex": True}
    axes = axes_grid(2, 1, 0.27 * methods + 2, 0.48 * count + 1.6, **shape)[:, 0]
    strip, heat = axes
    cards = percentiles.T.set_axis(captions, axis="columns")
    rejected = percentiles.T < _REJECT
    heatmap(heat, cards, bold=rejected, fontsize=9, cmap="viridis", vmin=0, vmax=100)
    for column, image in enumerate(images):
        place = (column + 0.04, column + 0.96, 1, 0)
        strip.imshow(image, extent=place, aspect="auto", interpolation="nearest")
    strip.set(xlim=(0, count), ylim=(1, 0), yticks=[])
    strip.tick_params(labelbottom=False, length=0)
    strip.spines[:].set_visible(False)
    starts = [one for one in range(count) if one == 0 or groups[one] != groups[one - 1]]
    for first, end in pairwise([*starts, count]):
        strip.text((first + end) / 2, -0.15, groups[first], ha="center")
        if first:
            heat.axvline(first, color="black", linewidth=1.5)
    return axes
