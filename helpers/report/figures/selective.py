"""Figures of selective classification: how the risk falls when images are left out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from helpers.checks import float_array, known_name
from helpers.report.figures.style import GREY, axes_or_new, curve_style


def risk_coverage_curves(
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    *,
    reference: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the risk among the most confident images against their share, one curve per method.

    Two grey curves frame them: the error rate, which is the risk of an order by chance, and the
    ideal order, in which no wrong answer precedes a right one.

    Parameters
    ----------
    curves : mapping of str to (coverage, risk), each array_like, shape [N]
        From `helpers.metrics.risk_coverage_curve`, by the method's name.
    reference : str, optional
        The method whose error rate frames the curves; the first one by default.  Others that
        are right more often may cross its ideal curve.
    ax : Axes, optional

    Raises
    ------
    ValueError
        No curve; empty, NaN or of different lengths; `reference` is none of the methods.
    """
    if not curves:
        raise ValueError("curves: empty")
    reference = next(iter(curves)) if reference is None else reference
    known_name("reference", reference, curves)
    ax = axes_or_new(ax, figsize=(6, 4.8))
    top = 0.0
    for number, (method, (coverage, risk)) in enumerate(curves.items()):
        coverage = float_array(f"{method}, coverage", coverage)
        risk = float_array(f"{method}, risk", risk, length=len(coverage))
        ax.plot(coverage, risk, label=method, **curve_style(number, len(coverage)))
        if method == reference:
            error_rate = risk[-1]
            ideal = np.maximum(0, 1 - (1 - error_rate) / coverage)
            frame = (coverage, ideal)
        top = max(top, *risk[coverage >= 0.05])
    ax.plot(*frame, color=GREY, linewidth=1, linestyle="--", label="ideal order")
    ax.axhline(error_rate, color=GREY, linewidth=1, linestyle=":", label="error rate")
    # what the first few images happen to be must not set the scale
    ax.set(xlim=(0, 1), ylim=(0, 1.1 * top), xlabel="coverage", ylabel="risk")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return ax
