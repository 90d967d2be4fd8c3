"""Roles of images, and refused parameters."""

import io
import shutil
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from helpers.data import smoothness
from helpers.papers.unknown_detection import roles
from tests.mistakes import beside
from tests.papers.toys import pack, tiny

PARAMETERS = tiny("roles", "unknown_detection")
BARE = PARAMETERS.replace(aside=[], resized="")
OVERLAPS = beside(__file__, "overlaps.yaml")
CIFAR = BARE.replace(data_set="cifar100", superclasses={}, validation_share=0.2)


def make(parameters, **given):
    return roles.roles(parameters.replace(**given))


@pytest.fixture(scope="module")
def mini():
    return make(PARAMETERS)


def test_the_draw_depends_on_the_seed_and_keeps_given_classes():
    families = {f"family {i}": [f"{i}{letter}" for letter in "abcde"] for i in range(20)}
    draws = {roles.draw_known(families, 0.4, given=["3d"], seed=seed) for seed in range(20)}
    assert len(draws) == 20
    for drawn in draws:
        assert len(drawn) == 40
        assert "3d" in drawn
        assert all(len(set(names) & set(drawn)) == 2 for names in families.values())


@pytest.fixture
def packs(root):
    """A tiny CIFAR-100, a tiny Tiny ImageNet and two test sets."""
    pack(
        root,
        "cifar100",
        ["bee", "cattle", "bus", "train"],
        {"train": 5, "test": 2},
        coarse_class_names=["animals", "vehicles"],
    )
    # school bus and bullet train are below classes of CIFAR-100; bee is one; reel and cat stay
    wnids = ["n04146614", "n02917067", "n02206856", "n04067472", "n02124075"]
    pack(root, "tiny_imagenet_64", wnids, {"train": 4, "val": 2})
    # school bus again, reel (external now), and a tench
    wnids = ["n04146614", "n04067472", "n01440764"]
    pack(root, "imagenet_sample_224", wnids, {"sample": 3})
    pack(root, "zoo", ["animal", "knitting"], {"train": 3, "test": 2})
    return root


def test_wordnet_keeps_the_sets_apart(packs):
    roles = make(CIFAR, external=["tiny_imagenet_64"], far=["imagenet_sample_224", "zoo"])
    assert roles.external.class_names == ("n04067472", "n02124075")
    assert len(roles.external) == 8
    assert roles.far["imagenet_sample_224"].class_names == ("n01440764",)
    assert roles.far["zoo"].class_names == ("knitting",)
    assert len(roles.far["zoo"]) == 2
    assert roles.superclass_of["bus"] == "vehicles"
    assert len(roles.known) == 2


def test_each_far_set_is_cut_by_its_parameters(packs):
    far = {"zoo": {"splits": ["train", "test"], "keep": ["animal"], "images": 7}, "plaid": {}}
    roles = make(CIFAR, external=["mazes"], far=far, far_images=20)
    assert roles.far["zoo"].class_names == ("animal", "knitting")
    assert len(roles.far["zoo"]) == 7
    assert len(roles.far["plaid"]) == 20
    assert CIFAR.replace(far=far).data_sets_used().count("zoo") == 1


def test_jpeg_copies_replace_the_known_and_the_near_images_alone(mini):
    """They equal the images that Pillow reads; labels and other data sets do not change."""
    copies = make(PARAMETERS, jpeg=75)
    for name in ("train", "validation", "test", "near"):
        images = getattr(mini, name)
        copied = getattr(copies, name)
        file = io.BytesIO()
        Image.fromarray(images.images[1]).save(file, "JPEG", quality=75)
        assert np.array_equal(copied.images[1], np.asarray(Image.open(file)))
        assert np.array_equal(copied.labels, images.labels)
    for name in ("external", "external_validation"):
        assert getattr(copies, name).sha256 == getattr(mini, name).sha256
    assert copies.far["digits"].sha256 == mini.far["digits"].sha256
    assert copies.train.sha256 != mini.train.sha256


