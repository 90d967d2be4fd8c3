"""Figures of images, scores, calibration, risk and ranks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import helpers.tables.figures.style as style
from helpers.checks import float_array, label_array
from helpers.metrics import ReliabilityCurve
from helpers.tables.figures.style import BLUE, GREEN, GREY, PURPLE, RED

_GROUPS = ((BLUE, "-", ""), (RED, "--", "////"), (GREEN, ":", "...."), (PURPLE, "-.", "xxxx"))


def contact_sheet(
    images: np.ndarray,
    labels: np.ndarray,
    class_names: Sequence[str],
    *,
    known: Collection[int] | None = None,
    columns: int = 10,
) -> Axes:
    """Show the first images of each class, one class a row; known and unknown classes apart."""
    images = np.asarray(images)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[-1] != 3 or not len(images):
        shape = f"{images.dtype} {images.shape}"
        raise ValueError(f"images: uint8 [N, H, W, 3] expected, at least 1, got {shape}")
    labels = label_array("labels", labels, classes=len(class_names), length=len(images))
    present = np.unique(labels).tolist()
    present.sort(key=lambda label: known is not None and label not in known)
    unknown = [known is not None and label not in known for label in present]

    gap = max(1, images.shape[1] // 16)  # between images, in their pixels
    height = images.shape[1] + gap
    width = images.shape[2] + gap
    tops = np.arange(len(present)) * height + 3 * gap * np.array(unknown)
    sheet = np.full((tops[-1] + height, columns * width, 3), 255, dtype=np.uint8)
    for top, label in zip(tops, present, strict=True):
        for column, image in enumerate(images[labels == label][:columns]):
            left = column * width
            sheet[top : top + height - gap, left : left + width - gap] = image

    ax = style.new_axes((6, 6 * sheet.shape[0] / sheet.shape[1]))
    ax.imshow(sheet, interpolation="nearest")
    names = [class_names[label].replace("_", " ") for label in present]
    ax.set_xticks([])
    ax.set_yticks(tops + (height - gap) / 2, names)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if known is None:
        return ax
    for group, name, colour, line in ((False, "known", BLUE, "-"), (True, "unknown", RED, "--")):
        if group in unknown:
            frame = Rectangle(
                (-gap, tops[unknown.index(group)] - gap),
                columns * width + gap,
                unknown.count(group) * height + gap,
                fill=False,
                label=name,
                edgecolor=colour,
                linestyle=line,
                linewidth=2,
                clip_on=False,
            )
            ax.add_patch(frame)
    for label, is_unknown in zip(ax.get_yticklabels(), unknown, strict=True):
        label.set_color(RED if is_unknown else BLUE)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.01), ncols=2)
    return ax


def score_histograms(
    groups: Mapping[str, np.ndarray],
    *,
    score: str,
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Draw the score distributions of up to four groups of images, as shares of a group.

    In all figures, known images are blue and unknown images orange: put the known images first and
    the unknown images second.
    """
    if not 1 <= len(groups) <= len(_GROUPS):
        raise ValueError(f"groups: 1 to {len(_GROUPS)} expected, got {len(groups)}")
    arrays = {name: float_array(name, values) for name, values in groups.items()}
    least = min(values.min() for values in arrays.values())
    most = max(values.max() for values in arrays.values())
    limits = limits or (least, most)
    if least < limits[0] or most > limits[1]:
        raise ValueError(
            f"groups: values from {limits[0]} to {limits[1]} expected, got {least} to {most}"
        )
    ax = style.new_axes((6, 3.2))
    for (label, values), (colour, line, hatch) in zip(arrays.items(), _GROUPS, strict=False):
        ax.hist(
            values,
            bins=30,
            range=limits,
            weights=np.full(len(values), 1 / len(values)),
            histtype="stepfilled",
            facecolor=mpl.colors.to_rgba(colour, 0.25),
            edgecolor=colour,
            linestyle=line,
            linewidth=1.5,
            hatch=hatch,
            label=label,
        )
    ax.set(xlabel=score, ylabel="share of images")
    style.legend_above(ax, 2)
    return ax


