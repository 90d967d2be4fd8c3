"""Figures of the synthesis: who is best by which measure, and what becomes of each image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers.checks import known_name
from helpers.papers.synthesis.roles import ALGORITHMS, MEASURES
from helpers.papers.synthesis.tables import AMONG, best_scores, pareto
from helpers.report.figures.style import GREY, MARKERS, axes_or_new, check_columns

_SLOPE = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}


def cell_heatmap(means: pd.DataFrame, *, measure: str, ax: Axes | None = None) -> Axes:
    """Show one measure of every score (down) with every algorithm (across); darker is better.

    Numbers are per cent.  The best score of each algorithm is framed; cells that do not apply
    stay white.

    Parameters
    ----------
    means : DataFrame
        From `helpers.papers.synthesis.tables.cells`.
    measure : str
        One of `helpers.papers.synthesis.roles.MEASURES` that is of a score and in `means`.
    ax : Axes, optional

    Raises
    ------
    ValueError
        The measure is unknown, is of the algorithm alone, or is not there.
    """
    known_name("measure", measure, [name for name in means if MEASURES[name].of_score])
    values = 100 * means[measure].unstack("algorithm")
    values = values.reindex(
        index=means.index.unique("score"), columns=means.index.unique("algorithm")
    ).dropna(how="all")
    ax = axes_or_new(ax, figsize=(0.36 * values.shape[1] + 1.6, 0.25 * len(values) + 1.7))
    higher = MEASURES[measure].higher
    import seaborn as sns  # here, since it takes long to import

    sns.heatmap(
        values, ax=ax, annot=True, fmt=".0f", cbar=False, linewidths=0.4,
        cmap="viridis_r" if higher else "viridis", annot_kws={"fontsize": 8},
    )  # fmt: skip
    best = values.eq(values.max() if higher else values.min()).to_numpy()
    for row, column in np.argwhere(best):
        box = {"fill": False, "edgecolor": "black", "linewidth": 1.4, "clip_on": False}
        ax.add_patch(plt.Rectangle((column, row), 1, 1, **box))
    ax.set_xticks(ax.get_xticks(), [ALGORITHMS[name] for name in values], **_SLOPE)
    ax.tick_params(length=0)
    ax.tick_params(axis="y", rotation=0)
    ax.set(xlabel="", ylabel="", title=f"{MEASURES[measure].title} (%)")
    return ax


def agreement_matrix(pairs: pd.DataFrame) -> np.ndarray:
    """Show how far measures agree, those that agree most side by side, beside their dendrogram.

    Numbers are rank correlations times 100.  Clusters are merged by average linkage of the
    distance 1 − correlation, which the dendrogram's axis shows.

    Parameters
    ----------
    pairs : DataFrame
        From `helpers.papers.synthesis.tables.agreement`.

    Returns
    -------
    ndarray of Axes, shape [2]
        Those of the matrix and of the dendrogram.

    Raises
    ------
    ValueError
        The table is empty or lacks a column.
    """
    import seaborn as sns  # here, since these take long to import
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    check_columns("pairs", pairs, ["first", "second", "correlation"])
    names = list(dict.fromkeys(pairs["first"]))
    square = pairs.pivot(index="first", columns="second", values="correlation").loc[names, names]
    merges = hierarchy.linkage(squareform(1 - square.to_numpy(), checks=False), "average")
    drawn = hierarchy.dendrogram(merges, no_plot=True)
    square = square.iloc[drawn["leaves"], drawn["leaves"]]
    size = len(square)
    _, axes = plt.subplots(
        1, 2, figsize=(6.4, 0.3 * size + 1.6), width_ratios=[size, 3], layout="constrained"
    )
    ax, tree = axes
    shown = (100 * square).round() + 0.0  # no −0
    sns.heatmap(
        shown, ax=ax, annot=True, fmt=".0f", cbar=False, linewidths=0.4, cmap="PuOr",
        vmin=-100, vmax=100, annot_kws={"fontsize": 8},
    )  # fmt: skip
    titles = [MEASURES[name].title for name in square]
    ax.set_xticks(ax.get_xticks(), titles, **_SLOPE)
    ax.set_yticks(ax.get_yticks(), titles, rotation=0)
    ax.tick_params(length=0)
    ax.set(xlabel="", ylabel="")
    for places, distances in zip(drawn["icoord"], drawn["dcoord"], strict=True):
        tree.plot(distances, np.array(places) / 10, color=GREY, linewidth=1)  # leaves at 5, 15, …
    tree.set(ylim=(size, 0), xlim=(0, None), yticks=[], xlabel="distance")
    tree.spines["left"].set_visible(False)
    return axes


def agreement_intervals(
    pairs: Mapping[str, pd.DataFrame], *, reference: str = "aurc", ax: Axes | None = None
) -> Axes:
    """Draw how far each measure agrees with one of them, with 95 % intervals.

    Parameters
    ----------
    pairs : mapping of str to DataFrame
        From `helpers.papers.synthesis.tables.agreement`, by the names of its `AMONG`; each has a
        marker of its own.  Measures come in the order of the first, the one that agrees most on
        top.
    reference : str
        The measure that the others are compared with.
    ax : Axes, optional

    Raises
    ------
    ValueError
        No table, an unknown name, or a table without the reference.
    """
    if not pairs:
        raise ValueError("pairs: empty")
    rows = {}
    for among, table in pairs.items():
        known_name("among", among, AMONG)
        check_columns("pairs", table, ["first", "second", "correlation", "low", "high", "ranked"])
        known_name("reference", reference, table["first"])
        own = table[(table["first"] == reference) & (table["second"] != reference)]
        rows[among] = own.set_index("second")
    correlations = pd.DataFrame({among: own["correlation"] for among, own in rows.items()})
    order = correlations.sort_values(next(iter(rows)), ascending=False, kind="stable").index
    places = {name: place for place, name in enumerate(order)}
    ax = axes_or_new(ax, figsize=(6, 0.36 * len(places) + 1.3))
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
    ax.set_xlabel(f"rank correlation with {MEASURES[reference].title}")
    ax.grid(axis="y", linewidth=0.4)
    ax.tick_params(axis="y", length=0)
    ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=1 if len(rows) > 2 else 2)
    return ax


def pareto_panels(
    means: pd.DataFrame,
    *,
    over: Sequence[str] = ("accuracy", "ece", "passes"),
    against: str = "aurc",
) -> np.ndarray:
    """Draw each algorithm with its best score, and which of them are on the Pareto front.

    The front is that of all measures shown at once: what is on it in none of the panels may be on
    it by all.  Algorithms on it have markers of their own, the others are small grey dots.

    Parameters
    ----------
    means : DataFrame
        From `helpers.papers.synthesis.tables.cells`.
    over : sequence of str
        The measures of the panels' horizontal axes; passes are on a logarithmic axis.
    against : str
        The measure of the vertical axes, by which each algorithm's score is chosen.

    Returns
    -------
    ndarray of Axes, shape [panels]

    Raises
    ------
    ValueError
        An unknown measure, or one that `means` lacks.
    """
    for name in (against, *over):
        known_name("measure", name, means.columns)
    chosen = best_scores(means, against)
    front = pareto(chosen, [against, *over])
    figure, axes = plt.subplots(
        1, len(over), figsize=(6.4, 4.4), sharey=True, layout="constrained", squeeze=False
    )
    scales = {name: 1 if name in ("passes", "parameters") else 100 for name in (against, *over)}
    for name, ax in zip(over, axes[0], strict=True):
        x, y = scales[name] * chosen[name], scales[against] * chosen[against]
        ax.plot(x[~front], y[~front], ".", color=GREY, label="not on the front")
        for number, (algorithm, score) in enumerate(chosen.index[front]):
            ax.plot(
                x[algorithm, score], y[algorithm, score], MARKERS[number % len(MARKERS)],
                color=f"C{number % 10}", markersize=8, markeredgecolor="white",
                label=f"{ALGORITHMS[algorithm]}, {score}",
            )  # fmt: skip
        per_cent = " (%)" if scales[name] == 100 else ""
        better = "→ better" if MEASURES[name].higher else "← better"
        ax.set_xlabel(f"{MEASURES[name].title}{per_cent}\n{better}")
        if name in ("passes", "parameters"):
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:g}")
        ax.margins(0.1)
    axes[0, 0].set_ylabel(f"{MEASURES[against].title} (%)")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2)
    return axes[0]


def image_cards(
    images: np.ndarray,
    percentiles: pd.DataFrame,
    captions: Sequence[str],
    *,
    groups: Sequence[str],
    reject: float = 5.0,
) -> np.ndarray:
    """Show images, and below each where every method places it among validation images.

    Parameters
    ----------
    images : ndarray of uint8, shape [N, H, W, 3]
    percentiles : DataFrame of float64, shape [N, methods]
        In [0, 100], a method's percentile of each image among ID validation images; the columns'
        names are shown.
    captions : sequence of str, length N
        What the image is, and what it is taken for.
    groups : sequence of str, length N
        Images of a group are next to each other; its name stands above them.
    reject : float
        Cells below this percentile are in bold: a threshold that keeps the other validation
        images rejects them.

    Returns
    -------
    ndarray of Axes, shape [2]
        Those of the images and of the heat map.

    Raises
    ------
    ValueError
        No RGB images, percentiles out of range, or lengths that differ.
    """
    images, values = np.asarray(images), percentiles.to_numpy(dtype=np.float64)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[-1] != 3 or not len(images):
        raise ValueError(f"images: uint8 [N, H, W, 3] expected, got {images.dtype} {images.shape}")
    for name, one in (("percentiles", percentiles), ("captions", captions), ("groups", groups)):
        if len(one) != len(images):
            raise ValueError(f"{name}: {len(images)} expected, one per image, got {len(one)}")
    if not ((values >= 0) & (values <= 100)).all():
        raise ValueError("percentiles: between 0 and 100 expected")
    count, methods = values.shape
    _, axes = plt.subplots(
        2, 1, figsize=(0.48 * count + 1.6, 0.27 * methods + 2), height_ratios=[1.7, methods],
        sharex=True, layout="constrained",
    )  # fmt: skip
    strip, heat = axes
    import seaborn as sns  # here, since it takes long to import

    sns.heatmap(
        percentiles.T, ax=heat, annot=True, fmt=".0f", cbar=False, linewidths=0.4, cmap="viridis",
        vmin=0, vmax=100, annot_kws={"fontsize": 9},
    )  # fmt: skip
    for text, value in zip(heat.texts, values.T.ravel(), strict=True):
        text.set_weight("bold" if value < reject else "normal")
    for column, image in enumerate(images):
        place = (column + 0.04, column + 0.96, 1, 0)
        strip.imshow(image, extent=place, aspect="auto", interpolation="nearest")
    strip.set(xlim=(0, count), ylim=(1, 0), yticks=[])
    strip.tick_params(labelbottom=False)
    heat.set_xticks(np.arange(count) + 0.5, captions, **_SLOPE)
    heat.tick_params(axis="y", rotation=0)
    starts = [one for one in range(count) if one == 0 or groups[one] != groups[one - 1]]
    for first, end in pairwise([*starts, count]):
        strip.text((first + end) / 2, -0.15, groups[first], ha="center")
        if first:
            heat.axvline(first, color="black", linewidth=1.5)
    for ax in axes:
        ax.tick_params(length=0)
        ax.set(xlabel="", ylabel="")
        ax.spines[:].set_visible(False)
    return axes
