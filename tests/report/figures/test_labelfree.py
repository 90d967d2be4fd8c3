import numpy as np
import pytest

from helpers.labelfree import fit_regression
from helpers.report import figures


@pytest.fixture(scope="module")
def regression():
    generator = np.random.default_rng(0)
    gscores = generator.random(40)
    truths = 0.8 - 0.5 * gscores + 0.02 * generator.standard_normal(40)
    return fit_regression(gscores[:, None], truths, [0.5])


def test_scatter_has_the_line_its_intervals_and_the_correlations(regression, texts):
    """Dots are the truths that the line was fitted to, in per cent."""
    unseen = ([0.2, 1.4], [0.7, 0.1])
    ax = figures.gscore_scatter(regression, metric="fpr95", unseen=unseen)
    truths = 100 * (regression.predict(regression.gscores) + regression.residuals)
    dots, crosses, line = ax.lines
    assert dots.get_ydata() == pytest.approx(truths)
    assert crosses.get_ydata() == pytest.approx([70, 10])
    assert line.get_xdata().max() == pytest.approx(1.4)  # it reaches the unseen sets
    slope = np.diff(line.get_ydata())[:20] / np.diff(line.get_xdata())[:20]
    assert slope == pytest.approx(100 * regression.slope)
    r = np.corrcoef(regression.gscores, truths)[0, 1]
    assert ax.get_title(loc="left").startswith(f"r = −{-r:.3f}, ρ = −0.")
    assert ax.get_ylabel() == "FPR95 (%)"
    assert "90 % interval" in texts(ax.get_legend())


def test_few_sets_have_a_line_and_no_band(regression):
    """Nine are needed for one of 90 %."""
    for sets, banded in ((8, False), (9, True)):
        gscores = regression.gscores[:sets]
        line = fit_regression(gscores[:, None], 0.8 - 0.5 * gscores**2, [0.5])
        ax = figures.gscore_scatter(line, metric="auroc")
        assert bool(ax.collections) == banded and len(ax.lines) == 2


def test_bad_input(regression):
    with pytest.raises(ValueError, match="did you mean 'fpr95'"):
        figures.gscore_scatter(regression, metric="fpr_95")
    with pytest.raises(ValueError, match="unseen: length 2 expected"):
        figures.gscore_scatter(regression, metric="fpr95", unseen=([1, 2], [1]))
