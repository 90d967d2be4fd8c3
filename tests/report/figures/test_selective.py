import numpy as np
import pytest

from helpers.metrics import risk_coverage_curve
from helpers.report import figures

CORRECT = [True, False, True, True]
CURVES = {
    "best": risk_coverage_curve([0.9, 0.1, 0.8, 0.7], CORRECT),
    "worst": risk_coverage_curve([0.1, 0.9, 0.2, 0.3], CORRECT),
}


def test_curves_are_drawn_as_given_between_chance_and_the_ideal(texts):
    """Each curve is the array given; a perfect order lies on the ideal one."""
    ax = figures.risk_coverage_curves(CURVES)
    for line, (coverage, risk) in zip(ax.lines, CURVES.values(), strict=False):
        assert (line.get_xdata() == coverage).all() and (line.get_ydata() == risk).all()
    assert ax.lines[2].get_ydata() == pytest.approx(CURVES["best"][1])
    assert set(ax.lines[3].get_ydata()) == {0.25}
    assert texts(ax.get_legend()) == ["best", "worst", "ideal order", "error rate"]


def test_nine_methods_differ_in_more_than_colour():
    """No two of the paper's nine methods share line and marker."""
    ax = figures.risk_coverage_curves({f"method {n}": CURVES["best"] for n in range(9)})
    assert len({(line.get_linestyle(), line.get_marker()) for line in ax.lines[:9]}) == 9


def test_what_cannot_be_drawn_is_refused():
    """Nothing, and arrays that do not fit, are named."""
    with pytest.raises(ValueError, match="curves: empty"):
        figures.risk_coverage_curves({})
    with pytest.raises(ValueError, match="best, risk: length 4"):
        figures.risk_coverage_curves({"best": (CURVES["best"][0], np.ones(3))})
