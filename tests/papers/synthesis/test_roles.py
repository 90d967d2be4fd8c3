"""What the papers are compared on: names, measures, and sets to learn a prediction from."""

import numpy as np
import pytest

from helpers import data, metrics
from helpers.papers import PAPERS
from helpers.papers.synthesis.roles import ALGORITHMS, MEASURES, Protocol, Roles, families
from helpers.papers.uimnet import parameters as uimnet
from helpers.papers.unknown_detection import protocol as unknown_detection
from helpers.training import objectives


def test_every_way_to_train_is_among_the_algorithms():
    """Of all objectives, and of the chapters that name their algorithms."""
    named = set(ALGORITHMS) | {"erm"}  # which is the baseline
    assert set(objectives.names()) <= named
    assert set(uimnet.ALGORITHMS) <= named
    assert set(unknown_detection.METHODS) - {"odin", "openmax"} <= named


def test_measures_agree_with_the_records_of_metrics():
    """Whether higher is better is said in two places, and no two measures are the same number."""
    better = {one.name: one.better for one in metrics.RECORDS}
    for one in MEASURES.values():
        assert one.paper in (*PAPERS, "")
        if one.metric in better:
            assert one.higher == (better[one.metric] == "higher"), one
    assert len({(one.metric, one.test_set) for one in MEASURES.values()}) == len(MEASURES)
    assert len({one.title for one in MEASURES.values()}) == len(MEASURES)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"keep": 1.0}, "keep: between 0 and 1 expected, got 1.0"),
        ({"bins": 0}, "bins: at least 1 expected, got 0"),
        ({"members": 1}, "members: at least 2 expected"),
    ],
)
def test_a_protocol_refuses_what_cannot_be(changed, message):
    """Its own values, and those of the benchmark that it extends."""
    with pytest.raises(ValueError, match=message):
        Protocol(**changed)


@pytest.fixture(scope="module")
def roles():
    mazes, plaid = (data.load(name, "test").unknown() for name in ("mazes", "plaid"))
    known = data.load("cifar10_mini", "test").select(["cat", "dog"])
    few = known.subset(np.arange(20))
    none = data.load("gaussian", "test").unknown()
    return Roles(("cat",), ("dog",), {}, known, few, few, mazes, mazes, few, {"plaid": plaid},
                 {"gaussian": none})  # fmt: skip


def test_families_are_as_many_images_as_there_are_to_mix_them_with(roles):
    """All unknown, at most as many as validation images, and the same each time."""
    found = families(["clocks", "trees", "stars"], roles, Protocol())
    assert list(found) == ["clocks", "trees", "stars"]
    assert {len(one) for one in found.values()} == {20}
    assert all((one.labels == -1).all() for one in found.values())
    again = families(["trees", "stars", "clocks"], roles, Protocol())
    assert all(found[name].sha256 == again[name].sha256 for name in found)


@pytest.mark.parametrize(("name", "role"), [("mazes", "external"), ("plaid", "plaid"),
                                            ("gaussian", "gaussian")])  # fmt: skip
def test_families_are_none_of_the_sets_that_are_used_otherwise(roles, name, role):
    """What is predicted must not be what the prediction was learnt from."""
    with pytest.raises(ValueError, match=f"'{name}' shares the class {name} .* '{role}'"):
        families(["clocks", "trees", name], roles, Protocol())
    with pytest.raises(ValueError, match="at least 3 expected, got 2"):
        families(["clocks", "trees"], roles, Protocol())
