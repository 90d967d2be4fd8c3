"""Figures show the given numbers, and methods differ by colour and without colour."""

import re

import numpy as np
import pandas as pd
import pytest

from helpers import scores
from helpers.files import project_root
from helpers.metrics import calibration_error, reliability_curve, risk_coverage_curve
from helpers.papers.human_centric import parameters as human_centric
from helpers.papers.uimnet.names import ALGORITHMS, MEASURES
from helpers.papers.unknown_detection import parameters as unknown_detection
from helpers.tables import figures
from helpers.tables.figures.style import method_styles

IMAGES = np.arange(6 * 4 * 4 * 3, dtype=np.uint8).reshape(6, 4, 4, 3)
SHEET = (IMAGES, np.array([2, 0, 2, 1, 2, 0]), ("cat", "dog", "ship", "not shown"))


def texts(shown):
    """Return the strings of the texts of an axis or an Axes."""
    return [text.get_text() for text in shown]


def test_reliability_diagrams_show_the_curve():
    """The printed ECE is the metric, bars and gaps show the curve, and the grid has one scale."""
    generator = np.random.default_rng(0)
    confidence = generator.uniform(0.35, 1, 200)
    correct = generator.random(200) < confidence**2
    curves = {("msp", f"{n}"): reliability_curve(confidence**n, correct) for n in (1, 2)}
    axes = figures.reliability_grid(curves)
    assert axes.shape == (1, 2)
    assert len({ax.child_axes[0].get_ylim() for ax in axes.flat}) == 1
    for ax, curve, power in zip(axes.flat, curves.values(), (1, 2), strict=True):
        error = calibration_error(confidence**power, correct)
        assert ax.get_title().endswith(f"scaling: ECE {error:.3f}")
        bars = [*ax.containers, *ax.child_axes[0].containers]
        tops = [[bar.get_y() + bar.get_height() for bar in each] for each in bars]
        np.testing.assert_allclose(tops, [curve.accuracy, curve.confidence, curve.count / 200])


def test_a_contact_sheet_has_a_row_for_each_class():
    ax = figures.contact_sheet(*SHEET, columns=2)
    assert texts(ax.get_yticklabels()) == ["cat", "dog", "ship"]
    sheet = ax.images[0].get_array()
    assert (sheet[10:14, :4] == IMAGES[0]).all()
    assert (sheet[10:14, 5:9] == IMAGES[2]).all()
    assert (sheet[5:9, 5:9] == 255).all()  # there is one dog
    ax = figures.contact_sheet(*SHEET, known={2, 1})
    assert texts(ax.get_yticklabels()) == ["dog", "ship", "cat"]


def test_a_method_has_one_look_under_all_its_names():
    """The name in code, the title of the score and the titles of the chapters."""
    titles = {name: scores.create(name).info.title for name in scores.names()}
    for names in (titles, human_centric.METHODS, unknown_detection.METHODS, MEASURES, ALGORITHMS):
        for name, title in names.items():
            assert method_styles([name])[name] == method_styles([title])[title], name


def test_methods_differ_by_colour_and_without_it_and_a_new_method_moves_no_other():
    names = [*map(str, range(20)), *scores.names(), *ALGORITHMS]
    looks = method_styles(names)
    assert len({(look["color"], look["marker"]) for look in looks.values()}) == len(names)
    assert {name: looks[name] for name in scores.names()} == method_styles(scores.names())
    for methods in (unknown_detection.METHODS, ALGORITHMS, MEASURES, "abcdefghi"):  # of one figure
        looks = method_styles(methods).values()
        assert len({look["color"] for look in looks}) == len(looks)
        assert len({(look["linestyle"], look["marker"]) for look in looks}) == len(looks)


def test_critical_differences_are_drawn_as_bars():
    """Best first; bars as long as the difference overlap where two mean ranks are closer."""
    ranks = pd.Series({"C4.5": 3.143, "m": 2.0, "cf": 2.893, "m+cf": 1.964})
    ax = figures.critical_difference(ranks, 1.12)
    assert texts(ax.get_yticklabels())[::3] == ["m+cf  1.96", "C4.5  3.14"]
    (bars,) = (bars.get_segments() for bars in ax.collections)
    bars = np.array(bars)
    assert bars.mean(axis=1) == pytest.approx(np.column_stack([sorted(ranks), range(4)]))
    assert np.ptp(bars[:, :, 0], axis=1) == pytest.approx([1.12] * 4)


def test_groups_share_bins_and_their_shares_add_up_to_one():
    groups = {"smooth": np.linspace(-0.05, 0, 40), "rough": np.linspace(-0.2, -0.03, 10)}
    for limits in (None, (-1, 0)):
        ax = figures.score_histograms(groups, score="smoothness", limits=limits)
        for patch, values in zip(ax.patches, groups.values(), strict=True):
            shares = np.histogram(values, 30, limits or (-0.2, 0))[0] / len(values)
            assert patch.get_xy()[1:61:2, 1] == pytest.approx(shares)


def test_curves_are_drawn_as_given():
    curve = risk_coverage_curve([0.9, 0.1, 0.8, 0.7], [True, False, True, True])
    given, ideal, chance = figures.risk_coverage_curves({"best": curve}).lines
    assert np.array_equal(given.get_data(), curve)
    assert set(chance.get_ydata()) == {0.25}
    assert [ideal.get_label(), chance.get_label()] == ["ideal order, best", "error rate, best"]
    assert ideal.get_ydata() == pytest.approx(curve[1])


def test_the_first_epochs_are_drawn_over_the_full_schedule():
    """Four networks need two bands of columns; each has its pair, the empty places are hidden."""
    epochs = np.arange(1, 201)
    whole = pd.DataFrame({"epoch": epochs, "loss": 3 / epochs, "accuracy": 1 - 1 / epochs})
    finished = {name: whole * [1, number, 1] for number, name in enumerate("abcde", start=1)}
    begun = {name: finished[name].head(3) * [1, 2, 1] for name in "abce"}
    axes = figures.first_epochs(begun, finished)
    assert axes.shape == (4, 3)
    assert [ax.get_title() for ax in axes.flat if ax.get_title()] == ["a", "b", "c", "e"]
    for metric, ax in zip(("loss", "accuracy"), axes[2:, 0], strict=True):
        light, dark = ax.lines
        assert light.get_ydata().tolist() == finished["e"][metric].tolist()
        assert dark.get_ydata().tolist() == begun["e"][metric].tolist()
    assert not [ax for ax in axes[2:, 1:].flat if ax.get_visible()]


def test_no_figure_has_letters_below_the_smallest():
    root = project_root()
    files = ("helpers/**/*.py", "synthesis/**/*.py", "notebooks/**/*.ipynb")
    for path in (path for name in files for path in root.glob(name)):
        sizes = re.findall(r"(?:font|label)size=\\?\W?([\w.-]+)", path.read_text(encoding="utf-8"))
        assert not [size for size in sizes if size.endswith("x-small")], path
        assert not [size for size in sizes if size[0].isdigit() and float(size) < 8], path
