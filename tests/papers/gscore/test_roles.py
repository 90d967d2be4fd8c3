"""The suite of sets, what they share with the ID set, and the parameters that make it."""

import numpy as np
import pytest

from helpers import data
from helpers.data import write_pack
from helpers.data.class_lists import shared_classes
from helpers.papers import load, run
from helpers.papers.gscore.roles import gbench, pack_name, roles

GIVEN = {"shifts": [], "held_out": [], "outliers": [], "sets": ["mazes"]}
MINI = load("gscore", "mini", networks={"tiny": {}}, **GIVEN)
PUBLISHED = "resnet20.akamaster_cifar10"


def suite_of(**given):
    own = MINI.replace(**given)
    return roles(own, run.parts(own)[0])


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
def suite():
    return suite_of(sets=["mazes", "digits"], set_images=300, held_out=["cat", "ship"])


def pixels_of(images):
    return {image.tobytes() for image in images.images}


def test_no_id_image_has_two_roles(suite):
    """A fifth is mixed with sets, so many validate, the network has the rest.

    Held-out classes are sets of their own; all sets are unknown, and no larger than they may be.
    """
    parts = [suite.train, suite.meta, suite.validation, suite.test]
    assert [len(part) for part in parts] == [2400 - 480 - 300, 480, 300, 800]
    assert len(set.union(*map(pixels_of, parts))) == sum(map(len, parts))
    for part in parts:
        assert len(part.class_names) == 8 and set(part.labels) == set(range(8))
    assert list(suite.sets) == ["held_out_cat", "held_out_ship", "mazes", "digits"]
    assert not {"cat", "ship"} & set(suite.train.class_names)
    whole = [data.load("cifar10_mini", split).select(["cat"]) for split in ("train", "test")]
    assert pixels_of(suite.sets["held_out_cat"]) < set.union(*map(pixels_of, whole))
    for images in suite.sets.values():
        assert len(images) == 300 and (images.labels == -1).all()


def test_the_seed_decides_the_parts_of_the_training_images(suite):
    """And nothing else of the ID set; classes are held out of the main one only."""
    again = suite_of(set_images=300, held_out=["cat", "ship"])
    other = suite_of(seed=1)
    assert again.train.sha256 == suite.train.sha256
    assert again.sets["mazes"].sha256 == suite.sets["mazes"].sha256
    assert other.validation.sha256 != suite.validation.sha256
    assert other.test.sha256 == data.load("cifar10_mini", "test").sha256
    own = MINI.replace(data_set="digits", other_data_sets=["cifar10_mini"], held_out=["3"])
    assert len(roles(own, run.parts(own)[-1]).train.class_names) == 10


def test_a_published_network_has_its_roles_from_test_images():
    """It has learnt from all training images; no class is held out, and no outlier shown to it."""
    own = load("gscore", "mini", networks={PUBLISHED: {"shown_again": 7}, "tiny": {}}, **GIVEN)
    own = own.replace(held_out=["cat"], fold_share=0.4, validation_images=200, outliers=["plasma"])
    published, trained = run.parts(own)
    suite = roles(own, published)
    parts = [suite.meta, suite.validation, suite.test]
    assert [len(part) for part in parts] == [400, 200, 400]
    tested, learnt = (data.load("cifar10_mini", split) for split in ("test", "train"))
    assert suite.train.sha256 == learnt.sha256  # whole and in order: its outputs serve elsewhere
    assert set.union(*map(pixels_of, parts)) == pixels_of(tested)
    assert not pixels_of(tested) & pixels_of(learnt)
    assert all(len(part.class_names) == 10 for part in parts) and suite.outliers is None
    assert list(suite.sets) == ["mazes"]
    assert {name: len(chosen) for name, chosen in suite.again.items()} == {
        "meta": 200, "test": 200, "mazes": 7,
    }  # fmt: skip
    other = roles(own, trained)
    assert list(other.sets) == ["held_out_cat", "mazes"] and not other.again
    assert pixels_of(other.meta) < pixels_of(learnt.select(other.meta.class_names))
    with pytest.raises(ValueError, match="leave none of 1000 test images to be mixed"):
        roles(own.replace(validation_images=600), published)


def test_a_published_network_may_have_values_of_its_own():
    """Of how images are divided, and of nothing else; all are checked."""
    own = MINI.replace(networks={"tiny": {}, PUBLISHED: {"set_images": 20, "fold_share": 0.5}})
    changed = own.of_network(PUBLISHED)
    assert (changed.set_images, changed.fold_share, changed.validation_images) == (20, 0.5, 300)
    assert own.of_network("tiny") is own
    for changes, message in (
        ({"epochs": 3}, "unknown value that 'resnet20.akamaster_cifar10' may have for itself"),
        ({"set_images": 1}, "set_images: at least 2 expected, got 1"),
        ({"validation_images": 50}, "validations: at most validation_images \\(50\\) expected"),
    ):
        with pytest.raises(ValueError, match=message):
            MINI.replace(networks={PUBLISHED: changes})


def test_packs_are_found_and_brought_to_one_size(packs):
    """Of each the split that there is; those that share classes are left out, with the reason."""
    found = suite_of(packs=True)
    assert list(found.sets) == ["mazes", "moss_pack", "pebbles_pack"]
    assert [images.split for images in found.sets.values()] == ["test", "val", "sample"]
    assert found.sets["moss_pack"].images.shape == (40, 32, 32, 3)
    assert found.excluded == {"pacs_photo": "dog, horse"}


