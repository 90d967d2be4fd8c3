import numpy as np
import pytest

from helpers.report import figures


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_sweep():
    values = np.linspace(0, 1, 5)
    curves = {"accuracy": values, "ECE": values / 2, "share rejected": values**2}
    marks = {"parameter": "threshold", "chosen": 0.25, "unknown": 0.4}
    ax = figures.sweep(values, curves, **marks)
    assert [line.get_ydata().tolist() for line in ax.lines[:3]] == [
        curve.tolist() for curve in curves.values()
    ]
    assert ax.lines[3].get_xdata() == [0.25, 0.25]
    assert ax.lines[4].get_ydata() == [0.4, 0.4]
    assert legend(ax) == [*curves, "chosen, 0.25", "refusing everything"]
    assert ax.get_xlabel() == "threshold" and ax.get_xscale() == "linear"
    wide = figures.sweep([2, 20, 1000], {"accuracy": values[:3]}, **marks)
    assert wide.get_xscale() == "log"
    with pytest.raises(ValueError, match="accuracy: length 4"):
        figures.sweep(values[:4], curves, **marks)
    with pytest.raises(ValueError, match="ECE: contains NaN"):
        figures.sweep(values, curves | {"ECE": values * np.nan}, **marks)
