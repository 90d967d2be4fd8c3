"""Figures of selective classification: how the risk falls when images are left out."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from helpers.checks import float_array
from helpers.report.figures.style import GREY, method_styles


def risk_coverage_curves(curves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Axes:
    """Draw the risk among the most confident images against their share, one curve per method.

    Two grey curves frame them, both of the first method: the error rate, which is the risk of an
    order by chance, and the ideal order, in which no wrong answer precedes a right one.  A method
    that is right more often may cross it.
    """
    if not curves:
        raise ValueError("curves: empty")
    ax = plt.subplots(figsize=(6, 4.8), layout="constrained")[1]
    top, frame = 0.0, None
    styles = method_styles(curves, max(len(coverage) for coverage, _ in curves.values()))
    for method, (coverage, risk) in curves.items():
        coverage = float_array(f"{method}, coverage", coverage)
        risk = float_array(f"{method}, risk", risk, length=len(coverage))
        ax.plot(coverage, risk, label=method, **styles[method])
        frame = frame or (coverage, np.maximum(0, 1 - (1 - risk[-1]) / coverage), risk[-1])
        top = max(top, *risk[coverage >= 0.05])
    ax.plot(*frame[:2], color=GREY, linewidth=1, linestyle="--", label="ideal order")
    ax.axhline(frame[2], color=GREY, linewidth=1, linestyle=":", label="error rate")
    # what the first few images happen to be must not set the scale
    ax.set(xlim=(0, 1), ylim=(0, 1.1 * top or 1), xlabel="coverage", ylabel="risk")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return ax
