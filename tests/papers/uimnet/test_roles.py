"""ImageNot: branches of classes, the published lists, and the roles of images."""

import numpy as np
import pytest

from helpers import data, scores
from helpers.networks import backbones
from helpers.papers.parameters import load
from helpers.papers.uimnet.imagenot import partition
from helpers.papers.uimnet.names import ALGORITHMS, MEASURES, RECORDS, score_of
from helpers.papers.uimnet.roles import split
from helpers.papers.uimnet.trials import algorithm_of
from tests.mistakes import beside
from tests.papers.toys import pixels_of, tiny

SMALL = load("uimnet", "small")
LISTED = tiny("experiment", "uimnet")
NAMES = list("abcdefg")


DIVIDED = beside(__file__, "branches.yaml")


@pytest.mark.parametrize(("means", "inside", "outside"), DIVIDED)
def test_the_smaller_branch_is_in_domain(means, inside, outside):
    """The same number of first classes of the other branch is out-domain."""
    domains = partition(np.transpose([means]), NAMES[: len(means)])
    assert (domains.in_domain, domains.out_domain) == (tuple(inside), tuple(outside))
    left = domains.linkage[int(domains.linkage[-1, 0]) - len(means), 3]
    assert left == len(inside)


def test_roles_of_small_images():
    """Each label is the class of that name, and no image has two roles."""
    mini = split(LISTED, 0)
    whole = data.load("cifar10_mini", "test")
    sizes = [len(part) for part in (mini.train, mini.validation, mini.test, mini.out)]
    assert sizes == [270 * 5, 30 * 5, 100 * 5, 100 * 5]
    test, out = (whole.select(names) for names in (mini.in_domain, mini.out_domain))
    assert np.array_equal(mini.test.images, test.images)
    assert np.array_equal(mini.test.labels, test.labels)
    assert np.array_equal(mini.out.images, out.images)
    assert set(mini.out.labels) == {-1}
    assert not pixels_of(mini.train) & pixels_of(mini.validation)


def test_listed_classes_are_in_domain_and_as_many_of_the_others_out_domain():
    roles = split(LISTED.replace(in_domain=["ship", "cat"]), 0)
    assert roles.train.class_names == ("ship", "cat") == roles.in_domain
    assert roles.out_domain == ("airplane", "automobile")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_record_of_an_algorithm_agrees_with_its_network(name):
    record = RECORDS[name]
    recipe = algorithm_of(SMALL, "resnet8", name).recipe
    assert (record.native == "native") == (backbones.create(recipe, 3).native is not None)
    assert record.passes == (recipe.block_dropout > 0)
    for measure in MEASURES:
        assert score_of(measure, name, ensemble=True) in scores.names()
        single = score_of(measure, name)
        assert single in scores.names() or (name in ("erm", "mimo", "rbf") and not single)