def test_a_set_that_cannot_be_downloaded_is_excluded_and_one_that_is_named_refused(monkeypatch):
    """Of torchvision's sets some host is always out of reach."""

    def unreachable(name, split, **options):
        if name in asked:
            raise FileNotFoundError(f"data set '{name}': no connection")
        return load(name, split, **options)

    asked, load = {card.name for card in data.cards() if card.torchvision}, data.load
    monkeypatch.setattr(data, "load", unreachable)
    found = suite_of(packs=True, download=True)
    assert list(found.sets) == ["mazes"]
    assert found.excluded["usps"] == "data set 'usps': no connection"
    with pytest.raises(FileNotFoundError, match="no connection"):
        suite_of(sets=["mazes", "usps"], download=True)


def test_outliers_and_shifted_images():
    """Outliers are unknown images of the sets' training splits, and no set of the suite.

    The test images are corrupted in their order, so that the same mixtures can be made of them.
    """
    found = suite_of(sets=["mazes", "plaid"], outliers=["plaid"], shifts=["brightness/2"])
    assert list(found.sets) == ["mazes"]
    assert found.excluded == {"plaid": "the network learns from it"}
    assert len(found.outliers) == 2000 and (found.outliers.labels == -1).all()
    assert not pixels_of(found.outliers) & pixels_of(data.load("plaid", "test"))
    shifted = found.shifted["brightness/2"]
    assert np.array_equal(shifted.labels, found.test.labels)
    assert shifted.images.mean() > found.test.images.mean() + 10


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sets": []}, "sets: none left"),
        ({"held_out": ["cta"]}, "unknown class .* 'cta'; did you mean 'cat'"),
        ({"validation_images": 2400}, "validation_images: 2400 leave none of 3000"),
        ({"sets": ["digits", "clokcs"]}, "unknown data set 'clokcs'; did you mean 'clocks'"),
        ({"sets": ["mazes", "mazes"]}, "sets: twice: mazes"),
        ({"outliers": ["plasm"]}, "unknown data set 'plasm'; did you mean 'plasma'"),
        ({"other_data_sets": ["cifar1O"]}, "unknown data set 'cifar1O'; did you mean 'cifar10'"),
        ({"detectors": ["enrgy"]}, "unknown score 'enrgy'; did you mean 'energy'"),
        ({"fold_share": 1.0}, "fold_share: less than 1 expected, got 1.0"),
        ({"repeats": 0}, "repeats: at least 1 expected, got 0"),
        ({"detectors": ["jsd"]}, "detector 'jsd' needs members"),
        ({"score_arguments": {"odin": {"temperature": 0}}}, "temperature: a positive number"),
        ({"evaluators": ["ude_l1"]}, "unknown evaluator 'ude_l1'; did you mean 'ude_l2'"),
        ({"level": 0}, "level: more than 0"),
        ({"validation_images": 1}, "validation_images: at least 2"),
        ({"ratios": [[1, 0]]}, r"ratios.0.1: at least 1 expected, got 0"),
        ({"ratios": [[1]]}, r"ratios.0: at least 2 value\(s\) expected"),
        ({"sizes": [2]}, "sizes.0: at least 4 expected, got 2"),
        ({"validations": [600]}, r"validations: at most validation_images \(300\) expected"),
        ({"shifts": ["fogg/3"]}, "unknown corruption 'fogg'; did you mean 'fog'"),
        (
            {"networks": {"resnet20.akamaster_cifar": {}}},
            "did you mean 'resnet20.akamaster_cifar10'",
        ),
        ({"networks": {PUBLISHED: {}}, "other_data_sets": ["digits"]}, "other_data_sets: none exp"),
        ({"shifts": ["fog/9"]}, "unknown severity of a shift '9'"),
    ],
)
def test_a_suite_that_cannot_be_made_is_refused(given, message):
    """By the name of what is wrong, and before anything is loaded where parameters say it."""
    with pytest.raises(ValueError, match=message):
        suite_of(**given)


def test_what_sets_share_with_an_id_set():
    """An ID set is none of its own sets; CIFAR-100 has the paper's list, too.

    Every name of that list makes a pack's name of its own, and has an address.
    """
    for id_set in ("cifar10", "cifar10_mini", "cifar100"):
        shared = shared_classes(id_set)
        assert shared[id_set] == "the ID set itself"
        assert {"tiny_imagenet_64", "caltech101", "pacs_art"} <= set(shared)
        assert not {"mnist", "dtd_subset", "mazes"} & set(shared)
    assert "cifar100" not in shared_classes("cifar10") and shared_classes("digits") == {}
    names = {pack_name(name) for name in gbench()}
    assert len(names) == len(gbench()) == 147
    assert all(url.startswith("http") for url in gbench().values())
    listed = {name for name in shared if name.startswith("gbench_")}
    assert pack_name("MIT indoor scenes") in listed < names
    with pytest.raises(ValueError, match="unknown set of Gbench 'Tally mark'"):
        pack_name("Tally mark")


def test_all_packs_are_data_sets_that_are_used(tmp_path, monkeypatch):
    """A pack that is added makes another suite, so that the pipeline's steps have to run again."""
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    for name in ("pebbles", "moss", ".half_written"):
        (tmp_path / f"{name}.zip").touch()
    assert MINI.data_sets_used() == ["cifar10_mini", "mazes"]
    assert MINI.replace(packs=True).data_sets_used()[2:] == ["moss", "pebbles"]
    published = MINI.replace(networks={PUBLISHED: {}, "densenet100.dice_cifar100": {}})
    assert published.data_sets_used() == ["cifar10_mini", "mazes", "cifar100"]
