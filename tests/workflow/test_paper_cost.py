"""What tier `paper` costs, counted: by hand where that is possible; nothing is trained."""

import doctest

import pytest

from benchmarks import paper_cost
from helpers.networks.recipe import Recipe

assert doctest.testmod(paper_cost).failed == 0


def test_operations_of_a_network_are_those_of_its_paper():
    """He et al. (2016), table 1: 1.8 billion multiplications; 512 features, 266 classes."""
    recipe = Recipe(depth=18, width=64, stem_stride=4)
    operations, values = paper_cost.of_recipe(recipe, 266, 224)
    assert 3.5e9 < operations < 3.7e9 and values == 266 + 512
    half, _ = paper_cost.of_recipe(recipe, 266, 112)
    assert half == pytest.approx(operations / 4, rel=0.1)


def test_outliers_are_read_and_versions_pass_through():
    assert paper_cost.shown(Recipe(epochs=2), 100) == (200, 200)
    assert paper_cost.shown(Recipe(epochs=2, objective="outlier_exposure"), 100) == (600, 600)
    assert paper_cost.shown(Recipe(epochs=2, objective="augmix"), 100) == (200, 600)
    assert paper_cost.shown(Recipe(epochs=2, objective="rnd"), 99) == (99, 33)  # forward, once


def test_every_network_of_a_chapter_is_counted_once(monkeypatch):
    """Of unknown detection six methods train: one network a run, an ensemble four more."""
    monkeypatch.setattr(paper_cost, "of_recipe", lambda recipe, classes, size: (1.0, classes))
    assert len(list(paper_cost.unknown_detection())) == 5 * (6 + 4)
    assert len(list(paper_cost.uimnet())) == 480
    small = list(paper_cost.gscore())
    assert len(small) == 6 and not any(one.streamed for one in small)
