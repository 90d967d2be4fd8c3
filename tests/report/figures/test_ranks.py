from itertools import combinations, permutations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers.report import figures


def methods_of(number, seed=0):
    """Random mean ranks of methods with names of three to fifteen letters."""
    ranks = np.random.default_rng(seed).uniform(1, number, number)
    return pd.Series(ranks, [f"{chr(97 + i) * (3 + 5 * i % 13)}" for i in range(number)])


def bars(ax):
    return [line for line in ax.lines if line.get_marker() == "o"]


def test_critical_difference():
    """The better half is labelled on the right, best on top; bars join what does not differ."""
    ranks = pd.Series({"C4.5": 3.143, "m": 2.0, "cf": 2.893, "m+cf": 1.964})
    ax = figures.critical_difference(ranks, 1.12)
    places = {text.get_text(): text.xy for text in ax.texts[:-1]}
    assert list(places) == ["m+cf  1.96", "m  2.00", "2.89  cf", "3.14  C4.5"]
    assert [x for x, _ in places.values()] == [1, 1, 4, 4]
    lines = [y for _, y in places.values()]
    assert lines[0] == lines[3] < lines[1] == lines[2]  # the axis is at line 0
    assert [bar.get_xdata().tolist() for bar in bars(ax)] == [[1.964, 2.0, 2.893], [2.893, 3.143]]
    assert bars(ax)[0].get_ydata()[0] != bars(ax)[1].get_ydata()[0]
    assert np.ptp(ax.lines[-1].get_xdata()) == pytest.approx(1.12)
    assert ax.texts[-1].get_text() == "critical difference 1.12"
    assert ax.get_xlim() == (4, 1) and ax.get_xlabel() == "mean rank (1 is best)"


def test_methods_that_differ_from_all_have_no_bar_and_separate_bars_share_a_level():
    ranks = pd.Series({"a": 1.0, "b": 1.2, "c": 3.0, "d": 4.8, "e": 5.0})
    first, second = bars(figures.critical_difference(ranks, 0.5))
    assert first.get_xdata().tolist() == [1.0, 1.2] and second.get_xdata().tolist() == [4.8, 5.0]
    assert {*first.get_ydata()} == {*second.get_ydata()}
    assert not bars(figures.critical_difference(ranks, 0.1))


@pytest.mark.parametrize("number", [2, 3, 9, 20])
def test_labels_and_lines_keep_clear_of_each_other(number):
    """No two texts overlap, all are on the figure, and no line to a label crosses another."""
    ranks = methods_of(number)
    with plt.rc_context():
        figures.use_style()
        ax = figures.critical_difference(ranks, number / 5)
        figure = ax.figure
        figure.draw_without_rendering()
        texts = [*ax.texts, ax.xaxis.label, *ax.get_xticklabels()]
        boxes = [text.get_window_extent() for text in texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    corners = np.array([box.corners() for box in boxes])
    assert corners.min() >= 0 and (corners <= figure.bbox.size).all()
    elbows = [line.get_xydata() for line in ax.lines if len(line.get_xdata()) == 3][:number]
    assert len(elbows) == number
    for (_, corner, edge), (hung, other, _) in permutations(elbows, 2):
        between = min(corner[0], edge[0]) < hung[0] < max(corner[0], edge[0])
        assert not (between and corner[1] < other[1])
    lowest = max(line.get_ydata().max() for line in bars(ax)) if bars(ax) else 0
    assert lowest < min(elbow[1, 1] for elbow in elbows)


@pytest.mark.parametrize(
    "names",
    [
        ["prior-corrected, share estimated", "regression on the P-P curve", "constant"],
        ["mahalanobis_pp", "mahalanobis", "kl_matching", *"abcdefghijklmnopqrstuvwx"],
    ],
)
def test_a_phone_shows_the_letters_and_an_axis_of_some_length(names):
    """In a column of 358 pixels letters are ten high; long names leave the axis a quarter of it."""
    with plt.rc_context():
        figures.use_style()
        ax = figures.critical_difference(pd.Series(range(1, len(names) + 1), names, float), 1.0)
        ax.figure.draw_without_rendering()
        box = ax.figure.get_tightbbox()
        pixels = 358 / (box.width + 0.2)  # of an inch; notebooks leave 0.1 inches around
        assert plt.rcParams["font.size"] / 72 * pixels >= 10
        assert ax.get_window_extent().width / ax.figure.dpi * pixels >= 358 / 4


def test_a_difference_beyond_the_axis_is_drawn_whole():
    ax = figures.critical_difference(methods_of(3), 5.0)
    left, right = ax.get_xlim()
    low, high = ax.lines[-1].get_xdata()
    assert right <= low < 1 and 3 < high <= left
    assert ax.get_xticks().tolist() == [1, 2, 3]
    assert ax.spines["top"].get_bounds() == (1, 3)


def test_equal_ranks_are_drawn_and_bad_ones_refused():
    ax = figures.critical_difference(pd.Series({"a": 2.0, "b": 2.0, "c": 2.0}), 1.0)
    assert [bar.get_xdata().tolist() for bar in bars(ax)] == [[2.0, 2.0, 2.0]]
    with pytest.raises(ValueError, match="two methods or more"):
        figures.critical_difference(pd.Series({"a": 1.0}), 1.0)
    with pytest.raises(ValueError, match="difference: a positive"):
        figures.critical_difference(methods_of(4), -1.0)
