import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from helpers import figures, published, results
from helpers.claims import Verdict
from helpers.claims import openset_calibration as claims
from helpers.metrics import calibration_error, reliability_curve


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def answers():
    generator = np.random.default_rng(0)
    confidence = generator.uniform(0.35, 1, 200)
    return confidence, generator.random(200) < confidence**2


@pytest.fixture
def comparison():
    frame = published.load("openset_calibration")
    frame = frame.rename(columns={"value": "paper"})
    return frame.assign(mean=frame["paper"] + 0.1, std=0.01)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_style_is_for_all_figures():
    with matplotlib.rc_context():
        figures.use_style()
        assert matplotlib.rcParams["figure.figsize"] == [6, 4]
        assert matplotlib.rcParams["font.size"] == 11


class TestContactSheet:
    images = np.arange(6 * 4 * 4 * 3, dtype=np.uint8).reshape(6, 4, 4, 3)
    labels = np.array([2, 0, 2, 1, 2, 0])
    names = ("cat", "dog", "ship", "never seen")

    def test_a_row_for_each_class(self):
        ax = figures.contact_sheet(self.images, self.labels, self.names, columns=2)
        assert [label.get_text() for label in ax.get_yticklabels()] == ["cat", "dog", "ship"]
        sheet = ax.images[0].get_array()
        assert sheet.shape == (3 * 5, 2 * 5, 3)
        assert (sheet[10:14, :4] == self.images[0]).all()  # first ship
        assert (sheet[10:14, 5:9] == self.images[2]).all()  # second, and no third
        assert (sheet[5:9, 5:9] == 255).all()  # there is one dog
        assert not [patch for patch in ax.patches if isinstance(patch, Rectangle)]

    def test_known_classes_first_and_both_groups_framed(self):
        ax = figures.contact_sheet(self.images, self.labels, self.names, known={2, 1})
        assert [label.get_text() for label in ax.get_yticklabels()] == ["dog", "ship", "cat"]
        assert legend(ax) == ["known", "unknown"]
        assert [patch.get_linestyle() for patch in ax.patches] == ["-", "--"]
        only = figures.contact_sheet(self.images, self.labels, self.names, known={0, 1, 2})
        assert legend(only) == ["known"]

    def test_bad_input(self):
        with pytest.raises(ValueError, match="images: uint8"):
            figures.contact_sheet(self.images / 255, self.labels, self.names)
        with pytest.raises(ValueError, match="labels: 6 expected"):
            figures.contact_sheet(self.images, self.labels[:3], self.names)
        for wrong in (self.labels - 1, self.labels + 2):
            with pytest.raises(ValueError, match="labels: 0 to 3"):
                figures.contact_sheet(self.images, wrong, self.names)


def test_learning_curves():
    table = pd.DataFrame({"epoch": [1, 2], "loss": [2.0, 1.0], "accuracy": [0.2, 0.5]})
    loss, accuracy = figures.learning_curves(table)
    assert loss.lines[0].get_ydata().tolist() == [2.0, 1.0]
    assert accuracy.lines[0].get_ydata().tolist() == [0.2, 0.5]
    both = pd.concat([table.assign(network="a"), table.assign(network="b")])
    axes = figures.learning_curves(both)
    assert [len(ax.lines) for ax in axes] == [2, 2]
    assert legend(axes[1]) == ["a", "b"]
    with pytest.raises(ValueError, match="no column loss"):
        figures.learning_curves(table.drop(columns="loss"))
    with pytest.raises(ValueError, match="empty"):
        figures.learning_curves(table.iloc[:0])


