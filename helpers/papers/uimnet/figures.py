"""Figures of classes, of algorithms and measures side by side, and of what a change does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers import metrics
from helpers.checks import known_name
from helpers.papers.uimnet.algorithms import ALGORITHMS
from helpers.papers.uimnet.columns import FREE, PAPERS_FORM
from helpers.papers.uimnet.measures import MEASURES, record, titles
from helpers.papers.uimnet.roles import Partition
from helpers.papers.uimnet.tables import HEADINGS
from helpers.report.figures.heatmaps import heatmap
from helpers.report.figures.style import BLUE, GREY, ORANGE, axes_grid, legend_outside
from helpers.report.table import single

_CHANGES = {  # the two sides of each, and how they are called
    "spectral": {FREE: "no spectral normalisation"},  # and the forms that there are
    "variant": {"primary": "chosen trial", "ensemble": "ensemble of all trials"},
    "calibration": {"before": "before calibration", "after": "after"},
}
_DOTS = (  # the second is smaller, so that it does not hide the first
    {"fmt": "o", "color": BLUE, "markersize": 8},
    {"fmt": "D", "color": ORANGE, "markersize": 4.5},
    {"fmt": "s", "color": GREY, "markersize": 4.5},
)
_FORMS = {
    FREE: "no spectral\nnormalisation",
    PAPERS_FORM: "weights:\nthe paper's text",
    "strict": "strict: its code,\nhad it run",
}
_PLACE = ["data_set", "backbone"]
_DOMAINS = {  # marker, colour, line
    "in-domain": ("o", BLUE, "-"),
    "out-domain": ("s", ORANGE, "--"),
    "not taken": (".", GREY, "-"),
}
_NAMED = 60  # classes at most, for their names to stand beside them


def measure_heatmap(part: pd.DataFrame, *, metric: str = "auroc") -> Axes:
    """Show an out-domain metric of every measure with every algorithm, in per cent.

    The best measure of each algorithm is bold; those that an algorithm does not have stay white.

    Parameters
    ----------
    part : DataFrame
        The rows of `helpers.papers.uimnet.tables.domain_means` of one data set and network, with or
        without spectral normalisation, and of one variant and calibration.
    metric : {"auroc", "in_as_in", "out_as_out"}
        Higher is better.  The AUROC is purple above chance and orange below it; of the others,
        darker is better.

    Raises
    ------
    ValueError
        An unknown metric, several of what `part` must hold one of, or no such number.
    """
    known_name("metric", metric, ("auroc", "in_as_in", "out_as_out"))
    single("part", part, *_PLACE, *_CHANGES)
    own = part[part["metric"] == metric]
    if own.empty:
        raise ValueError(f"part: no {metric}")
    values = 100 * own.pivot(index="measure", columns="algorithm", values="mean")
    values = values.reindex(
        index=list(called := titles(values.index)),
        columns=[name for name in ALGORITHMS if name in values],
    )
    ax = plt.subplots(figsize=(6, 0.32 * len(values) + 1.3), layout="constrained")[1]
    colours = {"cmap": "viridis_r"}
    if metric == "auroc":
        reach = max(1.0, np.nanmax(np.abs(values.to_numpy() - 50)))
        colours = {"cmap": "PuOr", "vmin": 50 - reach, "vmax": 50 + reach}
    best = values.eq(values.max()) & values.min().lt(values.max())
    shown = values.rename(index=called, columns=ALGORITHMS)
    heatmap(ax, shown, ".1f", bold=best, slope=30, fontsize=11, **colours)
    ax.set_title(HEADINGS[metric][0])
    return ax


def paired_change(
    part: pd.DataFrame, *, change: str, panels: Sequence[tuple[str, str]]
) -> np.ndarray:
    """Draw what a change does to each algorithm: dots that a line joins, in each panel.

    Whiskers are standard deviations over data seeds, where there are several.

    Parameters
    ----------
    part : DataFrame
        The rows of `helpers.papers.uimnet.tables.domain_means` of one data set and network.
    change : {"spectral", "variant", "calibration"}
        What differs between the dots: spectral normalisation (none, and one or two forms), the
        chosen trial or the ensemble, the temperature.  The other two are as without any change.
    panels : sequence of (str, str)
        Of each panel its metric and the measure, which is "" for in-domain metrics: as in
        ``[("accuracy", ""), ("out_as_out", "entropy")]``.

    Returns
    -------
    ndarray of Axes, shape [panels]

    Raises
    ------
    ValueError
        An unknown change, metric or measure, several data sets or networks, or a panel for which
        no algorithm has both numbers.
    """
    known_name("change", change, _CHANGES)
    single("part", part, *_PLACE)
    sides = dict(_CHANGES[change])
    if change == "spectral":
        forms = [one for one in dict.fromkeys(part["spectral"]) if one != FREE]
        sides |= {one: one.replace("_", " ") for one in forms}
    if not 2 <= len(sides) <= len(_DOTS):
        raise ValueError(f"part: two or three sides of the change expected, got {list(sides)}")
    for name, values in _CHANGES.items():
        wanted = list(sides) if name == change else list(values)[:1]
        part = part[part[name].isin(wanted)]
    algorithms = [name for name in ALGORITHMS if name in set(part["algorithm"])]
    places = {name: place for place, name in enumerate(algorithms)}
    (axes,) = axes_grid(1, len(panels), 0.3 * len(algorithms) + 1.2, sharey=True)
    for (metric, measure), ax in zip(panels, axes, strict=True):
        known_name("metric", metric, HEADINGS)
        known_name("measure", measure, dict.fromkeys(["", *MEASURES, *part["measure"]]))
        heading, scale, _ = HEADINGS[metric]
        own = part[(part["metric"] == metric) & (part["measure"] == measure)]
        wide = scale * own.pivot(index="algorithm", columns=change, values=["mean", "std"])
        wide = wide.reindex(columns=pd.MultiIndex.from_product([["mean", "std"], sides]))
        wide = wide.dropna(subset=[("mean", side) for side in sides])
        if wide.empty:
            what = f"{metric} of {measure}" if measure else metric
            raise ValueError(f"part: no {what} on both sides of the change")
        y = np.array([places[name] for name in wide.index])
        ends = wide["mean"].min(axis=1), wide["mean"].max(axis=1)
        ax.hlines(y, *ends, color=GREY, linewidth=1.2)
        for side, style in zip(sides, _DOTS, strict=False):
            std = wide["std"][side]
            whiskers = std.fillna(0) if std.notna().any() else None
            ax.errorbar(
                wide["mean"][side], y, xerr=whiskers, **style, elinewidth=1, label=sides[side]
            )
        ax.set_xlabel(heading if not measure else f"{heading}\nof {record(measure).title}")
        ax.margins(x=0.12)
        ax.grid(axis="y", linewidth=0.4)
        ax.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(algorithms)), [ALGORITHMS[name] for name in algorithms])
    axes[0].set_ylim(len(algorithms) - 0.5, -0.5)
    legend_outside(axes, len(sides))
    return axes


def accuracy_of_forms(right: Mapping[str, Sequence[np.ndarray]], *, chance: float) -> Axes:
    """Draw how often networks are right that differ in the form of spectral normalisation alone.

    A ring is a network, a dot the mean of a form's; whiskers are a 95 % interval of that mean, by
    a bootstrap over the images.

    Parameters
    ----------
    right : mapping of str to sequence of ndarray, each of shape [images]
        Of each form, whether its networks are right about the same images.
    chance : float
        The accuracy of guessing, a dotted line.
    """
    ax = plt.subplots(figsize=(6, 0.5 * len(right) + 1), layout="constrained")[1]
    for place, networks in enumerate(right.values()):
        each = 100 * np.array(networks, dtype=float)
        weights = metrics.resample_weights(each.shape[1], replicates=2000, seed=0)
        replicates = metrics.weighted_mean(each.mean(axis=0), weights)
        low, mean, high = np.insert(np.quantile(replicates, (0.025, 0.975)), 1, each.mean())
        ax.errorbar(mean, place, xerr=[[mean - low], [high - mean]], **_DOTS[0])
        rings = {
            "linestyle": "none",
            "marker": "o",
            "color": ORANGE,
            "fillstyle": "none",
            "zorder": 3,
        }
        ax.plot(each.mean(axis=1), np.full(len(each), place), **rings)
    ax.axvline(100 * chance, color=GREY, linestyle=":")
    ax.set_yticks(range(len(right)), [_FORMS.get(name, name) for name in right])
    ax.set(xlabel="accuracy (%)", ylim=(len(right) - 0.5, -0.5))
    return ax


def class_dendrogram(partition: Partition, *, words: Mapping[str, str]) -> Axes:
    """Draw how classes were merged, the left branch of the root on top, and which were taken.

    The two branches differ in colour and line, the classes in colour and marker.  Of more than 60
    classes the names are left out.

    Parameters
    ----------
    partition : Partition
        From `helpers.papers.uimnet.roles.partition`.
    words : mapping of str to str
        What classes are called, where their names are WordNet's identifiers.

    Returns
    -------
    Axes
        As high as the names need and 6 inches wide.
    """
    from scipy.cluster import hierarchy  # here, since SciPy takes long to import

    names, merges = partition.class_names, partition.linkage
    drawn = hierarchy.dendrogram(merges, no_plot=True)
    named = len(names) <= _NAMED
    ax = plt.subplots(figsize=(6, 0.22 * len(names) + 0.9 if named else 6), layout="constrained")[1]
    first = int(merges[-1, 0])
    left = merges[first - len(names), 3] if first >= len(names) else 1
    for places, distances in zip(drawn["icoord"], drawn["dcoord"], strict=True):
        rows = (np.array(places) - 5) / 10  # SciPy's leaves stand at 5, 15, 25, ...
        domain = "in-domain" if rows.max() < left else "out-domain"
        _, colour, line = _DOMAINS["not taken" if rows.min() < left <= rows.max() else domain]
        ax.plot(distances, rows, color=colour, linestyle=line, linewidth=1)
    role = dict.fromkeys(partition.in_domain, "in-domain")
    role |= dict.fromkeys(partition.out_domain, "out-domain")
    order = [names[leaf] for leaf in drawn["leaves"]]
    for domain, (marker, colour, _) in _DOMAINS.items():
        rows = [row for row, name in enumerate(order) if role.get(name, "not taken") == domain]
        if rows:
            style = {"marker": marker, "color": colour, "linestyle": "none", "clip_on": False}
            ax.plot(np.zeros(len(rows)), rows, label=domain, markersize=6 if named else 3, **style)
    ax.set(xlabel="distance by Ward's criterion", ylim=(len(names) - 0.5, -0.5))
    ax.invert_xaxis()  # the root on the left, so that names stand to the right of their leaves
    ax.set_xlim(right=0)
    ax.yaxis.tick_right()
    labels = [words.get(name, name) for name in order] if named else []
    ax.set_yticks(range(len(labels)), labels)
    ax.tick_params(axis="y", length=0, pad=8)
    ax.spines["left"].set_visible(False)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    return ax
