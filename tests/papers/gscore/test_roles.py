"""The suite of sets, and their common classes with the ID set."""

import numpy as np
import pytest

from helpers import data
from helpers.papers import run
from helpers.papers.gscore.roles import roles
from tests.papers.toys import pack, pixels_of, tiny

PUBLISHED = "resnet20.akamaster_cifar10"
MINI = tiny("roles", "gscore")


def suite_of(number=0, **given):
    parameters = MINI.replace(**given)
    return roles(parameters, run.parts(parameters)[number])


def test_no_id_image_has_two_roles():
    """A fifth is mixed with sets, some images validate, and the network gets all other images.

    Held-out classes are sets; all sets are unknown, and no larger than they may be.
    """
    given = {"sets": ["mazes", "digits"], "set_images": 300, "held_out": ["cat", "ship"]}
    suite = suite_of(**given)
    parts = [suite.train, suite.meta, suite.validation, suite.test]
    assert [len(part) for part in parts] == [2400 - 480 - 300, 480, 300, 800]
    assert len(set.union(*map(pixels_of, parts))) == sum(map(len, parts))
    for part in parts:
        assert not {"cat", "ship"} & set(part.class_names)
        assert set(part.labels) == set(range(8))
    sizes = {name: (len(images), *set(images.labels)) for name, images in suite.sets.items()}
    assert sizes == dict.fromkeys(("held_out_cat", "held_out_ship", "mazes", "digits"), (300, -1))
    cats = [data.load("cifar10_mini", split).select(["cat"]) for split in ("train", "test")]
    assert pixels_of(suite.sets["held_out_cat"]) < set.union(*map(pixels_of, cats))
    # the seed decides the parts of the training images, and nothing else of the ID set
    again = suite_of(**given)
    other = suite_of(seed=1)
    assert again.train.sha256 == suite.train.sha256
    assert again.sets["mazes"].sha256 == suite.sets["mazes"].sha256
    assert other.validation.sha256 != suite.validation.sha256
    assert other.test.sha256 == data.load("cifar10_mini", "test").sha256
    # classes are held out of the main ID set only
    two = {"data_set": "digits", "other_data_sets": ["cifar10_mini"], "held_out": ["3"]}
    assert len(suite_of(-1, **two).train.class_names) == 10


def test_a_published_network_has_its_roles_from_test_images():
    """It learned from all training images; no class is held out, and no outlier shown to it."""
    given = {
        "networks": {PUBLISHED: {"shown_again": 7, "fold_share": 0.4}, "tiny": {}},
        "held_out": ["cat"],
        "validation_images": 200,
        "outliers": ["plasma"],
        "shown_again": None,
    }
    suite = suite_of(**given)
    other = suite_of(1, **given)
    parts = [suite.meta, suite.validation, suite.test]
    assert [len(part) for part in parts] == [400, 200, 400]
    tested, learnt = (data.load("cifar10_mini", split) for split in ("test", "train"))
    assert suite.train.sha256 == learnt.sha256  # whole and in order: its outputs serve elsewhere
    assert set.union(*map(pixels_of, parts)) == pixels_of(tested)
    assert all(len(part.class_names) == 10 for part in parts)
    assert suite.outliers is None
    assert list(suite.sets) == ["mazes"]
    chosen = {name: len(places) for name, places in suite.again.items()}
    assert chosen == {"meta": 200, "test": 200, "mazes": 7}
    assert list(other.sets) == ["held_out_cat", "mazes"]
    assert not other.again
    assert len(other.meta) == 540
    assert pixels_of(other.meta) < pixels_of(learnt)
    with pytest.raises(ValueError, match="leave none of 1000 test images to be mixed"):
        suite_of(**given | {"validation_images": 600})


def test_packs_are_loaded_in_one_size_and_are_data_sets_that_are_used(root):
    """Each pack has its available split; packs with common classes are left out with the reason."""
    for name, split in (("pebbles", "sample"), ("moss", "val"), ("pacs_photo", "test")):
        pack(root, name, ["x"], {"train": 5, split: 40}, size=48)
    (root / ".half_written.zip").touch()
    suite = suite_of(packs=True)
    splits = {name: images.split for name, images in suite.sets.items()}
    assert splits == {"mazes": "test", "moss": "val", "pebbles": "sample"}
    assert suite.sets["moss"].images.shape == (40, 32, 32, 3)
    assert suite.excluded == {"pacs_photo": "dog, horse"}
    published = {PUBLISHED: {}, "densenet100.dice_cifar100": {}}
    for given, used in (
        ({}, []),
        ({"packs": True}, ["moss", "pacs_photo", "pebbles"]),
        ({"networks": published}, ["cifar100"]),
    ):
        assert MINI.replace(**given).data_sets_used() == ["cifar10_mini", "mazes", *used]


def test_a_set_that_cannot_be_downloaded_is_excluded_and_one_that_is_named_refused(monkeypatch):
    """Some host of torchvision's sets is often not available."""

    def unreachable(name, split, **options):
        if name in downloads:
            raise FileNotFoundError(f"data set '{name}': no connection")
        return load(name, split, **options)

    downloads = {card.name for card in data.cards() if card.torchvision}
    load = data.load
    monkeypatch.setattr(data, "load", unreachable)
    suite = suite_of(packs=True, download=True)
    assert list(suite.sets) == ["mazes"]
    assert suite.excluded["usps"] == "data set 'usps': no connection"
    with pytest.raises(FileNotFoundError, match="no connection"):
        suite_of(sets=["mazes", "usps"], download=True)


def test_outliers_and_shifted_images():
    """Outliers are unknown images of the sets' training splits, and no set of the suite.

    The test images are corrupted in their order, so that mixtures are the same.
    """
    suite = suite_of(sets=["mazes", "plaid"], outliers=["plaid"], shifts=["brightness/2"])
    assert suite.excluded == {"plaid": "the network learns from it"}
    assert [*suite.sets] == ["mazes"]
    assert len(suite.outliers) == 2000
    assert (suite.outliers.labels == -1).all()
    assert not pixels_of(suite.outliers) & pixels_of(data.load("plaid", "test"))
    shifted = suite.shifted["brightness/2"]
    assert np.array_equal(shifted.labels, suite.test.labels)
    assert shifted.images.mean() > suite.test.images.mean() + 10
