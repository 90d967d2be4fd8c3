"""The suite of sets, what they share with the ID set, and the mixtures made of them."""

import sys

import numpy as np
import pytest

from helpers import data
from helpers.data import write_pack
from helpers.papers.gscore.mixtures import drawn_sizes, in_ratio, places
from helpers.papers.gscore.protocol import Protocol
from helpers.papers.gscore.suite import gbench, pack_name, shared_classes, suite

SMALL = Protocol(fold_share=0.2, validation_images=100, set_images=300, held_out=["cat", "ship"])


@pytest.fixture
def packs(tmp_path, monkeypatch):
    """A folder of three packs, one of which shows a class of the ID set."""
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    pixels = np.random.default_rng(0).integers(0, 256, (40, 48, 48, 3), np.uint8)
    for name, split in (("pebbles_pack", "sample"), ("moss_pack", "val"), ("pacs_photo", "test")):
        parts = {"train": (pixels[:5], [0] * 5), split: (pixels, [0] * 40)}
        write_pack(tmp_path / f"{name}.zip", name=name, class_names=["one"], splits=parts,
                   origin={"title": name})  # fmt: skip


@pytest.fixture(scope="module")
def roles():
    return suite("cifar10_mini", ["mazes", "digits"], SMALL)


def pixels_of(images):
    return {image.tobytes() for image in images.images}


def test_no_id_image_has_two_roles(roles):
    """A fifth is mixed with sets, so many validate, the network has the rest."""
    parts = [roles.train, roles.meta, roles.validation, roles.test]
    assert [len(part) for part in parts] == [2400 - 480 - 100, 480, 100, 800]
    assert len(set.union(*map(pixels_of, parts))) == sum(map(len, parts))
    for part in parts:
        assert len(part.class_names) == 8 and set(part.labels) == set(range(8))


def test_held_out_classes_are_sets_of_their_own(roles):
    """And of no other role; all sets are unknown, and no larger than they may be."""
    assert list(roles.sets) == ["held_out_cat", "held_out_ship", "mazes", "digits"]
    assert not {"cat", "ship"} & set(roles.train.class_names)
    whole = [data.load("cifar10_mini", split).select(["cat"]) for split in ("train", "test")]
    assert pixels_of(roles.sets["held_out_cat"]) < pixels_of(whole[0]) | pixels_of(whole[1])
    assert all(len(images) == 300 for images in roles.sets.values())
    assert all((images.labels == -1).all() for images in roles.sets.values())


def test_the_seed_decides_the_parts_of_the_training_images(roles):
    """And nothing else of the ID set."""
    again = suite("cifar10_mini", ["mazes"], SMALL)
    other = suite("cifar10_mini", ["mazes"], Protocol(validation_images=100, seed=1))
    assert again.train.sha256 == roles.train.sha256
    assert again.sets["mazes"].sha256 == roles.sets["mazes"].sha256
    assert other.validation.sha256 != roles.validation.sha256
    assert other.test.sha256 == data.load("cifar10_mini", "test").sha256


def test_packs_are_found_and_brought_to_one_size(packs):
    """Of each the split that there is; those that share classes are left out, with the reason."""
    found = suite("cifar10_mini", ["mazes"], Protocol(), packs=True)
    assert list(found.sets) == ["mazes", "moss_pack", "pebbles_pack"]
    assert [images.split for images in found.sets.values()] == ["test", "val", "sample"]
    assert found.sets["moss_pack"].images.shape == (40, 32, 32, 3)
    assert found.excluded == {"pacs_photo": "dog, horse"}


def test_a_set_that_cannot_be_downloaded_is_excluded_and_one_that_is_named_refused(
    packs, monkeypatch
):
    """Of torchvision's sets some host is always out of reach."""

    def unreachable(name, split, **options):
        if name == "usps":
            raise FileNotFoundError("data set 'usps': no connection")
        return load(name, split, **options)

    load = data.load
    monkeypatch.setattr(data, "load", unreachable)
    module = sys.modules["helpers.papers.gscore.suite"]  # the name there is the function's
    monkeypatch.setattr(module, "_at_hand", lambda download: ["moss_pack", "usps"])
    found = suite("cifar10_mini", ["mazes"], Protocol(), packs=True, download=True)
    assert list(found.sets) == ["mazes", "moss_pack"]
    assert found.excluded == {"usps": "data set 'usps': no connection"}
    with pytest.raises(FileNotFoundError, match="no connection"):
        suite("cifar10_mini", ["mazes", "usps"], Protocol(), download=True)


def test_what_a_network_learns_from_tests_nothing():
    """Outliers are unknown images of the sets' training splits, and no set of the suite."""
    found = suite("cifar10_mini", ["mazes", "plaid"], Protocol(), outliers=["plaid"])
    assert list(found.sets) == ["mazes"]
    assert found.excluded == {"plaid": "the network learns from it"}
    assert len(found.outliers) == 2000 and (found.outliers.labels == -1).all()
    assert not pixels_of(found.outliers) & pixels_of(data.load("plaid", "test"))


