"""Roles of the human-centric benchmark: what is shown, and what is refused."""

import numpy as np
import pytest

from helpers.data import Images, load
from helpers.papers.human_centric import roles as human_centric
from helpers.papers.human_centric.roles import (
    METHODS,
    PAPER_METHODS,
    Model,
    Protocol,
    roles,
    spoiled,
)

SMALL = Protocol(corrupted_images=2, label_shifted_images=30, severities=(1, 5))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    monkeypatch.setenv("DATA_ROOT", str(tmp_path / "data"))


def pictures(names=("cat", "dog"), n=12, name="pets"):
    """Return n images, each of a colour of its own."""
    pixels = np.arange(n, dtype=np.uint8)[:, None, None, None] * np.ones((8, 8, 3), np.uint8)
    return Images(pixels, np.arange(n) % len(names), names, name, "test")


def test_what_the_name_of_a_model_says():
    assert Model.parse("resnet8+stylised_half") == Model("resnet8", "stylised_half")
    assert Model.parse("resnet50+adversarial_0.25").strength == 0.25
    assert [Model.parse(name).family for name in ("resnet18", "swin_tiny", "vit4+distilled")] == [
        "resnet",
        "swin",
        "vit",
    ]
    with pytest.raises(ValueError, match="unknown strategy 'augmx'; did you mean 'augmix'"):
        Model.parse("resnet8+augmx")


def test_the_papers_nine_scores_come_first():
    assert list(METHODS)[:9] == list(PAPER_METHODS) and len(METHODS) == 17


def test_every_kind_of_corruption_gets_other_images_as_far_as_there_are():
    images = pictures(n=12)
    protocol = Protocol(corrupted_images=4, corruptions=("brightness", "contrast", "fog"),
                        severities=(1, 2))  # fmt: skip
    found, origins = spoiled(images, protocol)
    assert len(found) == len(origins) == 3 * 2 * 4
    chosen = np.random.default_rng(0).permutation(12)
    # twelve images are three kinds of four; then they come anew
    expected = np.resize(chosen, 24)
    assert (origins == expected).all()
    assert found.labels.tolist() == images.labels[expected].tolist()
    assert sorted(expected[:12]) == list(range(12))
    # brightness of severity 1 adds 0.05 to all values of small images
    first = images.images[expected[:4]] / 255 + 0.05
    np.testing.assert_allclose(found.images[:4] / 255, first, atol=0.01)


def test_a_data_set_and_its_corrupted_images_by_name():
    made = roles("cifar10_mini", [], ["cifar10_mini"], ["digits", "mazes"], SMALL)
    assert list(made.sets) == ["test", "corrupted", "digits", "mazes"]
    assert len(made.sets["corrupted"]) == 15 * 2 * 2
    assert [len(one) for one in made.label_shifted.values()] == [30, 30]
    assert made.class_names == load("cifar10_mini", "train").class_names


def test_at_most_so_many_training_images_of_each_class():
    made = roles("cifar10_mini", [], [], [], Protocol(train_per_class=7))
    assert np.bincount(made.train.labels).tolist() == [7] * 10


def test_a_set_may_be_shifted_in_its_input_and_in_its_label(monkeypatch):
    """Which of its images is which, the model's classes decide later."""
    own = {"pets": pictures(), "zoo": pictures(("dog", "emu"), 6, "zoo")}
    monkeypatch.setattr(human_centric, "load", lambda name, split, download: own[name])
    monkeypatch.setattr(human_centric, "splits", lambda name: ["train", "test"])
    made = roles("pets", ["zoo"], ["zoo"], ["zoo"], SMALL)
    assert list(made.sets) == ["test", "zoo", "zoo corrupted", "zoo others"]
    assert made.drawn_from["zoo corrupted"][0] == made.drawn_from["zoo others"][0] == "zoo"
    assert len(made.input_shifted["zoo"]) == len(made.label_shifted["zoo others"]) == 6


def test_at_most_so_many_images_of_a_shifted_set(monkeypatch):
    monkeypatch.setattr(human_centric, "load", lambda name, split, download: pictures(n=40))
    monkeypatch.setattr(human_centric, "splits", lambda name: ["train", "test"])
    made = roles("pets", ["zoo"], [], ["more"], Protocol(input_shifted_images=9,
                                                         label_shifted_images=5))  # fmt: skip
    assert len(made.input_shifted["zoo"]) == 9 and len(made.label_shifted["more"]) == 5


def test_classes_that_the_model_knows_by_another_name_are_left_out():
    made = roles("cifar10_mini", [], [], ["digits"], Protocol(excluded={"digits": ["0", "7"]}))
    found = made.label_shifted["digits"]
    assert set(np.array(found.class_names)[found.labels]) == set("12345689")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], ["digits"], []), "unknown set to corrupt 'digits'; There are: cifar10_mini"),
        (([], [], ["digist"]), "unknown data set 'digist'; did you mean 'digits'"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        roles("cifar10_mini", *arguments, SMALL)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"corrupted_images": 0}, "corrupted_images: at least 1 expected, got 0"),
        ({"train_per_class": -1}, "train_per_class: at least 0"),
        ({"corruptions": ("fogg",)}, "unknown corruption 'fogg'; did you mean 'fog'"),
        ({"severities": (6,)}, "severities: 1 to 5 expected, got 6"),
        ({"score_arguments": {"knnn": {}}}, "unknown score 'knnn'; did you mean 'knn'"),
    ],
)
def test_a_protocol_refuses_what_it_cannot_mean(changed, message):
    with pytest.raises(ValueError, match=message):
        Protocol(**changed)


def test_unknown_classes_to_leave_out_are_refused():
    with pytest.raises(ValueError, match="unknown class of digits '10'"):
        roles("cifar10_mini", [], [], ["digits"], Protocol(excluded={"digits": ["10"]}))
