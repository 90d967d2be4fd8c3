"""Figures of the audit show the numbers that they are given."""

import numpy as np
import pandas as pd
import pytest

from helpers.labelfree import fit_regression
from known_unknowns.auditing import figures

RANKING = pd.DataFrame(
    [
        ("msp", "aurc", "", 0.1, 0.05, 0.2),
        ("msp", "aurc", "all", 0.3, 0.2, 0.4),
        ("msp", "auroc", "pets", 0.9, 0.8, 1.0),
        ("gap", "aurc", "", 0.2, 0.21, 0.3),
        ("gap", "aurc", "all", 0.4, 0.3, 0.5),
    ],
    columns=["score", "metric", "set", "value", "low", "high"],
)


def test_the_best_score_is_on_top_and_the_chosen_one_bold(texts):
    ax = figures.score_ranking(RANKING, {"msp": "MSP", "gap": "Gap"}, chosen="gap")
    assert texts(ax.get_yticklabels()) == ["MSP", "Gap"]
    assert [one.get_fontweight() for one in ax.get_yticklabels()] == ["normal", "bold"]
    assert ax.yaxis_inverted() and len(ax.containers) == 2
    with pytest.raises(ValueError, match="unknown chosen score 'gpa'; did you mean 'gap'"):
        figures.score_ranking(RANKING, {}, chosen="gpa")


def test_thresholds_are_lines_even_beyond_most_scores():
    groups = {"validation": np.arange(1000.0), "OOD sets": np.append(np.zeros(50), -1e9)}
    ax = figures.scores_and_thresholds(groups, {"risk": 5.0, "coverage": 2000.0}, score="MSP")
    lines = {line.get_label(): line.get_xdata()[0] for line in ax.lines}
    assert lines == {"risk": 5.0, "coverage": 2000.0} and ax.get_xlim()[0] > -1e3
    figures.scores_and_thresholds(groups, {}, score="MSP")


def test_points_lie_where_thresholds_are():
    curve = np.linspace(0.1, 1, 10), np.linspace(0, 0.2, 10)
    ax = figures.selective_risk({"MSP": curve}, {"promised risk": (0.5, 0.1)})
    (point,) = (line for line in ax.lines if line.get_label() == "promised risk")
    assert point.get_xydata().tolist() == [[0.5, 0.1]]


def test_errors_have_their_captions():
    axes = figures.surest_errors(np.zeros((5, 8, 8, 3), np.uint8), list("abcde"))
    assert axes.shape == (2, 4)
    assert [ax.get_title() for ax in axes.flat] == [*"abcde", "", "", ""]
    with pytest.raises(ValueError, match="captions: 5 expected, at least 1, got 1"):
        figures.surest_errors(np.zeros((5, 8, 8, 3), np.uint8), ["a"])


def test_unlabelled_images_lie_on_the_line():
    x = np.arange(10.0)
    line = fit_regression(x[:, None], 0.5 + 0.04 * x + 0.01 * (-1) ** x, [0.5])
    ax = figures.prediction_on_line(line, 4.5, metric="auroc")
    (point,) = (one for one in ax.lines if one.get_label() == "prediction")
    assert point.get_xydata()[0] == pytest.approx([4.5, 100 * line.predict([4.5])[0]])
