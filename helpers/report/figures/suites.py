"""Figures of many sets of unknown images: how hard they are, and what mixtures of them tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from helpers.checks import float_array, known_name
from helpers.data.generated import FAMILIES
from helpers.labelfree import EVALUATORS
from helpers.papers.gscore.tables import EVALUATOR_TITLES, METRIC_TITLES
from helpers.report.figures.images import contact_sheet
from helpers.report.figures.style import (
    BLUE,
    GREEN,
    LINES,
    MARKERS,
    ORANGE,
    RED,
    axes_or_new,
    check_columns,
)

_AXES = {
    "ratio": "ID images for each OOD image",
    "size": "images in the mixture",
    "validation": "ID images for validation",
}
_ONE = ("data_set", "backbone")
_USUAL = ("kmeans_l2", "gmm_wasserstein", "ude_wasserstein")  # have the first colours


def metric_histogram(
    groups: Mapping[str, Sequence[float]], *, metric: str, bins: int = 25, ax: Axes | None = None
) -> Axes:
    """Draw how a metric is distributed over sets, groups of them one on the other.

    Parameters
    ----------
    groups : mapping of str to array_like, shape [S]
        The metric of each set, as shares, of up to four groups: generated and real, say.
    metric : str
        One of `helpers.labelfree.METRICS`.
    bins : int
        Of equal width from 0 to 100 %, so that figures of several networks compare.
    ax : Axes, optional

    Raises
    ------
    ValueError
        The metric is unknown, no group or more than four; empty or NaN.
    """
    title = METRIC_TITLES[known_name("metric", metric, METRIC_TITLES)]
    if not 1 <= len(groups) <= 4:
        raise ValueError(f"groups: 1 to 4 expected, got {len(groups)}")
    values = [100 * float_array(name, own) for name, own in groups.items()]
    ax = axes_or_new(ax, figsize=(6, 3))
    names = [f"{name}, {len(own)} sets" for name, own in zip(groups, values, strict=True)]
    edges = np.linspace(0, 100, bins + 1)
    ends = np.searchsorted(edges, [min(map(np.min, values)), max(map(np.max, values))], "right")
    edges = edges[max(ends[0] - 1, 0) : ends[1] + 1]  # bins beyond the values would widen the axis
    if len(edges) < 2:  # all are 100 %, the end of the last bin
        edges = np.linspace(0, 100, bins + 1)[-2:]
    _, _, stacks = ax.hist(
        values, edges, stacked=True, label=names,
        color=[BLUE, ORANGE, GREEN, RED][: len(values)],
    )  # fmt: skip
    bars = [stacks] if len(values) == 1 else stacks
    for own, hatch in zip(bars, ("", "////", "....", "xxxx"), strict=False):
        for bar in own:
            bar.set(hatch=hatch, edgecolor="white")
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel=f"{title} (%)", ylabel="sets")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def difficulty_histogram(
    table: pd.DataFrame, *, detector: str = "odin", ax: Axes | None = None
) -> Axes:
    """Draw the AUROC of a detector on the sets of a results table, drawn ones and others.

    Parameters
    ----------
    table : DataFrame
        Of one tier, data set and backbone; its mixtures with the ID images ``test`` are shown.
    detector : str
        Whose scores.
    ax : Axes, optional

    Raises
    ------
    ValueError
        Several data sets or backbones, or no such AUROC.
    """
    check_columns("table", table, [*_ONE, "test_set", "method", "variant", "metric", "value"])
    _refuse_several(table)
    own = table[(table["method"] == detector) & (table["variant"] == "test")]
    own = own[own["metric"] == "auroc"]
    if own.empty:
        raise ValueError(f"table: no AUROC of {detector} by sets")
    kinds = own["test_set"].isin([*FAMILIES]).map({True: "drawn", False: "not drawn"})
    return metric_histogram(own.groupby(kinds)["value"].agg(list).to_dict(), metric="auroc", ax=ax)


def correlation_curves(
    table: pd.DataFrame,
    *,
    over: str,
    detector: str = "msp",
    correlation: str = "pearson_fpr95",
    ax: Axes | None = None,
) -> Axes:
    """Draw how strongly Gscores correlate with a metric as the mixtures change.

    The absolute values of correlations, mean over runs, with bars of their standard deviation and a
    curve for each evaluator, which looks alike in all such figures; the axis is logarithmic.

    Parameters
    ----------
    table : DataFrame
        Rows of one tier, data set and backbone of a results table; its variants "ratio 1:10",
        "size 50" and so on are the places on the axis, the primary one being the ratio 1:1.
    over : {"ratio", "size", "validation"}
        Which of them.
    detector : str
        Whose scores.
    correlation : str
        "pearson" or "spearman" and a metric, as the table has it.
    ax : Axes, optional

    Raises
    ------
    ValueError
        `over` is unknown, several data sets or backbones, or no such number.
    """
    label = _AXES[known_name("over", over, _AXES)]
    check_columns("table", table, ["data_set", "backbone", "method", "variant", "metric", "value"])
    _refuse_several(table)
    variants = table["variant"].replace("primary", "ratio 1:1")
    own = table[(table["metric"] == correlation) & variants.str.startswith(f"{over} ")]
    own = own[own["method"].str.startswith(f"{detector}/")]
    own = own[own["method"].isin(own.loc[own["variant"] != "primary", "method"])]
    if own.empty:
        raise ValueError(f"table: no {correlation} of {detector} in variants by {over}")
    steps = variants[own.index].str.removeprefix(f"{over} ")
    own = own.assign(step=steps, place=steps.map(_place), size=own["value"].abs())
    ax = axes_or_new(ax, figsize=(6, 3.4))
    evaluators = own["method"].str.removeprefix(f"{detector}/")
    styles = {name: number for number, name in enumerate(dict.fromkeys([*_USUAL, *EVALUATORS]))}
    for name, one in own.groupby(evaluators, sort=False):
        number = styles.setdefault(name, len(styles))
        points = one.groupby("place")["size"].agg(["mean", "std"]).fillna({"std": 0})
        ax.errorbar(
            points.index, points["mean"], points["std"], color=f"C{number}",
            linestyle=LINES[number % len(LINES)], marker=MARKERS[number % len(MARKERS)],
            markersize=5, elinewidth=0.8, label=EVALUATOR_TITLES.get(name, name),
        )  # fmt: skip
    ax.set_xscale("log")
    ticks = own.drop_duplicates("step").sort_values("place")
    ax.xaxis.set_major_locator(FixedLocator(ticks["place"].tolist()))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticklabels(ticks["step"])
    ax.tick_params(axis="x", rotation=45 if len(ticks) > 8 else 0)
    symbol = "r" if correlation.startswith("pearson") else "ρ"
    metric = correlation.partition("_")[2]
    ax.set(xlabel=label, ylabel=f"|{symbol}| with {METRIC_TITLES.get(metric, metric)}")
    ax.set_ylim(0, 1.02)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def correlation_panels(
    table: pd.DataFrame, *, detector: str = "msp", correlation: str = "pearson_fpr95"
) -> np.ndarray:
    """Draw `correlation_curves` over ratios, sizes and validation images, a network a row.

    Parameters
    ----------
    table : DataFrame
        Rows of one tier and data set of a results table.
    detector, correlation : str
        As for `correlation_curves`.

    Returns
    -------
    ndarray of Axes, shape [networks, 3]
        With one legend above them; what a network lacks is left blank.

    Raises
    ------
    ValueError
        Several data sets, or no such number of any network.
    """
    check_columns("table", table, ["data_set", "backbone", "method", "variant", "metric", "value"])
    groups = dict([*table.groupby("backbone", sort=False)])
    missing = f"table: no {correlation} of {detector} in any variant"
    if not groups:
        raise ValueError(missing)
    size = (9.5, 2.6 * len(groups) + 0.6)
    figure, axes = plt.subplots(
        len(groups), len(_AXES), figsize=size, layout="constrained", squeeze=False, sharey=True
    )
    handles = {}
    for row, (name, one) in zip(axes, groups.items(), strict=True):
        for ax, over in zip(row, _AXES, strict=True):
            asked = (one["metric"] == correlation) & one["variant"].str.startswith(f"{over} ")
            if not (asked & one["method"].str.startswith(f"{detector}/")).any():
                ax.set_axis_off()
                continue
            correlation_curves(one, over=over, detector=detector, correlation=correlation, ax=ax)
            handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
            ax.get_legend().remove()
            ax.tick_params(axis="x", rotation=90 if len(ax.get_xticks()) > 8 else 0)
            ax.label_outer(remove_inner_ticks=False)
            ax.xaxis.set_tick_params(labelbottom=True)
            ax.set_xlabel(_AXES[over])
        row[0].set_title(name, loc="left")
    if not handles:
        plt.close(figure)
        raise ValueError(missing)
    figure.legend(handles.values(), handles, loc="outside upper center", ncols=len(handles))
    return axes


def easiest_to_hardest(
    images: Mapping[str, np.ndarray],
    truths: Mapping[str, float],
    *,
    metric: str = "auroc",
    columns: int = 8,
    ax: Axes | None = None,
) -> Axes:
    """Show images of sets, one set a row, from the easiest to the hardest for a detector.

    Parameters
    ----------
    images : mapping of str to ndarray of uint8, shape [N, H, W, 3]
        The sets to show by name, all of one size; the first images of each are shown.
    truths : mapping of str to float
        The metric of each of them, as shares; may hold others too.
    metric : str
        One of `helpers.labelfree.METRICS`.
    columns : int
        Images shown of each set, at most.
    ax : Axes, optional

    Raises
    ------
    ValueError
        The metric is unknown, no set, one without its metric, or images that are no RGB images.
    """
    title = METRIC_TITLES[known_name("metric", metric, METRIC_TITLES)]
    missing = [name for name in images if name not in truths]
    if missing or not images:
        raise ValueError(f"truths: no {title} of {', '.join(missing) or 'any set to show'}")
    order = sorted(images, key=truths.get, reverse=metric in ("auroc", "aupr"))
    shown = np.concatenate([images[name][:columns] for name in order])
    labels = np.repeat(np.arange(len(order)), [len(images[name][:columns]) for name in order])
    names = [f"{name}, {100 * truths[name]:.1f}" for name in order]
    ax = contact_sheet(shown, labels, names, columns=columns, ax=ax)
    ax.set_title(f"{title} (%), easiest first", loc="left")
    return ax


def _place(step: str) -> float:
    """Return where a variant is on the axis: "1:10" is at 0.1, "50" at 50."""
    first, _, second = step.partition(":")
    return float(first) / float(second or 1)


def _refuse_several(table: pd.DataFrame) -> None:
    """Refuse the rows of several networks, which one figure would mix."""
    for column in _ONE:
        if table[column].nunique() > 1:
            several = ", ".join(table[column].unique())
            raise ValueError(f"table: several of {column} ({several}); choose one")
