"""What the parameters of unknown detection may be."""

import pytest

from helpers.papers.parameters import load

PARAMETERS = load("unknown_detection", "mini", networks={"tiny": {"width": 4}}, network="tiny")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"known_share": 1.0}, "known_share: less than 1 expected, got 1.0"),
        ({"members": 1}, "members: at least 2"),
        ({"members": 101}, "members: at most 100 expected, got 101"),
        ({"epsilons": []}, r"epsilons: at least 1 value\(s\)"),
        ({"epsilons": [-0.1]}, r"epsilons\.0: at least 0"),
        ({"temperatures": [0]}, r"temperatures\.0: more than 0"),
        ({"alphas": [0]}, r"alphas\.0: at least 1"),
        ({"tails": [1, 5]}, r"tails\.0: at least 2"),
        ({"distance": "euclid"}, "unknown distance 'euclid'; did you mean 'euclidean'"),
        ({"methods": ["odni"]}, "unknown method 'odni'; did you mean 'odin'"),
        ({"network": "tinny"}, "unknown network 'tinny'; did you mean 'tiny'"),
        ({"networks": {"tiny": {}, "big": {"dpeth": 9}}}, "unknown training parameter 'dpeth'"),
        ({"method_recipes": {"crl": {"epoch": 3}}}, "unknown training parameter 'epoch'"),
        ({"method_recipes": {}}, "mc_dropout: its recipe has no dropout"),
    ],
)
def test_bad_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        PARAMETERS.replace(**changes)


def test_the_recipe_of_a_method_is_its_own_or_the_baselines():
    assert PARAMETERS.method_recipe("crl").objective == "crl"
    assert PARAMETERS.method_recipe("odin") == PARAMETERS.method_recipe("baseline")
