"""Figures of calibration: does a confidence say how often the answer is right?"""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from helpers.metrics import ReliabilityCurve
from helpers.report.figures.style import (
    BLUE,
    GREY,
    RED,
    axes_grid,
    axes_or_new,
    grid_names,
    legend_outside,
)


def reliability_diagram(
    curve: ReliabilityCurve, *, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw accuracy against confidence, with the gap between them, and the confidences below.

    Bars show the accuracy of each bin, hatched boxes the gap to the bin's mean confidence;
    perfectly calibrated answers follow the diagonal.  The ECE is printed in the corner.
    """
    share = curve.count / curve.count.sum()
    error = share @ np.abs(curve.accuracy - curve.confidence)
    ax = axes_or_new(ax, figsize=(3.6, 4.2))
    left, width = curve.edges[:, 0], np.diff(curve.edges, axis=1)[:, 0]
    bars = {"align": "edge", "linewidth": 0.6}
    ax.bar(left, curve.accuracy, width, color=BLUE, edgecolor="white", label="accuracy", **bars)
    ax.bar(
        left, curve.confidence - curve.accuracy, width, bottom=curve.accuracy, label="gap",
        color=mpl.colors.to_rgba(RED, 0.25), edgecolor=RED, hatch="////", **bars,
    )  # fmt: skip
    ax.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1, label="perfect")
    box = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 2}
    ax.text(0.04, 0.96, f"ECE {error:.3f}", transform=ax.transAxes, va="top", bbox=box)
    ax.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy", title=title, aspect="equal")
    ax.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    ax.tick_params(labelbottom=False)

    below = ax.inset_axes((0, -0.36, 1, 0.28), sharex=ax)
    below.bar(left, share, width, color=GREY, edgecolor="white", **bars)
    top = np.ceil(10 * share.max()) / 10
    below.set(ylim=(0, top), yticks=[0, top], xlabel="confidence", ylabel="share")
    below.tick_params(labelbottom=True)
    return ax


def reliability_grid(panels: Mapping[tuple[str, str], ReliabilityCurve]) -> np.ndarray:
    """Draw a reliability diagram for each method (rows) and calibration (columns)."""
    methods, calibrations = grid_names(panels)
    size = (len(methods), len(calibrations))
    axes = axes_grid(*size, 3.5 * size[0], 3 * size[1])
    for (row, column), ax in np.ndenumerate(axes):
        method, calibration = methods[row], calibrations[column]
        title = f"{method}\n{calibration} scaling"
        reliability_diagram(panels[method, calibration], title=title, ax=ax)
        ax.label_outer()
        if column:
            ax.child_axes[0].set_ylabel("")
        if row + 1 < len(methods):
            ax.child_axes[0].set_xlabel("")
    top = max(ax.child_axes[0].get_ylim()[1] for ax in axes.flat)  # one scale, to compare them
    for ax in axes.flat:
        ax.child_axes[0].set(ylim=(0, top), yticks=[0, top])
    legend_outside(axes, 3)
    return axes
