"""ImageNot: branches of classes, the published lists, and the roles of images."""

import numpy as np
import pytest

from helpers import data
from helpers.papers.parameters import load
from helpers.papers.uimnet.roles import partition, split

MINI = load("uimnet", "mini")
NAMES = list("abcdefg")


def means_of(*values):
    return np.array(values, float)[:, None]


def divide(most=None):
    """Return a division of the classes by their mean pixels, which needs no network."""
    train = data.load("cifar10_mini", "train")
    groups = [train.images[train.labels == k] for k in range(len(train.class_names))]
    means = np.stack([one.mean(axis=0).ravel() for one in groups])
    return partition(means, train.class_names, most)


@pytest.fixture(scope="module")
def mini():
    return split(MINI, 0, divide())


@pytest.mark.parametrize(
    ("means", "most", "inside", "outside"),
    [
        ((0, 1, 20, 21, 2, 3, 4), None, "cd", "ab"),
        ((20, 0, 1, 2, 3, 4, 21), None, "ag", "bc"),
        ((5, 0, 1, 6), None, "ad", "bc"),  # of two of one size, that of the first class
        ((-5, 0, -1, -6), None, "ad", "bc"),
        ((20, 0, 21, 1, 22, 2, 3), 2, "ac", "bd"),  # both domains capped
    ],
)
def test_the_smaller_branch_is_in_domain(means, most, inside, outside):
    """As many of the first classes of the other branch are out-domain, in any order."""
    found = partition(means_of(*means), NAMES[: len(means)], most=most)
    assert (found.in_domain, found.out_domain) == (tuple(inside), tuple(outside))
    left = found.linkage[int(found.linkage[-1, 0]) - len(means), 3]
    assert left == len(inside) + (most is not None)


@pytest.mark.parametrize(
    ("means", "message"),
    [
        (means_of(0, 1, 2, 50), "class_means: a left branch of two .* got 'd' alone"),
        (means_of(0, 1, 2), "class_means: at least 4 classes expected, got 3"),
        (np.zeros(4), r"class_means: 2 dimension\(s\) expected"),
        (means_of(0, 1, 2, np.nan), "class_means: contains NaN"),
    ],
)
def test_classes_that_cannot_be_divided_are_refused(means, message):
    with pytest.raises(ValueError, match=message):
        partition(means, NAMES[: len(means)])


def test_roles_of_small_images(mini):
    """Each label is the class of that name, and no image has two roles."""
    classes = len(mini.in_domain)
    assert len(mini.train) + len(mini.validation) == 300 * classes
    assert len(mini.validation) == 30 * classes
    assert len(mini.test) == len(mini.out) == 100 * classes
    assert (mini.out.labels == -1).all()
    whole = data.load("cifar10_mini", "test")
    for label, name in enumerate(mini.in_domain):
        own = mini.test.images[mini.test.labels == label]
        assert np.array_equal(own, whole.images[whole.labels == whole.class_names.index(name)])
    out = whole.select(mini.out_domain)
    assert np.array_equal(mini.out.images, out.images)
    pixels = {image.tobytes() for image in mini.train.images}
    assert not pixels & {image.tobytes() for image in mini.validation.images}