class TestReliability:
    def test_the_printed_ece_is_the_metric(self, answers):
        ax = figures.reliability_diagram(*answers, bins=7)
        assert texts(ax) == [f"ECE {calibration_error(*answers, bins=7):.3f}"]

    def test_bars_and_gaps_are_those_of_the_curve(self, answers):
        curve = reliability_curve(*answers)
        ax = figures.reliability_diagram(*answers)
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
        assert figures.reliability_diagram(*answers, ax=ax, title="here") is ax
        assert ax.get_title() == "here"

    def test_bad_input(self, answers):
        confidence, correct = answers
        with pytest.raises(ValueError, match="confidence"):
            figures.reliability_diagram(confidence + 1, correct)
        with pytest.raises(ValueError, match="correct"):
            figures.reliability_diagram(confidence, correct[:5])

    def test_the_grid_has_a_panel_for_each_combination(self, answers):
        confidence, correct = answers
        panels = {
            (method, calibration): (confidence**power, correct)
            for method in ("closed-set", "open-set", "open-set + OpenMax")
            for calibration, power in (("before", 1), ("after", 2))
        }
        axes = figures.reliability_grid(panels)
        assert axes.shape == (3, 2)
        assert axes[2, 0].get_title() == "open-set + OpenMax\nbefore scaling"
        after = calibration_error(confidence**2, correct)
        assert texts(axes[1, 1]) == [f"ECE {after:.3f}"]
        assert len({ax.child_axes[0].get_ylim() for ax in axes.flat}) == 1
        del panels["open-set", "after"]
        with pytest.raises(ValueError, match=r"missing .*'open-set', 'after'"):
            figures.reliability_grid(panels)
        with pytest.raises(ValueError, match="missing all"):
            figures.reliability_grid({})


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


def test_published_scatter(comparison):
    ax = figures.published_scatter(comparison, metric="brier")
    assert ax.get_xlabel() == "Brier, paper"
    assert len(ax.containers) == 3 * 2  # methods, before and after
    x, y = ax.containers[0].lines[0].get_data()
    assert len(x) == 6
    assert np.asarray(y) - np.asarray(x) == pytest.approx(0.1)
    assert max(x) < ax.get_xlim()[1] == ax.get_ylim()[1]
    assert len(legend(ax)) == 5
    with pytest.raises(ValueError, match="no ece_floor beside"):
        figures.published_scatter(comparison, metric="ece_floor")
    with pytest.raises(ValueError, match="no brier beside"):
        figures.published_scatter(comparison.assign(paper=np.nan), metric="brier")


def test_claim_intervals():
    checks = claims.check_published()
    checks["low"], checks["high"] = checks["effect"] - 0.01, checks["effect"] + 0.02
    checks.loc[3, ["verdict", "effect", "low", "high"]] = [Verdict.NO_DATA, *[np.nan] * 3]
    axes = figures.claim_intervals(checks)
    assert len(axes) == checks["check"].nunique()
    cells = len(checks) // len(axes)
    for ax in axes:
        names = [label.get_text() for label in ax.get_yticklabels()]
        assert len(names) == cells and names[:2] == ["all", "CIFAR10, ResNet"]
        assert len(ax.patches) == 1  # the claimed side
    assert sum(len(ax.lines) for ax in axes) == 2 * (len(checks) - 1) + len(axes)
    assert [text for ax in axes for text in texts(ax)].count(" no data") == 1
    first = checks[checks["data_set"] == "all"].iloc[0]
    assert list(axes[0].lines[0].get_xdata()) == [first["low"], first["high"]]
    side = axes[0].patches[0]  # the first effect is claimed below its margin
    assert side.get_x() + side.get_width() == pytest.approx(first["margin"])
    with pytest.raises(ValueError, match="no column margin"):
        figures.claim_intervals(checks.drop(columns="margin"))


def test_claim_intervals_without_any_data():
    nothing = claims.check(results.SCHEMA.empty_table().to_pandas())
    shown = [text for ax in figures.claim_intervals(nothing) for text in texts(ax)]
    assert shown.count(" no data") == len(nothing)


def test_confidence_histograms():
    ax = figures.confidence_histograms([0.2, 0.9, 0.9, 0.9], [0.1, 0.5], 0.5)
    assert isinstance(ax, Axes)
    assert legend(ax) == [
        "known classes, 25% rejected",
        "unknown classes, 50% rejected",  # one that equals the threshold is accepted
        "threshold, 0.500",
    ]
    assert ax.patches[0].get_xy()[:, 1].max() == pytest.approx(0.75)
    with pytest.raises(ValueError, match="unknown: confidences"):
        figures.confidence_histograms([0.5], [1.5], 0.5)
    with pytest.raises(ValueError, match="known: empty"):
        figures.confidence_histograms([], [0.5], 0.5)
