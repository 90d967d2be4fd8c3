import numpy as np
import pytest

from helpers.papers.openset_calibration import figures
from helpers.report import published


def test_sweep(texts):
    values = np.linspace(0, 1, 5)
    curves = {"accuracy": values, "ECE": values / 2, "share rejected": values**2}
    marks = {"parameter": "threshold", "chosen": 0.25, "unknown": 0.4}
    ax = figures.sweep(values, curves, **marks)
    assert [line.get_ydata().tolist() for line in ax.lines[:3]] == [
        curve.tolist() for curve in curves.values()
    ]
    assert ax.lines[3].get_xdata() == [0.25, 0.25]
    assert ax.lines[4].get_ydata() == [0.4, 0.4]
    assert texts(ax.get_legend()) == [*curves, "chosen, 0.25", "refusing everything"]
    assert ax.get_xlabel() == "threshold" and ax.get_xscale() == "linear"
    wide = figures.sweep([2, 20, 1000], {"accuracy": values[:3]}, **marks)
    assert wide.get_xscale() == "log"
    with pytest.raises(ValueError, match="accuracy: length 4"):
        figures.sweep(values[:4], curves, **marks)
    with pytest.raises(ValueError, match="ECE: contains NaN"):
        figures.sweep(values, curves | {"ECE": values * np.nan}, **marks)


@pytest.fixture
def comparison():
    frame = published.load("openset_calibration")
    frame = frame.rename(columns={"value": "paper"})
    return frame.assign(mean=frame["paper"] + 0.1, std=0.01)


def test_published_scatter(comparison, texts):
    ax = figures.published_scatter(comparison, metric="brier")
    assert ax.get_xlabel() == "Brier, paper"
    assert len(ax.containers) == 3 * 2  # methods, before and after
    x, y = ax.containers[0].lines[0].get_data()
    assert len(x) == 6
    assert np.asarray(y) - np.asarray(x) == pytest.approx(0.1)
    assert max(x) < ax.get_xlim()[1] == ax.get_ylim()[1]
    assert len(texts(ax.get_legend())) == 5
    with pytest.raises(ValueError, match="no ece_floor beside"):
        figures.published_scatter(comparison, metric="ece_floor")
    with pytest.raises(ValueError, match="no brier beside"):
        figures.published_scatter(comparison.assign(paper=np.nan), metric="brier")
