"""Figures, one function per kind: arrays or tables in, Axes out.

Each function draws on the Axes that it is given, or on a figure of its own; captions are left to
the page.  Nothing is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from helpers.checks import float_array
from helpers.claims import ALL, Verdict
from helpers.metrics import calibration_error, reliability_curve
from helpers.tables import TITLES

_BLUE, _ORANGE, _GREEN, _RED, _PURPLE = sns.color_palette("colorblind").as_hex()[:5]
_GREY = "#666666"
_MARKERS = "oXs^Dv"
_LINES = ("-", "--", ":", "-.")


def use_style() -> None:
    """Set one look for all figures: a colour-blind palette, and text that a phone can show.

    Figures are 6 inches wide with text of 11 points, so that on a screen of 390 pixels the text
    is still some 10 pixels high; 144 dots an inch keep lines sharp and files small.
    """
    sns.set_theme(
        context="paper",
        style="ticks",
        palette="colorblind",
        rc={
            "figure.figsize": (6, 4),
            "figure.dpi": 144,
            "figure.constrained_layout.use": True,
            "font.size": 11,
            "axes.titlesize": 11,
            "axes.labelsize": 11,
            "xtick.labelsize": 10,
            "ytick.labelsize": 10,
            "legend.fontsize": 10,
            "legend.frameon": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "hatch.linewidth": 0.6,
        },
    )


def contact_sheet(
    images: np.ndarray,
    labels: np.ndarray,
    class_names: Sequence[str],
    *,
    known: Collection[int] | None = None,
    columns: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Show the first images of each class, one class a row.

    Parameters
    ----------
    images : ndarray of uint8, shape [N, H, W, 3]
    labels : ndarray of int, shape [N]
        Indexes into `class_names`; classes without images get no row.
    class_names : sequence of str
    known : collection of int, optional
        Labels of the known classes.  Their rows come first and have a solid frame, those of the
        unknown classes a dashed one.
    columns : int
        Images shown of each class, at most.
    ax : Axes, optional

    Raises
    ------
    ValueError
        Images and labels do not fit together, or a label has no name.
    """
    images, labels = np.asarray(images), np.asarray(labels)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[-1] != 3 or not len(images):
        raise ValueError(f"images: uint8 [N, H, W, 3] expected, got {images.dtype} {images.shape}")
    if labels.shape != images.shape[:1]:
        raise ValueError(f"labels: {len(images)} expected, got shape {labels.shape}")
    if labels.min() < 0 or labels.max() >= len(class_names):
        raise ValueError(f"labels: 0 to {len(class_names) - 1} expected, one per class name")
    present = np.unique(labels).tolist()
    if known is not None:
        present.sort(key=lambda label: label not in known)

    gap = max(1, images.shape[1] // 16)  # between images, in their pixels
    height, width = (size + gap for size in images.shape[1:3])
    first_unknown = len(present) if known is None else sum(label in known for label in present)
    tops = [row * height + 3 * gap * (row >= first_unknown) for row in range(len(present))]
    sheet = np.full((tops[-1] + height, columns * width, 3), 255, dtype=np.uint8)
    for top, label in zip(tops, present, strict=True):
        for column, image in enumerate(images[labels == label][:columns]):
            left = column * width
            sheet[top : top + height - gap, left : left + width - gap] = image

    if ax is None:
        ax = _axes(None, figsize=(6, 6 * sheet.shape[0] / sheet.shape[1]))
        ax.figure.set_dpi(96)  # small images gain nothing by more, and photographs make large files
    ax.imshow(sheet, interpolation="nearest")
    ax.set(xticks=[], yticks=np.array(tops) + (height - gap) / 2)
    ax.set_yticklabels([class_names[label] for label in present])
    ax.tick_params(length=0)
    sns.despine(ax=ax, left=True, bottom=True)
    if known is not None:
        groups = (
            ("known", tops[:first_unknown], _BLUE, "-"),
            ("unknown", tops[first_unknown:], _RED, "--"),
        )
        for name, rows, colour, line in groups:
            if rows:
                corner, size = (
                    (-gap, rows[0] - gap),
                    (columns * width + gap, len(rows) * height + gap),
                )
                style = {"edgecolor": colour, "linestyle": line, "linewidth": 2, "clip_on": False}
                ax.add_patch(Rectangle(corner, *size, fill=False, label=name, **style))
        for row, label in enumerate(ax.get_yticklabels()):
            label.set_color(_BLUE if row < first_unknown else _RED)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.01), ncols=2)
    return ax