def reliability_grid(panels: Mapping[tuple[str, str], ReliabilityCurve]) -> np.ndarray:
    """Draw a reliability diagram for each method (rows) and calibration (columns).

    Bars show the accuracy of each bin, and hatched boxes the gap to the mean confidence of the
    bin. The title has the ECE. Below is the share of the images in each bin.
    """
    methods = list(dict.fromkeys(method for method, _ in panels))
    calibrations = list(dict.fromkeys(calibration for _, calibration in panels))
    if len(panels) != len(methods) * len(calibrations) or not panels:
        raise ValueError(f"panels: each method with each calibration expected, got {[*panels]}")
    rows = len(methods)
    columns = len(calibrations)
    axes = style.axes_grid(rows, columns, 3.5 * rows, 3 * columns)
    shares = {key: curve.count / curve.count.sum() for key, curve in panels.items()}
    top = max(np.ceil(10 * share.max()) / 10 for share in shares.values())  # one scale
    bars = {"align": "edge", "linewidth": 0.6}
    face = mpl.colors.to_rgba(RED, 0.25)
    for (row, column), ax in np.ndenumerate(axes):
        key = methods[row], calibrations[column]
        curve = panels[key]
        share = shares[key]
        left = curve.edges[:, 0]
        width = curve.edges[:, 1] - left
        gap = curve.confidence - curve.accuracy
        ax.bar(left, curve.accuracy, width, color=BLUE, edgecolor="white", label="accuracy", **bars)
        ax.bar(
            left,
            gap,
            width,
            bottom=curve.accuracy,
            label="gap",
            color=face,
            edgecolor=RED,
            hatch="////",
            **bars,
        )
        ax.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1, label="perfect")
        error = share @ np.abs(gap)
        ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal")
        ax.set(ylabel="accuracy", title=f"{key[0]}\n{key[1]} scaling: ECE {error:.3f}")
        ax.tick_params(labelbottom=False)
        ax.label_outer()
        below = ax.inset_axes((0, -0.36, 1, 0.28), sharex=ax)
        below.bar(left, share, width, color=GREY, edgecolor="white", **bars)
        below.set(ylim=(0, top), yticks=[0, top], ylabel="" if column else "share")
        below.set_xlabel("confidence" if row + 1 == rows else "")
        below.tick_params(labelbottom=True)
    style.legend_outside(axes, 3)
    return axes


def risk_coverage_curves(curves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Axes:
    """Draw the risk among the most confident images against their share, one curve per method.

    Two grey curves belong to the first method: the error rate, which is the risk of a random
    order, and the ideal order, with all correct predictions first.
    """
    if not curves:
        raise ValueError("curves: empty")
    ax = style.new_axes((6, 4.8))
    points = max(len(coverage) for coverage, _ in curves.values())
    styles = style.method_styles(curves, points)
    for method, (coverage, risk) in curves.items():
        ax.plot(coverage, risk, label=method, **styles[method])
    first = next(iter(curves))
    coverage, risk = map(np.asarray, curves[first])
    ideal = np.maximum(0, 1 - (1 - risk[-1]) / coverage)
    ax.plot(coverage, ideal, color=GREY, linewidth=1, linestyle="--", label=f"ideal order, {first}")
    ax.axhline(risk[-1], color=GREY, linewidth=1, linestyle=":", label=f"error rate, {first}")
    # the first few images must not determine the scale
    tops = [
        np.asarray(risk)[np.asarray(coverage) >= 0.05].max() for coverage, risk in curves.values()
    ]
    top = max(tops)
    ax.set(xlim=(0, 1), ylim=(0, 1.1 * top or 1), xlabel="coverage", ylabel="risk")
    style.legend_above(ax, 3)
    return ax


def critical_difference(ranks: pd.Series, difference: float) -> Axes:
    """Draw mean ranks, the best on top, with bars that overlap where two methods do not differ.

    A bar is as long as the critical difference, so that two methods differ if their mean ranks
    are further apart than that (Demšar 2006, section 3.2.2).
    """
    if len(ranks) < 2:
        raise ValueError(f"ranks: two methods or more expected, got {len(ranks)}")
    ranks = ranks.sort_values(kind="stable")
    ax = style.new_axes((6, 0.25 * len(ranks) + 1.1))
    half = difference / 2
    ax.errorbar(
        ranks,
        range(len(ranks)),
        xerr=half,
        fmt="o",
        color=BLUE,
        elinewidth=2.5,
        markersize=5,
    )
    best = ranks.iloc[0]
    ax.axvspan(best - half, best + half, color=GREY, alpha=0.15, linewidth=0)
    ax.set_yticks(range(len(ranks)), [f"{name}  {rank:.2f}" for name, rank in ranks.items()])
    ax.set(ylim=(len(ranks) - 0.5, -0.5))
    ax.set_xlabel(f"mean rank (1 is best); critical difference {difference:.2f}")
    return ax