def test_shifted_images_are_the_test_images_corrupted(roles):
    """In the same order, so that the same mixtures can be made of them."""
    found = suite("cifar10_mini", ["mazes"], Protocol(shifts=["brightness/2"]))
    shifted = found.shifted["brightness/2"]
    assert np.array_equal(shifted.labels, found.test.labels)
    assert shifted.images.mean() > found.test.images.mean() + 10


@pytest.mark.parametrize(
    ("sets", "protocol", "message"),
    [
        (["mazse"], Protocol(), "unknown data set 'mazse'; did you mean 'mazes'"),
        (["mazes", "mazes"], Protocol(), "sets: twice: mazes"),
        ([], Protocol(), "sets: none left"),
        (["mazes"], Protocol(held_out=["cta"]), "unknown class .* 'cta'; did you mean 'cat'"),
        (["mazes"], Protocol(validation_images=2400), "validation_images: 2400 leave none of 3000"),
    ],
)
def test_a_suite_that_cannot_be_made_is_refused(sets, protocol, message):
    """By the name of what is wrong."""
    with pytest.raises(ValueError, match=message):
        suite("cifar10_mini", sets, protocol)


def test_what_sets_share_with_an_id_set():
    """An ID set is none of its own sets; CIFAR-100 has the paper's list, too."""
    for id_set in ("cifar10", "cifar10_mini", "cifar100"):
        shared = shared_classes(id_set)
        assert shared[id_set] == "the ID set itself"
        assert {"tiny_imagenet_64", "caltech101", "pacs_art"} <= set(shared)
        assert not {"mnist", "dtd_subset", "mazes"} & set(shared)
    assert "cifar100" not in shared_classes("cifar10")
    assert pack_name("MIT indoor scenes") in shared_classes("cifar100")
    assert shared_classes("digits") == {}


def test_the_paper_s_list():
    """Every name makes a pack's name of its own, and has an address."""
    names = [pack_name(name) for name in gbench()]
    assert len(set(names)) == len(names) == 147
    assert all(url.startswith("http") for url in gbench().values())
    listed = [name for name in shared_classes("cifar100") if name.startswith("gbench_")]
    assert set(listed) < set(names)
    with pytest.raises(ValueError, match="unknown set of Gbench 'Tally mark'"):
        pack_name("Tally mark")


def test_mixtures_in_a_ratio():
    """The largest that the images allow, at least one of each."""
    assert in_ratio(10, 400) == (10, 10)
    assert in_ratio(1000, 1000, (100, 1)) == (1000, 10)
    assert in_ratio(1000, 70, (3, 7)) == (30, 70)
    assert in_ratio(1000, 1000, (1, 4), size=50) == (10, 40)
    assert in_ratio(5, 9, (1, 100)) == (1, 9)
    with pytest.raises(ValueError, match="known, unknown: at least one image each, got 0 and 3"):
        in_ratio(0, 3)
    with pytest.raises(ValueError, match="ratio: positive numbers expected"):
        in_ratio(3, 3, (0, 1))


def test_drawn_sizes_stay_within_what_there_is():
    """From the least to all of them, both ends included."""
    generator = np.random.default_rng(0)
    drawn = np.array([drawn_sizes(103, 60, 100, generator) for _ in range(200)])
    assert set(drawn[:, 0]) == {100, 101, 102, 103} and set(drawn[:, 1]) == {60}


def test_places_follow_from_name_and_seed():
    """Fewer are a part of more; another name or seed draws others."""
    few, more = places("a", 100, 10, 0), places("a", 100, 50, 0)
    assert set(few) < set(more) and len(set(more)) == 50
    assert set(places("b", 100, 10, 0)) != set(few) != set(places("a", 100, 10, 1))
    assert np.array_equal(places("a", 7, 7, 3), np.arange(7))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fold_share": 1.0}, "fold_share: between 0 and 1 expected, got 1.0"),
        ({"level": 0}, "level: between 0 and 1"),
        ({"repeats": 0}, "repeats: at least 1 expected, got 0"),
        ({"validation_images": 1}, "validation_images: at least 2"),
        ({"ratios": [[1, 0]]}, r"ratios: pairs of positive numbers expected, got \[1, 0\]"),
        ({"sizes": [2]}, "sizes: at least 4 images expected, got 2"),
        ({"validations": [600]}, r"validations: 2 to validation_images \(500\) expected, got 600"),
        ({"shifts": ["fogg/3"]}, "unknown corruption 'fogg'; did you mean 'fog'"),
        ({"shifts": ["fog/9"]}, "unknown severity of a shift '9'"),
    ],
)
def test_a_protocol_that_cannot_be_run_is_refused(change, message):
    """By the name of what is out of range."""
    with pytest.raises(ValueError, match=message):
        Protocol(**change)
