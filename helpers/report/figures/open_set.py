"""Figures of open-set recognition: what a parameter of a method moves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from helpers.checks import float_array
from helpers.report.figures.style import GREY, LINES, axes_or_new


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
    ax = axes_or_new(ax)
    for number, (name, curve) in enumerate(curves.items()):
        curve = float_array(name, curve, length=len(values))
        ax.plot(values, curve, LINES[number], color=f"C{number}", label=name, linewidth=2)
    ax.axvline(chosen, color=GREY, linewidth=1.2, label=f"chosen, {chosen:.3g}")
    ax.axhline(unknown, color="C0", linewidth=1, dashes=(1, 3), label="refusing everything")
    if values.min() > 0 and values.max() > 100 * values.min():
        ax.set_xscale("log")
    ax.set(xlabel=parameter, ylabel="share of test images, ECE", ylim=(0, 1))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax
