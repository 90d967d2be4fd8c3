"""The choice of a draw of the classes of median difficulty."""

import class_draws
import numpy as np
import pytest


def test_only_drawn_classes_are_shown_and_answered():
    logits = np.array([[1, 3, 2], [3, 0, 1], [0, 0, 5]])
    labels = np.array([0, 0, 1])
    assert class_draws.restricted_accuracy(logits, labels, [0, 2]) == 0.5
    assert class_draws.restricted_accuracy(logits, labels, [0, 1, 2]) == pytest.approx(1 / 3)


def test_the_chosen_draw_has_the_lowest_seed_in_the_middle():
    accuracies = np.random.default_rng(0).permutation(np.linspace(0.8, 0.9, 1001))
    seed = class_draws.median_draw(accuracies)
    assert 0.849 <= accuracies[seed] <= 0.851
    assert not ((0.849 <= accuracies[:seed]) & (accuracies[:seed] <= 0.851)).any()
