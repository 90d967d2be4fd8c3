"""Parameters and roles of the human-centric benchmark: images, and refused values."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.data import Images, class_lists, wordnet_rules
from helpers.data.hypernyms import Hypernyms
from helpers.papers.human_centric import roles as human_centric
from helpers.papers.human_centric.roles import corrupt_images, roles
from helpers.papers.parameters import load
from helpers.papers.run import digests
from tests.papers.toys import tiny

SMALL = tiny("roles", "human_centric")


def pictures(names=("cat", "dog"), n=12, name="pets"):
    """Return n images of different colours."""
    pixels = np.arange(n, dtype=np.uint8)[:, None, None, None] * np.ones((8, 8, 3), np.uint8)
    return Images(pixels, np.arange(n) % len(names), names, name, "test")


@pytest.fixture
def pets(monkeypatch):
    """Replace two data sets by pictures of pets, and of a dog and another animal."""
    sets = {"cifar10_mini": pictures(n=40), "digits": pictures(("dog", "emu"), 40, "digits")}
    monkeypatch.setattr(human_centric, "load", lambda name, split, **_: sets[name])
    monkeypatch.setattr(human_centric, "split_for_tests", lambda name: "test")


def test_every_kind_of_corruption_gets_different_images_if_enough_are_available():
    images = pictures(n=12)
    parameters = SMALL.replace(
        corrupted_images=4, corruptions=["brightness", "contrast", "fog"], severities=[1, 2]
    )
    corrupted, origins = corrupt_images(images, parameters)
    assert len(corrupted) == len(origins) == 3 * 2 * 4
    # twelve images are three kinds of four; then they come anew
    expected = np.resize(np.random.default_rng(0).permutation(12), 24)
    assert (origins == expected).all()
    assert corrupted.labels.tolist() == images.labels[expected].tolist()
    assert sorted(expected[:12]) == list(range(12))
    # brightness of severity 1 adds 0.05 to all values of small images
    first = images.images[expected[:4]] / 255 + 0.05
    np.testing.assert_allclose(corrupted.images[:4] / 255, first, atol=0.01)


def test_a_missing_set_is_reported_and_the_other_sets_continue(root, caplog):
    """The message has the command that makes the set; a missing ID set is an error."""
    sets = {"input_shifted": ["imagenet_r"], "label_shifted": ["places", "digits", "cifar100"]}
    shift = roles(SMALL.replace(near=["cifar100"], **sets))
    assert list(shift.sets) == ["test", "digits"]
    messages = [record.message for record in caplog.records]
    missing = [message.partition(" is ")[0] for message in messages]
    assert missing == list(shift.missing) == ["imagenet_r", "places", "cifar100"]
    assert "arrange.py places" in messages[1]
    # a reason has paths of this machine, and is no part of a key
    assert digests(shift) == digests(replace(shift, missing={}))
    with pytest.raises(FileNotFoundError, match="data set 'cifar10'"):
        roles(SMALL.replace(data_set="cifar10"))


@pytest.mark.parametrize("kind", ["input_shifted", "label_shifted"])
def test_shifted_images_are_few_and_corrupted_ones_belong_to_test_images(pets, kind):
    few = {"corrupted": ["cifar10_mini"], "input_shifted_images": 9, "label_shifted_images": 5}
    shift = roles(SMALL.replace(**few, **{kind: ["digits"]}))
    assert list(shift.sets) == ["test", "corrupted", "digits"]
    assert len(getattr(shift, kind)["digits"]) == few[f"{kind}_images"]
    labels = shift.test.labels[shift.versions["corrupted"]]
    assert labels.tolist() == shift.sets["corrupted"].labels.tolist()


def test_a_near_set_loses_its_related_classes(pets, monkeypatch):
    monkeypatch.setattr(human_centric.overlaps, "find_related", lambda images, data_set: ["dog"])
    shift = roles(SMALL.replace(label_shifted=["digits"], near=["digits"]))
    assert shift.near == ("digits",)
    assert set(shift.label_shifted["digits"].labels) == {1}  # emus


def test_classes_that_the_model_knows_by_another_name_are_left_out():
    left_out = SMALL.replace(label_shifted=["digits"], excluded={"digits": ["0", "7"]})
    images = roles(left_out).label_shifted["digits"]
    assert set(np.array(images.class_names)[images.labels]) == set("12345689")
    with pytest.raises(ValueError, match="unknown class of digits '10'"):
        roles(left_out.replace(excluded={"digits": ["10"]}))


def test_training_images_of_another_set_fit_the_scores(pets):
    """An ID set with only test images names another set; the default is its own split."""
    id_set = SMALL.data_set
    shift = roles(SMALL.replace(training_sets={id_set: "digits"}))
    assert (shift.train.name, shift.test.name) == ("digits", "pets")
    assert roles(SMALL).train.name == "pets"
    with pytest.raises(ValueError, match="unknown ID set 'mnist'"):
        SMALL.replace(training_sets={"mnist": "digits"})


def test_dishes_that_wordnet_finds_among_imagenets_nouns_are_left_out_at_small():
    """And kinds of them, and soups: 18 of Food-101's 101 classes."""
    excluded = load("human_centric", "small").excluded["food101_64"]
    dishes = class_lists.names_of("food101")
    nouns = wordnet_rules.named_nodes(dishes, Hypernyms.span(class_lists.wnids_of("imagenet")))
    assert {*nouns} < {*excluded} < {*dishes}
    assert len(excluded) == 18
