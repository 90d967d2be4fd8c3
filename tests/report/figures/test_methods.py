"""Colours of methods: one for each, whatever figure it is in and whatever else is there."""

from itertools import combinations

import matplotlib
import pandas as pd
import pytest

from helpers import scores
from helpers.metrics import risk_coverage_curve
from helpers.papers.human_centric import parameters as human_centric
from helpers.papers.openset_calibration import experiment as openset
from helpers.papers.uimnet.algorithms import ALGORITHMS
from helpers.papers.uimnet.measures import MEASURES
from helpers.papers.unknown_detection import parameters as unknown_detection
from helpers.report import figures
from helpers.report.figures.style import method_styles
from known_unknowns.across import parameters as synthesis


def colour_of(label, axes):
    (line,) = {line.get_color() for line in axes.lines if line.get_label() == label}
    return matplotlib.colors.to_hex(line)


@pytest.mark.parametrize("others", [(), ("Energy", "mine"), ("mine", "ViM", "Baseline")])
def test_msp_has_one_colour_in_every_figure_that_draws_it(others):
    """Curves and training, first or last, by name or by title."""
    expected = method_styles(["msp"])["msp"]["color"]
    names = [*others, "MSP"]
    curve = risk_coverage_curve([0.9, 0.1, 0.8], [True, False, True])
    history = pd.DataFrame({"epoch": [1, 2], "loss": [2.0, 1.0], "accuracy": [0.2, 0.5]})
    drawn = [
        figures.risk_coverage_curves(dict.fromkeys(names, curve)),
        figures.learning_curves(pd.concat([history.assign(network=one) for one in names]))[0],
    ]
    assert {colour_of("MSP", axes) for axes in drawn} == {expected}


def test_a_method_has_one_look_under_all_its_names():
    """The name in code, that of the score's record and those of the chapters."""
    titles = {name: scores.create(name).info.title for name in scores.names()}
    chapters = (human_centric.METHODS, unknown_detection.METHODS, MEASURES,
                ALGORITHMS, synthesis.ALGORITHMS)  # fmt: skip
    for called in (titles, *chapters):
        for name, title in called.items():
            assert method_styles([name])[name] == method_styles([title])[title], name


@pytest.mark.parametrize(
    "methods",
    [unknown_detection.METHODS, ALGORITHMS, MEASURES, openset.METHODS,
     [*human_centric.METHODS][:9], [f"method {number}" for number in range(9)]],
)  # fmt: skip
def test_what_stands_in_one_figure_differs_by_colour_and_without_it(methods):
    looks = method_styles(methods).values()
    assert len({look["color"] for look in looks}) == len(looks)
    assert len({(look["linestyle"], look["marker"]) for look in looks}) == len(looks)


def test_no_two_methods_look_alike():
    """All scores and algorithms; and so do twenty that nobody knows yet."""
    names = [*scores.names(), *synthesis.ALGORITHMS, *(f"new {number}" for number in range(20))]
    looks = method_styles(names)
    for first, second in combinations(looks, 2):
        assert any(looks[first][key] != looks[second][key] for key in ("color", "marker"))


def test_a_score_that_is_added_moves_no_other():
    names = [*scores.names()]
    before, after = method_styles(names), method_styles(["a new one", *names])
    assert {name: after[name] for name in names} == before and len(after) == len(names) + 1
