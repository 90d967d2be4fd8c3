"""Figures of the synthesis: numbers at their places, and bad input named."""

import numpy as np
import pandas as pd
import pytest

from known_unknowns.across import figures
from known_unknowns.across.measures import MEASURES
from known_unknowns.across.parameters import ALGORITHMS


@pytest.fixture
def pairs():
    """Correlations of three measures as the table that `agreement` gives."""
    names, square = ("aurc", "ece", "auroc_far"), [[1, 0.1, 0.9], [0.1, 1, 0.2], [0.9, 0.2, 1]]
    index = pd.MultiIndex.from_product([names, names], names=["first", "second"])
    table = pd.DataFrame({"correlation": np.ravel(square)}, index).reset_index()
    low, high = table["correlation"] - 0.1, table["correlation"] + 0.1
    return table.assign(low=low, high=high, ranked=12, runs=2)


def test_the_heat_map_shows_per_cent_and_frames_the_best_score(means, texts):
    """Numbers stand in their cells, absent ones leave none, and the best of a column is framed."""
    ax = figures.cell_heatmap(means, measure="aurc")
    shown = {tuple(np.floor(text.get_position()).astype(int)): text.get_text() for text in ax.texts}
    assert shown == {(0, 0): "30", (0, 1): "20", (1, 0): "40", (2, 2): "50"}
    assert texts(ax.get_yticklabels()) == ["msp", "vim", "native"]
    assert [one.get_xy() for one in ax.patches] == [(1, 0), (0, 1), (2, 2)]
    with pytest.raises(ValueError, match="unknown measure 'accuracy'"):
        figures.cell_heatmap(means, measure="accuracy")


def test_heat_maps_of_places_are_dark_for_the_best(means, texts):
    """The lowest AURC and the highest accuracy have the lowest place."""
    axes = figures.place_heatmaps(means, ["aurc", "accuracy"])
    aurc, accuracy = (ax.images[0].get_array().filled(np.nan) for ax in axes.flat[:2])
    assert np.nanargmin(aurc) == 3 and np.nanargmin(accuracy) == 1
    assert texts(axes[0, 0].get_yticklabels()) == ["msp", "vim", "native"]


def test_the_matrix_brings_together_what_agrees(pairs, texts):
    """Measures that agree are neighbours, in the matrix and in the tree beside it."""
    matrix, tree = figures.agreement_matrix(pairs)
    names = texts(matrix.get_yticklabels())
    places = {name: names.index(MEASURES[name].title) for name in ("aurc", "ece", "auroc_far")}
    assert abs(places["aurc"] - places["auroc_far"]) == 1 and places["ece"] in (0, 2)
    numbers = np.array([int(text.get_text()) for text in matrix.texts]).reshape(3, 3)
    assert numbers[places["aurc"], places["auroc_far"]] == 90
    heights = sorted(line.get_xdata().max() for line in tree.lines)
    assert heights == pytest.approx([0.1, 0.85])  # 1 − 0.9, and the mean of 1 − 0.1 and 1 − 0.2
    with pytest.raises(ValueError, match="no column correlation"):
        figures.agreement_matrix(pairs.drop(columns="correlation"))


def test_intervals_are_drawn_in_the_order_of_the_first_table(pairs, texts):
    """The measure that agrees most comes first; every table has its marker and interval."""
    few = pairs[pairs["second"] != "ece"]
    ax = figures.agreement_intervals({"cells": pairs, "scores": few})
    titles = texts(ax.get_yticklabels())
    assert titles == [MEASURES[name].title for name in ("auroc_far", "ece")]
    points = [line for line in ax.lines if line.get_marker() not in ("None", "")]
    assert [line.get_xdata().tolist() for line in points] == [[0.1, 0.9], [0.9]]
    assert points[0].get_marker() != points[1].get_marker()
    with pytest.raises(ValueError, match="unknown among 'cell'"):
        figures.agreement_intervals({"cell": few})
    with pytest.raises(ValueError, match="pairs: empty"):
        figures.agreement_intervals({})


def test_pareto_panels_mark_the_front(means, texts):
    """Each algorithm once, with its best score; those that none beats have a legend entry."""
    axes = figures.pareto_panels(means)
    labels = texts(axes[0].figure.legends[0])
    assert labels == ["not on the front", f"{ALGORITHMS['baseline']}, vim", "Mixup, msp"]
    assert axes[0].lines[0].get_xdata().tolist() == [70]  # EDL's accuracy
    assert axes[2].get_xscale() == "log"
    with pytest.raises(ValueError, match="means: no column ece"):
        figures.pareto_panels(means.drop(columns="ece"))


def test_image_cards_show_each_image_above_its_numbers(texts):
    """An image a column, a method a row, rejected cells in bold, each group named once."""
    images = np.zeros((3, 4, 4, 3), np.uint8)
    percentiles = pd.DataFrame({"msp": [50.0, 1.0, 99.0], "vim": [4.9, 5.0, 0.0]})
    captions, groups = ["a → b", "b → b", "c → a"], ["known", "near", "near"]
    strip, heat = figures.image_cards(images, percentiles, captions, groups=groups)
    assert len(strip.images) == 3
    assert texts(heat.get_xticklabels()) == captions
    assert texts(heat.get_yticklabels()) == ["msp", "vim"]
    rejected = [text.get_weight() == "bold" for text in heat.texts]
    assert rejected == [False, True, False, True, False, True]
    names = [(text.get_text(), text.get_position()[0]) for text in strip.texts]
    assert names == [("known", 0.5), ("near", 2.0)]
    with pytest.raises(ValueError, match="captions: 3 expected"):
        figures.image_cards(images, percentiles, captions[:2], groups=groups)
    with pytest.raises(ValueError, match="between 0 and 100"):
        figures.image_cards(images, percentiles + 2, captions, groups=groups)
    with pytest.raises(ValueError, match=r"images: uint8 \[N, H, W, 3\]"):
        figures.image_cards(images[0], percentiles, captions, groups=groups)
