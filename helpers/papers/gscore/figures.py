"""Figures of evaluation without labels: what a Gscore is, and what many sets of images tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers.checks import float_array
from helpers.labelfree import Parts, fit_regression, skill
from helpers.papers.gscore.parameters import DETECTORS
from helpers.papers.gscore.skills import skill_in_words
from helpers.report.figures.plots import contact_sheet, gscore_scatter, metric_title
from helpers.report.figures.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    axes_grid,
    axes_or_new,
    check_columns,
    legend_outside,
)
from helpers.report.table import single as refuse_several
from pictures import FAMILIES

_ONE = ("data_set", "backbone")


def score_parts(known, unknown, parts: Parts, *, score: str, ax: Axes) -> None:
    """Draw the scores of a mixture, and the two parts that an evaluator takes it for.

    The histograms of ID and OOD images, which the evaluator does not tell apart, stand one on the
    other; a part is drawn as the Gaussian of its mean and deviation with the area of its images.
    A part whose scores do not spread is a line at its mean; an empty one is not drawn.
    """
    known, unknown = float_array("known", known), float_array("unknown", unknown)
    if np.shape(parts.means) != (2,):
        raise ValueError(f"parts: those of one threshold expected, got {np.shape(parts.means)}")
    from scipy.stats import norm  # here, since SciPy takes long to import

    both = np.concatenate([known, unknown])
    edges = np.histogram_bin_edges(both, 40)
    stacks = {"color": [RED, BLUE], "hatch": ["////", ""], "label": ["OOD", "ID"]}
    ax.hist([unknown, known], edges, stacked=True, alpha=0.35, edgecolor="white", **stacks)
    grid, width = np.linspace(edges[0], edges[-1], 400), edges[1] - edges[0]
    styles = (("part taken for ID", GREEN, "-"), ("part taken for OOD", ORANGE, "--"))
    numbers = zip(parts.means, parts.deviations, parts.counts, strict=True)
    peak = highest = np.histogram(both, edges)[0].max()
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


def gscore_scatters(table: pd.DataFrame, *, level: float = 0.9) -> np.ndarray:
    """Draw `gscore_scatter` of FPR95 and AUROC for every network and detector of a results table.

    Gscores are those of the paper's evaluator, UDE with the Wasserstein distance.  The sets of the
    first run's division, at its threshold: dots are mixed with the ID images ``meta``, and crosses
    with ``test``.  Above a panel are the correlations of the dots, and the skill of what the line
    says of the crosses.
    """
    place = ["data_set", "backbone", "detector"]
    check_columns("table", table, [*place[:2], "run", "test_set", "method", "metric", "value"])
    rows = table[table["run"] == 0].assign(detector=table["method"].str.partition("/")[0])
    tests = rows.loc[rows["metric"].str.startswith("predicted_"), "test_set"]
    rows = rows[rows["variant"].isin(["meta", "test"])]
    gscores = rows[rows["method"].str.endswith("/ude_wasserstein") & (rows["metric"] == "gscore")]
    if gscores.empty:
        raise ValueError("table: no Gscores by ude_wasserstein")
    keys = [*place, "variant", "test_set"]
    truths = rows[rows["method"] == rows["detector"]]
    first, second = (
        one.pivot(index=keys, columns="metric", values="value") for one in (gscores, truths)
    )
    sets = first.join(second).loc[gscores.set_index(keys).index]  # a pivot sorts
    groups = dict([*sets.groupby(place, sort=False)])
    told = [n for n, column in enumerate(zip(*groups, strict=True)) if len(set(column)) > 1]
    axes = axes_grid(len(groups), 2, 2.9 * len(groups) + 0.4, 7.6)
    for row, (names, one) in zip(axes, groups.items(), strict=True):
        tested = one.index.get_level_values("test_set").isin(tests)
        learnt = one[~tested].xs("meta", level="variant")
        unseen = one[tested].xs("test", level="variant") if tested.any() else None
        for ax, metric in zip(row, ("fpr95", "auroc"), strict=True):
            line = fit_regression(learnt[["gscore"]], learnt[metric], [0.0])
            crosses = None if unseen is None else (unseen["gscore"], unseen[metric])
            gscore_scatter(line, metric=metric, level=level, unseen=crosses, ax=ax)
            if crosses is not None:
                said = _skill_words(line.predict(crosses[0]), crosses[1], learnt[metric])
                ax.set_title(f"{ax.get_title('left')}{said}", loc="left", pad=4)
            ax.get_legend().remove()
        above = ", ".join(DETECTORS.get(names[n], names[n]) for n in told)
        if above:
            row[0].set_title(f"{above}\n{row[0].get_title('left')}", loc="left", pad=4)
    legend_outside(axes, 4)
    return axes


def predicted_against_true(
    truths, predictions, intervals: tuple[np.ndarray, np.ndarray], learnt, *, metric: str, ax: Axes
) -> None:
    """Draw predictions for sets that a line was not fitted to; agreement is the diagonal."""
    title = metric_title(metric)
    truths = float_array("truths", truths)
    predictions = float_array("predictions", predictions, length=len(truths))
    low, high = (float_array("intervals", one, length=len(truths)) for one in intervals)
    inside = (low <= truths) & (truths <= high)
    ax.vlines(100 * truths, 100 * low, 100 * high, color=GREY, alpha=0.35, linewidth=1)
    for which, marker, colour, name in (
        (inside, "o", BLUE, "inside"),
        (~inside, "x", RED, "outside"),
    ):
        if which.any():
            ax.plot(
                100 * truths[which], 100 * predictions[which], marker, color=colour, markersize=5,
                linestyle="none", label=f"truth {name}, {which.sum()}",
            )  # fmt: skip
    ax.axline((0, 0), slope=1, color=GREY, linestyle="--", linewidth=1, zorder=0)
    everything = 100 * np.concatenate([truths, predictions, low, high])
    ends = (everything.min() - 3, everything.max() + 3)
    ax.set(xlim=ends, ylim=ends, aspect="equal")
    ax.set(xlabel=f"{title}, true (%)", ylabel=f"{title}, predicted (%)")
    if said := _skill_words(predictions, truths, learnt):
        ax.text(0.02, 0.98, said.strip(), transform=ax.transAxes, va="top")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)


def metric_histogram(
    groups: Mapping[str, Sequence[float]], *, metric: str, ax: Axes | None = None
) -> Axes:
    """Draw how a metric is distributed over sets, groups of them one on the other.

    Bins are 4 points wide, so that figures of several networks compare.
    """
    title = metric_title(metric)
    if not 1 <= len(groups) <= 4:
        raise ValueError(f"groups: 1 to 4 expected, got {len(groups)}")
    values = [100 * float_array(name, own) for name, own in groups.items()]
    ax = axes_or_new(ax, figsize=(6, 3))
    names = [f"{name}, {len(own)} sets" for name, own in zip(groups, values, strict=True)]
    ends = (min(map(np.min, values)), max(map(np.max, values)))
    first, last = (min(int(end // 4), 24) for end in ends)  # more bins would widen the axis
    edges = 4.0 * np.arange(first, last + 2)
    styles = {"color": [BLUE, ORANGE, GREEN, RED], "hatch": ["", "////", "....", "xxxx"]}
    styles = {name: looks[: len(values)] for name, looks in styles.items()}
    ax.hist(values, edges, stacked=True, label=names, edgecolor="white", **styles)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel=f"{title} (%)", ylabel="sets")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def difficulty_histogram(table: pd.DataFrame) -> Axes:
    """Draw the AUROC of ODIN on the sets of a results table, drawn ones and others."""
    check_columns("table", table, [*_ONE, "test_set", "method", "variant", "metric", "value"])
    refuse_several("table", table, *_ONE)
    own = table[(table["method"] == "odin") & (table["variant"] == "test")]
    own = own[own["metric"] == "auroc"]
    if own.empty:
        raise ValueError("table: no AUROC of odin by sets")
    kinds = own["test_set"].isin([*FAMILIES]).map({True: "drawn", False: "not drawn"})
    return metric_histogram(own.groupby(kinds)["value"].agg(list).to_dict(), metric="auroc")


def _skill_words(predictions, truths, learnt) -> str:
    """Return a line that says the skill of predictions, or nothing where there is none."""
    try:
        return f"\nskill {skill_in_words(skill(predictions, truths, learnt))}"
    except ValueError:  # fewer than three sets, or truths that are the constant
        return ""


def easiest_to_hardest(
    images: Mapping[str, np.ndarray], areas: Mapping[str, float], *, columns: int = 8
) -> Axes:
    """Show images of sets, one set a row, from the easiest to the hardest for a detector."""
    missing = [name for name in images if name not in areas]
    if missing or not images:
        raise ValueError(f"areas: no AUROC of {', '.join(missing) or 'any set to show'}")
    order = sorted(images, key=areas.get, reverse=True)
    shown = [images[name][:columns] for name in order]
    labels = np.repeat(range(len(order)), list(map(len, shown)))
    names = [f"{name}, {100 * areas[name]:.1f}" for name in order]
    ax = contact_sheet(np.concatenate(shown), labels, names, columns=columns)
    ax.set_title("AUROC (%), easiest first", loc="left")
    return ax
