"""ImageNot: branches of classes, the published lists, and the roles of images."""

import numpy as np
import pytest
from PIL import Image

from helpers import data
from helpers.data import class_lists
from helpers.files import data_root
from helpers.papers.parameters import load
from helpers.papers.uimnet.roles import partition, roles, split

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


def test_the_data_seed_decides_what_is_held_out(mini):
    """It decides neither classes nor test images, and does not draw by class."""
    again, other = (split(MINI, data_seed, divide()) for data_seed in (0, 1))
    assert again.validation.sha256 == mini.validation.sha256
    assert other.validation.sha256 != mini.validation.sha256
    assert (other.in_domain, other.test.sha256) == (mini.in_domain, mini.test.sha256)
    assert len(set(np.bincount(mini.validation.labels))) > 1
    few = split(MINI.replace(validation_share=0.5), 0, divide(most=2))
    assert few.in_domain == mini.in_domain[:2] and few.out_domain == mini.out_domain[:2]
    assert len(few.validation) == len(few.train) == 300
    smaller = split(MINI.replace(side=16), 0, divide())
    assert smaller.out.images.shape[1:] == smaller.train.images.shape[1:] == (16, 16, 3)


def test_photographs_are_divided_by_the_features_of_a_network(photographs):
    """The first three hundred classes of this ImageNet are white."""
    classes = list(class_lists.wnids_of("imagenet"))
    assert list(class_lists.imagenot()[1]) == classes[:266]
    for path in (data_root() / "imagenet" / "train").glob("*/*.jpg"):
        if path.parent.name in classes[:300]:
            Image.new("RGB", (8, 8), "white").save(path)
    tiny = {"tiny": {"depth": 8, "width": 4, "stem_stride": 2}}
    training = {"epochs": 1, "batch_size": 32, "image_size": 16}
    own = load("uimnet", "paper", featuriser="tiny", sizes=tiny, training=training, runs=1)
    found = roles(own)[0]
    assert (list(found.in_domain), list(found.out_domain)) == (classes[:300], classes[300:600])
    assert found.test.root.name == "val" and found.train.class_names == found.in_domain


def test_roles_of_photographs(photographs):
    """The classes are the published ones; test images are from the validation split."""
    made = roles(load("uimnet", "paper", most_classes=20))[0]
    assert (made.in_domain, made.out_domain) == tuple(w[:20] for w in class_lists.imagenot())
    sets = made.train, made.validation, made.test, made.out
    assert [len(one) for one in sets] == [72, 8, 40, 40]
    assert made.partition is None and (made.out.labels == -1).all()
    assert not set(made.train.files) & set(made.validation.files)
    assert made.test.root.name == "val" and made.train.class_names == made.in_domain