def learning_curves(table: pd.DataFrame, *, axes: np.ndarray | None = None) -> np.ndarray:
    """Draw loss and accuracy against the epoch, side by side.

    Parameters
    ----------
    table : DataFrame
        ``epoch``, ``loss``, ``accuracy``, as `helpers.training` returns it; tables of several
        networks may be put one below another with a column ``network`` that tells them apart.
    axes : ndarray of Axes, shape [2], optional

    Raises
    ------
    ValueError
        The table is empty or lacks a column.
    """
    _columns("table", table, ["epoch", "loss", "accuracy"])
    if axes is None:
        axes = plt.subplots(1, 2, figsize=(6, 2.8), layout="constrained")[1]
    groups = table.groupby("network", sort=False) if "network" in table else [(None, table)]
    for number, (name, curve) in enumerate(groups):
        line = _LINES[number % len(_LINES)]
        for ax, column in zip(axes, ("loss", "accuracy"), strict=True):
            ax.plot(curve["epoch"], curve[column], line, color=f"C{number}", label=name)
            ax.set(xlabel="epoch", title=column)
            ax.xaxis.get_major_locator().set_params(integer=True)
    if "network" in table:
        axes[1].legend(loc="lower right")
    return axes


def reliability_diagram(
    confidence, correct, *, bins: int = 15, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw accuracy against confidence, with the gap between them, and the confidences below.

    Bars show the accuracy of each bin, hatched boxes the gap to the bin's mean confidence;
    perfectly calibrated answers follow the diagonal.  The ECE is printed in the corner.

    Parameters
    ----------
    confidence : array_like, shape [N]
        In [0, 1].
    correct : array_like of bool, shape [N]
    bins : int
    title : str
    ax : Axes, optional

    Returns
    -------
    Axes
        That of the diagram; the histogram is its first child (``ax.child_axes[0]``).

    Raises
    ------
    ValueError
        As `helpers.metrics.reliability_curve`.
    """
    curve = reliability_curve(confidence, correct, bins=bins)
    error = calibration_error(confidence, correct, bins=bins)
    ax = _axes(ax, figsize=(3.6, 4.2))
    left, width = curve.edges[:, 0], np.diff(curve.edges, axis=1)[:, 0]
    bars = {"align": "edge", "linewidth": 0.6}
    ax.bar(left, curve.accuracy, width, color=_BLUE, edgecolor="white", label="accuracy", **bars)
    ax.bar(
        left, curve.confidence - curve.accuracy, width, bottom=curve.accuracy, label="gap",
        color=mpl.colors.to_rgba(_RED, 0.25), edgecolor=_RED, hatch="////", **bars,
    )  # fmt: skip
    ax.plot([0, 1], [0, 1], "--", color=_GREY, linewidth=1, label="perfect")
    box = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 2}
    ax.text(0.04, 0.96, f"ECE {error:.3f}", transform=ax.transAxes, va="top", bbox=box)
    ax.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy", title=title, aspect="equal")
    ax.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    ax.tick_params(labelbottom=False)

    below = ax.inset_axes((0, -0.36, 1, 0.28), sharex=ax)
    share = curve.count / curve.count.sum()
    below.bar(left, share, width, color=_GREY, edgecolor="white", **bars)
    top = np.ceil(10 * share.max()) / 10
    below.set(ylim=(0, top), yticks=[0, top], xlabel="confidence", ylabel="share")
    below.tick_params(labelbottom=True)
    return ax


def reliability_grid(panels: Mapping[tuple[str, str], tuple], *, bins: int = 15) -> np.ndarray:
    """Draw a reliability diagram for each method (rows) and calibration (columns).

    Parameters
    ----------
    panels : mapping of (method, calibration) to (confidence, correct)
        Rows and columns come in the order in which they are first named.
    bins : int

    Returns
    -------
    ndarray of Axes, shape [methods, calibrations]

    Raises
    ------
    ValueError
        A combination is missing, or as `reliability_diagram`.
    """
    methods = list(dict.fromkeys(method for method, _ in panels))
    calibrations = list(dict.fromkeys(calibration for _, calibration in panels))
    missing = [(m, c) for m in methods for c in calibrations if (m, c) not in panels]
    if missing or not panels:
        raise ValueError(f"panels: missing {missing or 'all'}")
    size = (len(methods), len(calibrations))
    figsize = (3 * size[1], 3.5 * size[0])
    axes = plt.subplots(*size, figsize=figsize, layout="constrained", squeeze=False)[1]
    for (row, column), ax in np.ndenumerate(axes):
        method, calibration = methods[row], calibrations[column]
        title = f"{method}\n{calibration} scaling"
        reliability_diagram(*panels[method, calibration], bins=bins, title=title, ax=ax)
        ax.label_outer()
        if column:
            ax.child_axes[0].set_ylabel("")
        if row + 1 < len(methods):
            ax.child_axes[0].set_xlabel("")
    top = max(ax.child_axes[0].get_ylim()[1] for ax in axes.flat)  # one scale, to compare them
    for ax in axes.flat:
        ax.child_axes[0].set(ylim=(0, top), yticks=[0, top])
    legend = axes[0, 0].get_legend_handles_labels()
    axes[0, 0].figure.legend(*legend, loc="outside upper center", ncols=len(legend[0]))
    return axes


def sweep(
    values, curves: Mapping[str, np.ndarray], *, parameter: str, chosen: float, unknown: float,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw what happens when a parameter of an open-set method moves.

    Parameters
    ----------
    values : array_like, shape [T]
        Of the parameter.  If they span more than two decades, their axis is logarithmic.
    curves : mapping of str to array_like, shape [T]
        What becomes of each quantity: shares of the test images, calibration errors.
    parameter : str
        What is moved.
    chosen : float
        The value that is used, marked by a vertical line.
    unknown : float
        Share of images of unknown classes: the accuracy of refusing everything.
    ax : Axes, optional

    Raises
    ------
    ValueError
        NaN, empty, or arrays of different lengths.
    """
    values = float_array(parameter, values)
    ax = _axes(ax)
    for number, (name, curve) in enumerate(curves.items()):
        curve = float_array(name, curve, length=len(values))
        ax.plot(values, curve, _LINES[number], color=f"C{number}", label=name, linewidth=2)
    ax.axvline(chosen, color=_GREY, linewidth=1.2, label=f"chosen, {chosen:.3g}")
    ax.axhline(unknown, color="C0", linewidth=1, dashes=(1, 3), label="refusing everything")
    if values.min() > 0 and values.max() > 100 * values.min():
        ax.set_xscale("log")
    ax.set(xlabel=parameter, ylabel="share of test images, ECE", ylim=(0, 1))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def published_scatter(comparison: pd.DataFrame, *, metric: str, ax: Axes | None = None) -> Axes:
    """Draw our means against the paper's numbers; agreement is the diagonal.

    Parameters
    ----------
    comparison : DataFrame
        From `helpers.tables.comparison`.  One marker shape per method; filled after
        calibration, open before it.  Bars are standard deviations over runs.
    metric : str
    ax : Axes, optional

    Raises
    ------
    ValueError
        No number of this metric has one of the paper's beside it.
    """
    part = comparison[(comparison["metric"] == metric) & comparison["paper"].notna()]
    if part.empty:
        raise ValueError(f"comparison: no {metric} beside a number of the paper")
    ax = _axes(ax, figsize=(4.5, 4.5))
    handles = []
    for number, (method, own) in enumerate(part.groupby("method", sort=False)):
        style = {"color": f"C{number}", "marker": _MARKERS[number], "linestyle": "none"}
        handles.append(Line2D([], [], label=method, **style))
        for calibration, points in own.groupby("calibration", sort=False):
            face = "white" if calibration == "before" else f"C{number}"
            ax.errorbar(
                points["paper"], points["mean"], points["std"].fillna(0), **style,
                markerfacecolor=face, elinewidth=0.8, markersize=7,
            )  # fmt: skip
    name = TITLES.get(metric, metric)
    largest = max(part["paper"].max(), (part["mean"] + part["std"].fillna(0)).max())
    end = 1.05 * largest if largest > 0 else 1.0
    ax.plot([0, end], [0, end], "--", color=_GREY, linewidth=1, zorder=0)
    ax.set(xlim=(0, end), ylim=(0, end), aspect="equal")
    ax.set(xlabel=f"{name}, paper", ylabel=f"{name}, reproduced")
    if set(part["calibration"]) >= {"before", "after"}:
        plain = {"color": _GREY, "marker": "o", "linestyle": "none"}
        handles.append(Line2D([], [], markerfacecolor="white", label="before scaling", **plain))
        handles.append(Line2D([], [], label="after scaling", **plain))
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


_VERDICTS = {
    Verdict.SUPPORTED: ("o", _BLUE),
    Verdict.CONTRADICTED: ("X", _RED),
    Verdict.UNDECIDED: ("s", _GREY),
}


def claim_intervals(checks: pd.DataFrame) -> np.ndarray:
    """Draw every effect with its interval and the side of the margin where it is claimed.

    Parameters
    ----------
    checks : DataFrame
        From a module of `helpers.claims`.  One panel per effect, with a scale of its own: the
        mean over all data sets and backbones, then each of them.  The shaded side is the claimed
        one; the shape of a marker is its verdict.

    Returns
    -------
    ndarray of Axes, shape [effects]

    Raises
    ------
    ValueError
        The table is empty or lacks a column.
    """
    needed = ["check", "data_set", "backbone", "effect", "low", "high", "relation", "margin"]
    _columns("checks", checks, [*needed, "verdict"])
    blocks = [block for _, block in checks.groupby(["claim", "check"], sort=False)]
    heights = [0.19 * len(block) + 0.55 for block in blocks]
    _, axes = plt.subplots(
        len(blocks), figsize=(6, sum(heights) + 0.7), height_ratios=heights, squeeze=False
    )
    for block, ax in zip(blocks, axes[:, 0], strict=True):
        _effect_intervals(block, ax)
    has_intervals = checks["low"].notna().any()
    axes[-1, 0].set_xlabel("effect and 95 % interval" if has_intervals else "effect")
    handles = [
        Line2D([], [], marker=marker, color=colour, linestyle="none", label=str(verdict))
        for verdict, (marker, colour) in _VERDICTS.items()
    ]
    handles.append(Patch(color=_GREEN, alpha=0.12, label="claimed side"))
    axes[0, 0].figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return axes[:, 0]


def _effect_intervals(block: pd.DataFrame, ax: Axes) -> None:
    """Draw one effect: the mean over all, then each data set and backbone."""
    first, pooled = block.iloc[0], block["data_set"] == ALL
    names = []
    for y, row in enumerate(pd.concat([block[pooled], block[~pooled]]).to_dict("records")):
        overall = row["data_set"] == ALL
        names.append("all" if overall else f"{row['data_set']}, {row['backbone']}")
        if row["verdict"] not in _VERDICTS:
            ax.text(first["margin"], y, " no data", color=_GREY, va="center", fontsize="small")
            continue
        marker, colour = _VERDICTS[row["verdict"]]
        width = 2.5 if overall else 1.2
        ax.plot([row["low"], row["high"]], [y, y], color=colour, linewidth=width)
        ax.plot(row["effect"], y, marker, color=colour, markersize=8 if overall else 5)
    ax.axvline(first["margin"], linestyle=":", color=_GREY, linewidth=1)
    ax.margins(x=0.1)
    left, right = ax.get_xlim()
    claimed = (left, first["margin"]) if first["relation"] == "<" else (first["margin"], right)
    ax.axvspan(*claimed, color=_GREEN, alpha=0.12, linewidth=0, zorder=0)
    beside = "" if first["decides"] else " (reported only)"
    ax.set_title(first["check"] + beside, loc="left", weight="bold", fontsize="small")
    ax.set(xlim=(left, right), ylim=(len(block) - 0.5, -0.5))
    ax.set_yticks(range(len(names)), names, fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize="small")


def confidence_histograms(
    known, unknown, threshold: float, *, bins: int = 30, ax: Axes | None = None
) -> Axes:
    """Draw the confidences of images of known and of unknown classes, and the threshold.

    Parameters
    ----------
    known, unknown : array_like, shape [N], [M]
        Confidences in [0, 1].  The legend says which share of each is rejected, that is, lies
        below the threshold.
    threshold : float
    bins : int
    ax : Axes, optional

    Raises
    ------
    ValueError
        Empty, NaN or outside [0, 1].
    """
    ax = _axes(ax, figsize=(6, 3.2))
    groups = (("known", known, _BLUE, "-", ""), ("unknown", unknown, _RED, "--", "////"))
    for name, values, colour, line, hatch in groups:
        values = float_array(name, values)
        if values.min() < 0 or values.max() > 1:
            raise ValueError(f"{name}: confidences in [0, 1] expected")
        ax.hist(
            values, bins=bins, range=(0, 1), weights=np.full(len(values), 1 / len(values)),
            histtype="stepfilled", facecolor=mpl.colors.to_rgba(colour, 0.25), edgecolor=colour,
            linestyle=line, linewidth=1.5, hatch=hatch,
            label=f"{name} classes, {np.mean(values < threshold):.0%} rejected",
        )  # fmt: skip
    ax.axvline(threshold, color=_GREY, linewidth=1.2, label=f"threshold, {threshold:.3f}")
    ax.set(xlim=(0, 1), xlabel="confidence", ylabel="share of images")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def _axes(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Axes:
    return plt.subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax


def _columns(name: str, table: pd.DataFrame, columns: list[str]) -> None:
    missing = [column for column in columns if column not in table]
    if missing:
        raise ValueError(f"{name}: no column {', '.join(missing)}")
    if table.empty:
        raise ValueError(f"{name}: empty")
