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

    All sets are unknown, and no larger than they may be.
    """
    given = {"sets": ["mazes", "digits"], "set_images": 300}
    suite = suite_of(**given)
    parts = [suite.train, suite.meta, suite.validation, suite.test]
    assert [len(part) for part in parts] == [3000 - 600 - 300, 600, 300, 1000]
    assert len(set.union(*map(pixels_of, parts))) == sum(map(len, parts))
    for part in parts:
        assert set(part.labels) == set(range(10))
    sizes = {name: (len(images), *set(images.labels)) for name, images in suite.sets.items()}
    assert sizes == dict.fromkeys(("mazes", "digits"), (300, -1))
    # the seed decides the parts of the training images, and nothing else of the ID set
    again = suite_of(**given)
    other = suite_of(seed=1)
    assert again.train.sha256 == suite.train.sha256
    assert again.sets["mazes"].sha256 == suite.sets["mazes"].sha256
    assert other.validation.sha256 != suite.validation.sha256
    assert other.test.sha256 == data.load("cifar10_mini", "test").sha256


def test_a_published_network_has_its_roles_from_test_images():
    """It learned from all training images."""
    given = {
        "networks": {PUBLISHED: {"shown_again": 7, "fold_share": 0.4}, "tiny": {}},
        "validation_images": 200,
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
    assert list(suite.sets) == ["mazes"]
    chosen = {name: len(places) for name, places in suite.again.items()}
    assert chosen == {"meta": 200, "test": 200, "mazes": 7}
    assert list(other.sets) == ["mazes"]
    assert not other.again
    assert len(other.meta) == 600
    assert pixels_of(other.meta) < pixels_of(learnt)
    with pytest.raises(ValueError, match="leave none of 1000 test images to be mixed"):
        suite_of(**given | {"validation_images": 600})


def test_packs_are_loaded_in_one_size_and_are_data_sets_that_are_used(root):
    """Each pack has its available split; packs with common classes are left out."""
    for name, split in (("pebbles", "sample"), ("moss", "val"), ("pacs_photo", "test")):
        pack(root, name, ["x"], {"train": 5, split: 40}, size=48)
    (root / ".half_written.zip").touch()
    suite = suite_of(packs=True)
    splits = {name: images.split for name, images in suite.sets.items()}
    assert splits == {"mazes": "test", "moss": "val", "pebbles": "sample"}
    assert suite.sets["moss"].images.shape == (40, 32, 32, 3)
    assert suite.missing == {}
    published = {PUBLISHED: {}, "densenet100.dice_cifar100": {}}
    for given, used in (
        ({}, []),
        ({"packs": True}, ["moss", "pacs_photo", "pebbles"]),
        ({"networks": published}, ["cifar100"]),
    ):
        assert MINI.replace(**given).data_sets_used() == ["cifar10_mini", "mazes", *used]


def test_a_set_that_cannot_be_downloaded_is_missing_and_one_that_is_named_refused(monkeypatch):
    """Some host of torchvision's sets is often not available; `run` makes rows of the reasons."""

    def unreachable(name, split, **options):
        if name in downloads:
            raise FileNotFoundError(f"data set '{name}': no connection")
        return load(name, split, **options)

    downloads = {card.name for card in data.cards() if card.torchvision}
    load = data.load
    monkeypatch.setattr(data, "load", unreachable)
    suite = suite_of(packs=True, download=True)
    assert list(suite.sets) == ["mazes"]
    assert suite.missing["usps"] == "data set 'usps': no connection"
    with pytest.raises(FileNotFoundError, match="no connection"):
        suite_of(sets=["mazes", "usps"], download=True)


def test_shifted_images():
    """The test images are corrupted in their order, so that mixtures are the same."""
    suite = suite_of(shifts=["brightness/2"])
    shifted = suite.shifted["brightness/2"]
    assert np.array_equal(shifted.labels, suite.test.labels)
    assert shifted.images.mean() > suite.test.images.mean() + 10
