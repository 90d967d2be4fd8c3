"""A training with half as many epochs more, next to the training with the recipe's epochs."""

import longer_schedule

from helpers.papers.uimnet import trials
from tests.papers.uimnet.test_experiment import TINY, split  # noqa: F401


def test_a_pair_differs_in_its_epochs_alone(split):  # noqa: F811
    algorithm = trials.algorithm_of(TINY, next(iter(TINY.sizes)), "erm")
    recipe = algorithm.recipe
    assert recipe.epochs % 2 == 0
    first, second = longer_schedule.compared(split, recipe, seed=3)
    assert (first["epochs"], second["epochs"]) == (recipe.epochs, 1.5 * recipe.epochs)
    assert first["seed"] == second["seed"] == 3
    for each in (first, second):
        assert 0 <= each["test_accuracy"] <= 1 and 0 <= each["training_accuracy"] <= 1