def test_the_kernel_changes_the_external_images_alone(packs):
    given = {"external": ["tiny_imagenet_64"], "far": ["zoo"]}
    pack(packs, "tiny_imagenet_64", ["n04146614", "n04067472"], {"train": 4, "val": 2}, size=64)
    before = make(CIFAR, **given)
    smooth = make(CIFAR, external_kernel="bilinear", **given)
    for name in ("external", "external_validation"):
        sharp = getattr(before, name)
        soft = getattr(smooth, name)
        assert smoothness(soft.images).mean() > smoothness(sharp.images).mean() + 0.02
        assert np.array_equal(soft.labels, sharp.labels)
        assert soft.images.shape == sharp.images.shape
    assert smooth.train.sha256 == before.train.sha256
    assert smooth.far["zoo"].sha256 == before.far["zoo"].sha256
    assert "external_kernel" not in CIFAR.decisive()


def test_without_copies_no_row_and_no_image_has_another_key(mini):
    assert PARAMETERS.jpeg is None
    assert "jpeg" not in PARAMETERS.decisive()
    assert make(PARAMETERS).train.sha256 == mini.train.sha256


@pytest.mark.parametrize("message", OVERLAPS)
def test_roles_that_overlap_or_cannot_be_read_are_refused(packs, message):
    splits = {"train": 4, "val": 4}
    pack(packs, "partly", ["n04146614", "n02206856", "images"], splits)
    pack(packs, "plain", ["7-segment", "knitting"], splits)
    with pytest.raises(ValueError, match=message):
        make(CIFAR, **{"external": ["mazes"], "far": ["plaid"]} | OVERLAPS[message])


def test_the_authors_archive_names_the_known_classes(root):
    others = (
        "test/cifar60",
        "test/svhn",
        "test/lsun-fix",
        "test/describable-textures",
        "train/new-tinyimagenet158",
        "valid/new-tinyimagenet158",
    )
    files = [f"{folder}/no-labels/all/{index}" for folder in others for index in range(4)]
    for name, index in product(("bee", "forest"), range(3)):
        files.append(f"train/cifar40/{name}/{index}")
        for split in ("valid/cifar40", "test/cifar40"):
            files += [f"{split}/labels/{name}/{index}", f"{split}/no-labels/all/{name}{index}"]
    bench = root / "cifar-bench"
    for number, file in enumerate(files):
        (bench / file).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 48), (number, 0, 99)).save(bench / f"{file}.png")
    archive = {"data_set": "cifar-bench", "external": ["cifar-bench"], "far": []}
    sets = make(BARE, external_validation=3, **archive)
    assert sets.known == ("bee", "forest")
    assert sets.train.images.shape == (6, 32, 32, 3)
    parts = (sets.validation, sets.test, sets.near, sets.external_validation, *sets.far.values())
    assert [len(part) for part in parts] == [6, 6, 4, 3, 4, 4, 4]
    assert [*sets.far] == ["svhn", "lsun_fix", "dtd"]
    assert set(sets.external.labels) == {-1}
    assert sets.test.labels.tolist() == [0, 0, 0, 1, 1, 1]
    shutil.rmtree(bench / "test/cifar60")
    with pytest.raises(FileNotFoundError, match="test/cifar60: no such folder of the authors' ar"):
        make(BARE, **archive)
    (bench / "valid/cifar40/labels/bee").rename(bench / "valid/cifar40/labels/wasp")
    with pytest.raises(ValueError, match="class 'bee' of cifar40 is in one of its parts train and"):
        make(BARE, **archive)


class Photographs(SimpleNamespace):
    """Labels alone, whose subset is the places of its images."""

    def __len__(self):
        return len(self.labels)

    def subset(self, mask):
        return np.flatnonzero(mask)


def test_photographs_of_a_class_are_learned_or_held_out():
    labels = np.arange(40) % 4
    photographs = Photographs(labels=labels, class_names=tuple("abcd"), root="x")
    given = SimpleNamespace(held_out_per_class=2, train_per_class=5, seed=0)
    learned, held_out = roles._divide(photographs, given)
    assert np.bincount(labels[learned]).tolist() == [5] * 4
    assert np.bincount(labels[held_out]).tolist() == [2] * 4
    assert not {*learned} & {*held_out}
