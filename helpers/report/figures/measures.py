"""Figures of algorithms and measures side by side, and of what one change does to them."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers.checks import known_name
from helpers.papers.uimnet.protocol import ALGORITHMS, MEASURES
from helpers.papers.uimnet.tables import HEADINGS
from helpers.report.figures.style import BLUE, GREY, ORANGE, axes_or_new, check_columns

_CHANGES = {  # the two sides of each, and how they are called
    "spectral": {0.0: "no spectral normalisation"},  # and the coefficients that there are
    "variant": {"primary": "chosen trial", "ensemble": "ensemble of all trials"},
    "calibration": {"before": "before calibration", "after": "after"},
}
_DOTS = (  # the second is smaller, so that it does not hide the first
    {"fmt": "o", "color": BLUE, "markersize": 8},
    {"fmt": "D", "color": ORANGE, "markersize": 4.5},
    {"fmt": "s", "color": GREY, "markersize": 4.5},
)
_PLACE = ["data_set", "backbone"]


def measure_heatmap(part: pd.DataFrame, *, metric: str = "auroc", ax: Axes | None = None) -> Axes:
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
    ax : Axes, optional

    Raises
    ------
    ValueError
        An unknown metric, several of what `part` must hold one of, or no such number.
    """
    known_name("metric", metric, ("auroc", "in_as_in", "out_as_out"))
    _refuse_several(part, *_PLACE, *_CHANGES)
    own = part[part["metric"] == metric]
    if own.empty:
        raise ValueError(f"part: no {metric}")
    values = 100 * own.pivot(index="measure", columns="algorithm", values="mean")
    values = values.reindex(index=_present(MEASURES, values.index))
    values = values.reindex(columns=_present(ALGORITHMS, values.columns))
    ax = axes_or_new(ax, figsize=(6, 0.32 * len(values) + 1.3))
    colours = {"cmap": "viridis_r"}
    if metric == "auroc":
        reach = max(1.0, np.nanmax(np.abs(values.to_numpy() - 50)))
        colours = {"cmap": "PuOr", "vmin": 50 - reach, "vmax": 50 + reach}
    import seaborn as sns  # here, since it takes long to import

    sns.heatmap(values, ax=ax, annot=True, fmt=".1f", cbar=False, linewidths=0.5, **colours)
    best = values.eq(values.max()) & values.min().lt(values.max())
    marks = best.to_numpy()[values.notna().to_numpy()]  # seaborn writes no text where none is
    for number, bold in zip(ax.texts, marks, strict=True):
        number.set_weight("bold" if bold else "normal")
    slope = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(ax.get_xticks(), [ALGORITHMS[name] for name in values], **slope)
    ax.set_yticks(ax.get_yticks(), [MEASURES[name] for name in values.index], rotation=0)
    ax.tick_params(length=0)
    ax.set(xlabel="", ylabel="", title=HEADINGS[metric][0])
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
        What differs between the dots: spectral normalisation (none, and one or two
        coefficients), the chosen trial or the ensemble, the temperature.  The other two are as
        without any change.
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
    _refuse_several(part, *_PLACE)
    sides = dict(_CHANGES[change])
    if change == "spectral":
        sides |= {one: f"coefficient {one:g}" for one in sorted(set(part["spectral"]) - {0.0})}
    if not 2 <= len(sides) <= len(_DOTS):
        raise ValueError(f"part: two or three sides of the change expected, got {list(sides)}")
    for name, values in _CHANGES.items():
        wanted = list(sides) if name == change else list(values)[:1]
        part = part[part[name].isin(wanted)]
    algorithms = _present(ALGORITHMS, part["algorithm"])
    places = {name: place for place, name in enumerate(algorithms)}
    figure, axes = plt.subplots(
        1, len(panels), figsize=(6, 0.3 * len(algorithms) + 1.2), sharey=True,
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for (metric, measure), ax in zip(panels, axes[0], strict=True):
        known_name("metric", metric, HEADINGS)
        known_name("measure", measure, ["", *MEASURES])
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
        ax.set_xlabel(heading if not measure else f"{heading}\nof {MEASURES[measure]}")
        ax.margins(x=0.12)
        ax.grid(axis="y", linewidth=0.4)
        ax.tick_params(axis="y", length=0)
    axes[0, 0].set_yticks(range(len(algorithms)), [ALGORITHMS[name] for name in algorithms])
    axes[0, 0].set_ylim(len(algorithms) - 0.5, -0.5)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=len(sides)
    )
    return axes[0]


def _present(order: dict[str, str], found: pd.Index | pd.Series) -> list[str]:
    return [name for name in order if name in set(found)]


def _refuse_several(part: pd.DataFrame, *columns: str) -> None:
    check_columns("part", part, [*columns, "algorithm", "measure", "metric", "mean", "std"])
    for name in columns:
        if part[name].nunique() > 1:
            several = ", ".join(map(str, part[name].unique()))
            raise ValueError(f"part: several of {name} ({several}); choose one")
