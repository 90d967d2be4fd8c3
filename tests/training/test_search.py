"""Random search: defaults first, draws by seed, impossible laws refused by name."""

import numpy as np
import pytest

from helpers.networks.recipe import Recipe
from helpers.training.search import applied, trials

SPACE = {
    "learning_rate": {"log_uniform": [0.01, 0.5]},
    "momentum": {"choice": [0.5, 0.9, 0.99]},
    "share": {"uniform": [0.2, 1]},
}
DEFAULTS = {"learning_rate": 0.1, "momentum": 0.9, "share": 0.6, "copies": 2}


def test_the_first_trial_is_the_defaults_and_others_are_drawn():
    """What has no law stays as it is, and the defaults are not changed."""
    first, *others = trials(SPACE, DEFAULTS, 40)
    assert first == DEFAULTS
    assert len(others) == 39 and len({one["learning_rate"] for one in others}) == 39
    for one in others:
        assert list(one) == list(DEFAULTS) and one["copies"] == 2
        assert 0.01 <= one["learning_rate"] <= 0.5 and 0.2 <= one["share"] <= 1
    assert {one["momentum"] for one in others} == {0.5, 0.9, 0.99}


def test_a_draw_depends_on_its_own_trial_and_name():
    """Not on further trials or hyper-parameters, nor on their order; but on the seed."""
    few, many = trials(SPACE, DEFAULTS, 3), trials(SPACE, DEFAULTS, 9)
    assert many[:3] == few
    turned = dict(reversed(SPACE.items()))
    assert trials(turned, DEFAULTS, 3) == few
    alone = trials({"share": SPACE["share"]}, DEFAULTS, 3)
    assert [one["share"] for one in alone] == [one["share"] for one in few]
    other = trials(SPACE, DEFAULTS, 3, seed=1)
    assert other[0] == few[0] and other[1] != few[1]


def test_the_laws():
    """Of 2,000 draws: the logarithm, or the value, is uniform; each choice as often."""
    found = trials(SPACE, DEFAULTS, 2001)[1:]
    logs = np.log([one["learning_rate"] for one in found])
    shares = np.array([one["share"] for one in found])
    for values, low, high in ((logs, np.log(0.01), np.log(0.5)), (shares, 0.2, 1)):
        quarters = np.histogram(values, bins=4, range=(low, high))[0]
        assert quarters.sum() == 2000 and np.abs(quarters - 500).max() < 100
    counts = np.unique([one["momentum"] for one in found], return_counts=True)[1]
    assert np.abs(counts - 2000 / 3).max() < 110
    assert abs(np.corrcoef(logs, shares)[0, 1]) < 0.08


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ({"uniform": [1, 0.2]}, r"share: uniform of two numbers, the lower first, .* \[1, 0.2\]"),
        ({"log_uniform": [0, 1]}, "share: log_uniform of two numbers above 0"),
        ({"log_uniform": [-1, 1]}, "share: log_uniform of two numbers above 0"),
        ({"uniform": [0, float("inf")]}, "share: uniform of two numbers"),
        ({"uniform": [0, float("nan")]}, "share: uniform of two numbers"),
        ({"uniform": [0, 1, 2]}, "share: uniform of two numbers"),
        ({"uniform": ["0", "1"]}, "share: uniform of two numbers"),
        ({"uniform": 3}, "share: uniform of a list of values expected, got 3"),
        ({"choice": []}, r"share: choice of a list of values expected, got \[\]"),
        ({"choice": "ab"}, "share: choice of a list of values expected, got 'ab'"),
        ({"uniformly": [0, 1]}, "unknown law of 'share' 'uniformly'; did you mean 'uniform'"),
        ({"uniform": [0, 1], "choice": [1]}, "share: one law out of choice, log_uniform, uniform"),
        ([0, 1], "share: one law out of"),
    ],
)
def test_impossible_laws_are_refused(law, message):
    """Even where no trial would draw from them."""
    with pytest.raises(ValueError, match=message):
        trials({"share": law}, DEFAULTS, 1)


def test_a_law_without_a_default_is_refused():
    """With the nearest name; and so are no trials."""
    with pytest.raises(ValueError, match="'momentun'; did you mean 'momentum'"):
        trials({"momentun": {"choice": [0.9]}}, DEFAULTS, 2)
    with pytest.raises(ValueError, match="count: at least 1 trial expected, got 0"):
        trials(SPACE, DEFAULTS, 0)


def test_a_recipe_with_what_was_drawn():
    """What the objective has for an argument is its own, even where a recipe has that name too."""
    base = Recipe(width=8, objective="rnd", objective_arguments={"weight": 2.0})
    found = applied(base, {"momentum": 0.5, "depth": 2})
    assert (found.momentum, found.width, found.depth) == (0.5, 8, base.depth)
    assert found.objective_arguments == {"weight": 2.0, "depth": 2}
    assert applied(base, {"weight": 1.0}).objective_arguments == {"weight": 1.0}
    assert applied(base, {}) == base
    assert applied(Recipe(), {"depth": 14}).depth == 14
    with pytest.raises(ValueError, match="momentum: at least 0 and below 1"):
        applied(base, {"momentum": 1.5})
    with pytest.raises(ValueError, match="unknown hyper-parameter 'weigth'; did you mean 'weight'"):
        applied(base, {"weigth": 1.0})
