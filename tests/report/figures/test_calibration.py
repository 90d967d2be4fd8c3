import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers.metrics import calibration_error, reliability_curve
from helpers.report import figures


@pytest.fixture
def answers():
    generator = np.random.default_rng(0)
    confidence = generator.uniform(0.35, 1, 200)
    return confidence, generator.random(200) < confidence**2


class TestReliability:
    def test_the_printed_ece_is_the_metric(self, answers, texts):
        ax = figures.reliability_diagram(reliability_curve(*answers, bins=7))
        assert texts(ax.texts) == [f"ECE {calibration_error(*answers, bins=7):.3f}"]

    def test_bars_and_gaps_are_those_of_the_curve(self, answers):
        curve = reliability_curve(*answers)
        ax = figures.reliability_diagram(curve)
        accuracy, gap = ax.containers
        assert len(accuracy) == len(gap) == len(curve.count) < 15
        assert [bar.get_height() for bar in accuracy] == pytest.approx(curve.accuracy)
        ends = [bar.get_y() + bar.get_height() for bar in gap]
        assert ends == pytest.approx(curve.confidence)
        histogram = ax.child_axes[0].containers[0]
        assert sum(bar.get_height() for bar in histogram) == pytest.approx(1)
        assert [bar.get_x() for bar in histogram] == pytest.approx(curve.edges[:, 0])

    def test_it_draws_where_it_is_told(self, answers):
        ax = plt.subplots()[1]
        assert figures.reliability_diagram(reliability_curve(*answers), ax=ax, title="here") is ax
        assert ax.get_title() == "here"

    def test_the_grid_has_a_panel_for_each_combination(self, answers, texts):
        confidence, correct = answers
        panels = {
            (method, calibration): reliability_curve(confidence**power, correct)
            for method in ("closed-set", "open-set", "open-set + OpenMax")
            for calibration, power in (("before", 1), ("after", 2))
        }
        axes = figures.reliability_grid(panels)
        assert axes.shape == (3, 2)
        assert axes[2, 0].get_title() == "open-set + OpenMax\nbefore scaling"
        after = calibration_error(confidence**2, correct)
        assert texts(axes[1, 1].texts) == [f"ECE {after:.3f}"]
        assert len({ax.child_axes[0].get_ylim() for ax in axes.flat}) == 1
        del panels["open-set", "after"]
        with pytest.raises(ValueError, match=r"missing .*'open-set', 'after'"):
            figures.reliability_grid(panels)
        with pytest.raises(ValueError, match="missing all"):
            figures.reliability_grid({})
