"""Figures of what changes as the mixtures do: correlation and skill."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.ticker import NullLocator

from helpers.papers.gscore.skills import set_errors
from helpers.papers.gscore.tables import EVALUATOR_TITLES
from helpers.report.figures.style import (
    GREY,
    axes_grid,
    check_columns,
    method_styles,
)
from helpers.report.table import single as refuse_several

_AXES = {
    "ratio": "ID images for each OOD image",
    "size": "images in the mixture",
    "validation": "ID images for validation",
}
_CORRELATION = "pearson_fpr95"
_ONE = ("data_set", "backbone")


def correlation_panels(table: pd.DataFrame) -> np.ndarray:
    """Draw how strongly Gscores correlate with the FPR95 of MSP as the mixtures change.

    The absolute values of Pearson's correlation, mean over runs, with bars of their standard
    deviation and a curve for each evaluator, which looks alike in all such figures; over ratios,
    sizes and validation images on logarithmic axes.
    """
    check_columns("table", table, [*_ONE, "method", "variant", "metric", "value"])
    own = table[(table["metric"] == _CORRELATION) & table["method"].str.startswith("msp/")]
    own = own.assign(value=own["value"].abs())
    axes = _panels(table, own, _CORRELATION, "|r| with FPR95")
    for ax in axes.flat:
        ax.set_ylim(0, 1.02)
    return axes


def skill_panels(table: pd.DataFrame) -> np.ndarray:
    """Draw the skill of predicted FPR95 of MSP as the mixtures change, as `correlation_panels` do.

    A mark is the skill over the sets that test, mean over runs, with bars of its standard
    deviation; what is below the line at 0 is no better than guessing.  Axes end at −1.
    """
    check_columns("table", table, [*_ONE, "run", "method", "variant", "metric", "value"])
    own = table[(table["metric"] == "rmse_fpr95") & table["method"].str.startswith("msp/")]
    place = [*_ONE, "run"]
    errors = set_errors(table[table["method"].str.startswith("msp")], ["fpr95"])
    guessed = errors[errors["variant"] == "primary"].drop_duplicates([*place, "test_set"])
    guessed = guessed.assign(guessed=guessed["guessed"] ** 2).groupby(place)["guessed"].mean()
    own = own.merge(guessed.reset_index(), on=place)
    own = own.assign(value=1 - own["value"] ** 2 / own["guessed"])
    axes = _panels(table, own, "rmse_fpr95", "skill, FPR95")
    for ax in axes.flat:
        if ax.axison:
            ax.set_ylim(-1.05, 1.05)
            ax.axhline(0, color=GREY, linewidth=1)
            ax.text(0.02, -0.04, "no better than guessing", transform=ax.get_yaxis_transform(),
                    va="top", color=GREY)  # fmt: skip
    return axes


def _panels(table: pd.DataFrame, own: pd.DataFrame, metric: str, label: str) -> np.ndarray:
    """Draw what evaluators have in the variants, a row for each network; see its two callers."""
    refuse_several("table", table, "data_set")
    variants = own["variant"].replace("primary", "ratio 1:1").str.partition(" ")
    own = own.assign(
        evaluator=own["method"].str.removeprefix("msp/"), over=variants[0], step=variants[2]
    )
    if not (own["over"].isin([*_AXES]) & (own["variant"] != "primary")).any():
        raise ValueError(f"table: no {metric} of msp in any variant")
    networks = table["backbone"].unique()
    axes = axes_grid(len(networks), 3, 2.6 * len(networks) + 0.6, 9.5, sharey=True)
    styles = method_styles(EVALUATOR_TITLES)
    handles = {}
    for (row, column), ax in np.ndenumerate(axes):
        over, title = [*_AXES.items()][column]
        part = own[(own["backbone"] == networks[row]) & (own["over"] == over)]
        # an evaluator that stands at the ratio 1:1 alone has no curve
        part = part[part["method"].isin(part.loc[part["variant"] != "primary", "method"])]
        if part.empty:
            ax.set_axis_off()
            continue
        part = part.assign(place=part["step"].map(_place))
        for name, numbers in part.groupby("evaluator", sort=False):
            points = numbers.groupby("place")["value"].agg(["mean", "std"]).fillna({"std": 0})
            style = {key: styles[name][key] for key in ("color", "linestyle", "marker")}
            handles[EVALUATOR_TITLES[name]] = ax.errorbar(
                points.index, points["mean"], points["std"], **style, markersize=5, elinewidth=0.8
            )
        ax.set(xscale="log", xlabel=title)
        ticks = part.drop_duplicates("step").sort_values("place")
        ax.set_xticks(ticks["place"].tolist(), ticks["step"])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.tick_params(axis="x", rotation=90 if len(ticks) > 8 else 0)
    for row, name in zip(axes, networks, strict=True):
        row[0].set_title(name, loc="left")
        row[0].set_ylabel(label)
    key = {"loc": "outside upper center", "ncols": len(handles)}
    axes[0, 0].figure.legend(handles.values(), handles, **key)
    return axes


def _place(step: str) -> float:
    """Return where a variant is on the axis: "1:10" is at 0.1, "50" at 50."""
    first, _, second = step.partition(":")
    return float(first) / float(second or 1)
