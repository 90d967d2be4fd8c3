"""Figures of scores and confidences of groups of images, and of their calibration."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from helpers.checks import float_array
from helpers.metrics import ReliabilityCurve
from helpers.report.figures.style import (
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    RED,
    axes_grid,
    axes_or_new,
    curve_style,
    grid_names,
    legend_outside,
)

_BANDWIDTH = 0.03
_GROUPS = ((BLUE, "-", ""), (RED, "--", "////"), (GREEN, ":", "...."), (PURPLE, "-.", "xxxx"))


def score_histograms(
    groups: Mapping[str, np.ndarray], *, score: str, bins: int = 30, ax: Axes | None = None
) -> Axes:
    """Draw how the scores of up to four groups of images are distributed, on one axis."""
    if not 1 <= len(groups) <= len(_GROUPS):
        raise ValueError(f"groups: 1 to {len(_GROUPS)} expected, got {len(groups)}")
    arrays = {name: float_array(name, values) for name, values in groups.items()}
    limits = (min(map(np.min, arrays.values())), max(map(np.max, arrays.values())))
    ax = axes_or_new(ax, figsize=(6, 3.2))
    _histograms(arrays, bins, limits, ax)
    ax.set_xlabel(score)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def confidence_histograms(known, unknown, threshold: float) -> Axes:
    """Draw the confidences of images of known and of unknown classes, and the threshold."""
    groups = {}
    for name, values in (("known", known), ("unknown", unknown)):
        values = _confidences(name, values)
        groups[f"{name} classes, {np.mean(values < threshold):.0%} rejected"] = values
    ax = axes_or_new(None, figsize=(6, 3.2))
    _histograms(groups, 30, (0, 1), ax)
    ax.axvline(threshold, color=GREY, linewidth=1.2, label=f"threshold, {threshold:.3f}")
    ax.set(xlim=(0, 1), xlabel="confidence")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def confidence_densities(panels: Mapping[str, Mapping[str, np.ndarray]]) -> np.ndarray:
    """Draw the density of the confidence in each category of images, one panel per method.

    Every image is spread by a Gaussian of standard deviation 0.03; what would fall outside
    [0, 1] is reflected at its ends, so that each curve encloses an area of 1.  All panels have
    one scale, of the square root of the density.
    """
    categories = list(next(iter(panels.values()), ()))
    if not categories:
        raise ValueError("panels: empty")
    for method, groups in panels.items():
        if set(groups) != set(categories):
            raise ValueError(f"panels: {method}: categories {', '.join(categories)} expected")
    height = 2 * len(panels) + 0.3 * ((len(categories) + 2) // 3) + 0.5
    axes = axes_grid(len(panels), 1, height, sharex=True, sharey=True)
    from scipy.ndimage import gaussian_filter1d  # here, since SciPy takes long to import

    edges = np.linspace(0, 1, 201)
    centres, width = (edges[:-1] + edges[1:]) / 2, edges[1]
    for (method, groups), ax in zip(panels.items(), axes[:, 0], strict=True):
        for number, category in enumerate(categories):
            values = _confidences(category, groups[category])
            density = np.histogram(values, edges)[0] / (len(values) * width)
            smooth = gaussian_filter1d(density, _BANDWIDTH / width, mode="reflect")
            ax.plot(centres, smooth, label=category, **curve_style(number, len(centres)))
        ax.set(xlim=(0, 1), ylabel="density", title=method)
        # by its square root, or the peak of the correct images would press all others flat
        ax.set_yscale("function", functions=(np.sqrt, np.square))
        ax.set_ylim(bottom=0)
    axes[-1, 0].set_xlabel("confidence")
    legend_outside(axes, 3)
    return axes[:, 0]


def _confidences(name: str, values) -> np.ndarray:
    values = float_array(name, values)
    if values.min() < 0 or values.max() > 1:
        raise ValueError(f"{name}: confidences in [0, 1] expected")
    return values


def _histograms(
    groups: Mapping[str, np.ndarray], bins: int, limits: tuple[float, float], ax: Axes
) -> None:
    """Draw each group's histogram as shares, which compare groups of different sizes."""
    for (label, values), (colour, line, hatch) in zip(groups.items(), _GROUPS, strict=False):
        ax.hist(
            values, bins=bins, range=limits, weights=np.full(len(values), 1 / len(values)),
            histtype="stepfilled", facecolor=mpl.colors.to_rgba(colour, 0.25), edgecolor=colour,
            linestyle=line, linewidth=1.5, hatch=hatch, label=label,
        )  # fmt: skip
    ax.set_ylabel("share of images")


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
