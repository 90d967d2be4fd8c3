"""What the papers are compared on: names, measures, and sets to learn a prediction from."""

import numpy as np
import pytest

from helpers import data, metrics
from helpers.papers import PAPERS
from helpers.papers.parameters import load
from helpers.papers.synthesis.measures import MEASURES
from helpers.papers.synthesis.parameters import ALGORITHMS
from helpers.papers.synthesis.roles import load_families
from helpers.papers.unknown_detection.roles import Benchmark
from helpers.training import objectives

PARAMETERS = load("synthesis", "mini")


def test_every_way_to_train_is_among_the_algorithms():
    """Of all objectives, and of the chapters that name their algorithms."""
    named = set(ALGORITHMS) | {"erm"}  # which is the baseline
    others = PAPERS["unknown_detection"].parameters.METHODS.keys() - {"odin", "openmax"}
    others |= PAPERS["uimnet"].parameters.ALGORITHMS.keys()
    assert others | {*objectives.names()} <= named


def test_measures_agree_with_the_records_of_metrics():
    """Whether higher is better is said in two places, and no two measures are the same number."""
    better = {one.name: one.better for one in metrics.RECORDS}
    for one in MEASURES.values():
        assert one.paper in (*PAPERS, "")
        if one.metric in better:
            assert one.higher == (better[one.metric] == "higher"), one
    assert len({(one.metric, one.test_set) for one in MEASURES.values()}) == len(MEASURES)
    assert len({one.title for one in MEASURES.values()}) == len(MEASURES)


def test_images_and_networks_are_those_of_the_benchmark():
    """So that a network that it has trained is found in the cache."""
    lender = load("unknown_detection", "mini")
    for field in set(PARAMETERS.decisive()) & set(lender.decisive()) - {"aside", "resized"}:
        assert getattr(PARAMETERS, field) == getattr(lender, field), field
    for name, changed in lender.method_recipes.items():
        assert PARAMETERS.algorithms[name].items() >= changed.items()


@pytest.fixture(scope="module")
def benchmark():
    mazes, plaid = (data.load(name, "test").unknown() for name in ("mazes", "plaid"))
    known = data.load("cifar10_mini", "test").select(["cat", "dog"])
    few = known.subset(np.arange(20))
    none = data.load("gaussian", "test").unknown()
    return Benchmark(("cat",), ("dog",), {}, known, few, few, mazes, mazes, few, {"plaid": plaid},
                     {"gaussian": none})  # fmt: skip


def test_families_are_as_many_images_as_there_are_to_mix_them_with(benchmark):
    """All unknown, at most as many as validation images, and the same each time."""
    names = ["clocks", "trees", "stars"]
    found, again = (
        load_families(PARAMETERS.replace(families=order), benchmark)
        for order in (names, names[::-1])
    )
    assert list(found) == names and {len(one) for one in found.values()} == {20}
    assert all((one.labels == -1).all() for one in found.values())
    assert all(found[name].sha256 == again[name].sha256 for name in names)


@pytest.mark.parametrize(
    ("name", "role"), [("mazes", "external"), ("plaid", "plaid"), ("gaussian", "gaussian")]
)
def test_families_are_none_of_the_sets_that_are_used_otherwise(benchmark, name, role):
    """What is predicted must not be what the prediction was learnt from."""
    with pytest.raises(ValueError, match=f"'{name}' shares the class {name} .* '{role}'"):
        load_families(PARAMETERS.replace(families=["clocks", "trees", name]), benchmark)
