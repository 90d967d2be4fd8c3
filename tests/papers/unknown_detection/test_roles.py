"""Which image plays which role, and what is refused."""

import shutil
from dataclasses import replace
from itertools import combinations

import make_packs
import numpy as np
import pytest
from PIL import Image

from helpers import data
from helpers.data import ImageStream, class_lists, class_roles, features
from helpers.papers.parameters import load
from helpers.papers.unknown_detection import roles

PARAMETERS = load(
    "unknown_detection", "mini", external=["gratings", "mazes"], far=["digits", "plaid"],
    external_validation=50, far_images=40,
)  # fmt: skip
BARE = PARAMETERS.replace(aside=[], resized="")
CIFAR = BARE.replace(data_set="cifar100", superclasses={}, validation_share=0.2)
PHOTOGRAPHS = BARE.replace(
    data_set="imagenet", external=["imagenet"], external_validation=2000,
    train_per_class=2, held_out_per_class=1,
)  # fmt: skip


def make(parameters, **given):
    return roles.roles(parameters.replace(**given))


@pytest.fixture(scope="module")
def mini():
    return make(PARAMETERS)


def test_half_of_each_superclass_is_known_and_the_rest_near(mini):
    assert len(mini.known) == len(mini.near_classes) == 5
    assert set(mini.known) | set(mini.near_classes) == set(mini.superclass_of)
    families = [mini.superclass_of[name] for name in mini.known]
    assert families.count("animal") == 3 and families.count("vehicle") == 2


def test_sizes_and_labels(mini):
    assert [len(one) for one in (mini.train, mini.validation, mini.test)] == [1350, 150, 500]
    assert len(mini.near) == 500 and len(mini.external) == 4000
    assert len(mini.external_validation) == 50
    assert {name: len(one) for name, one in (mini.far | mini.aside).items()} == {
        "digits": 40, "plaid": 40, "gaussian": 40, "fixed": 40, "aliased": 40,
    }  # fmt: skip
    for one in (mini.train, mini.validation, mini.test):
        assert one.class_names == mini.known and set(one.labels) == set(range(5))
    assert mini.near.class_names == mini.near_classes
    assert (mini.external.labels == -1).all() and (mini.external_validation.labels == -1).all()


def test_a_label_means_the_class_of_that_name(mini):
    whole = data.load("cifar10_mini", "test")
    for part in (mini.test, mini.near):
        for label, name in enumerate(part.class_names):
            own = part.images[part.labels == label]
            assert np.array_equal(own, whole.images[whole.labels == whole.class_names.index(name)])


def test_no_image_has_two_roles(mini):
    parts = [mini.train, mini.validation, mini.test, mini.near, mini.external]
    digests = [{image.tobytes() for image in part.images} for part in parts]
    assert not any(one & other for one, other in combinations(digests, 2))


def test_the_resized_pair_is_the_same_images(mini):
    fixed, aliased = (mini.aside[name].images.astype(float) for name in ("fixed", "aliased"))
    gaps = np.abs(fixed.mean(axis=(1, 2, 3)) - aliased.mean(axis=(1, 2, 3)))
    assert gaps.max() < 12 and not np.array_equal(fixed, aliased)


def test_the_draw_is_by_seed_and_keeps_given_classes():
    families = {f"family {i}": [f"{i}{letter}" for letter in "abcde"] for i in range(20)}
    draws = {roles.draw_known(families, 0.4, given=["3d"], seed=seed) for seed in range(20)}
    assert len(draws) == 20
    for drawn in draws:
        assert len(drawn) == 40 and "3d" in drawn
        assert all(len(set(names) & set(drawn)) == 2 for names in families.values())
    counts = [sum("0a" in drawn for drawn in draws), sum("3a" in drawn for drawn in draws)]
    assert 2 <= counts[0] <= 14 and counts[1] <= 12


@pytest.mark.parametrize(
    ("families", "given", "message"),
    [
        ({"one": ["a"]}, [], "superclass 'one': at least two classes"),
        ({"one": ["a", "b"]}, ["c"], "known_classes: no class c in any superclass"),
        ({"one": ["a", "b", "c"]}, ["a", "b"], "2 of superclass 'one', whose share is 1"),
    ],
)
def test_impossible_draws_are_refused(families, given, message):
    with pytest.raises(ValueError, match=message):
        roles.draw_known(families, 0.4, given=given)


def test_a_class_in_two_superclasses_is_refused():
    images = data.load("digits", "test")
    coarse = np.arange(len(images)) % 2
    twice = replace(images, coarse_labels=coarse, coarse_class_names=("even", "odd"))
    with pytest.raises(ValueError, match="a class lies in two superclasses"):
        roles.superclasses_of(twice)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"data_set": "digits", "superclasses": {}},
            r"'digits' has no coarse labels.*`superclasses`",
        ),
        ({"far": ["mazes"]}, "overlaps the test set 'mazes' in class mazes"),
    ],
)
def test_superclasses_or_sets_that_are_no_good_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        make(BARE, **given)


def test_an_external_image_that_is_tested_on_is_refused(monkeypatch):
    """Even under another name."""
    load = data.load

    def renamed(name, split, **options):
        found = load("plaid" if name == "stars" and split == "test" else name, split, **options)
        return replace(found, class_names=(name,) * len(found.class_names))

    monkeypatch.setattr(data, "load", lambda name, split, **options: (
        renamed if name in ("stars", "plaid") else load)(name, split, **options))  # fmt: skip
    given = {"external_validation": 2000, "far_images": 10_000}
    with pytest.raises(ValueError, match="500 of its images are in the test set 'plaid'"):
        make(BARE, external=["stars"], far=["plaid"], **given)


def pack(root, name, class_names, splits, **coarse):
    """Write a data set of noise, of each class as many images as a split has."""
    generator, parts = np.random.default_rng(list(name.encode())), {}
    for split, each in splits.items():
        labels = np.repeat(np.arange(len(class_names)), each)
        pixels = generator.integers(0, 256, (len(labels), 32, 32, 3), dtype=np.uint8)
        parts[split] = (pixels, labels.tolist(), *([(labels // 2).tolist()] if coarse else []))
    more = {"splits": parts, "origin": {"title": name}, **coarse}
    data.write_pack(root / f"{name}.zip", name=name, class_names=class_names, **more)


@pytest.fixture
def packs(tmp_path, monkeypatch):
    """A tiny CIFAR-100, a tiny Tiny ImageNet and two test sets."""
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    pack(tmp_path, "cifar100", ["bee", "cattle", "bus", "train"], {"train": 5, "test": 2},
         coarse_class_names=["animals", "vehicles"])  # fmt: skip
    # school bus and bullet train lie below classes of CIFAR-100; bee is one; reel and cat stay
    wnids = ["n04146614", "n02917067", "n02206856", "n04067472", "n02124075"]
    pack(tmp_path, "tiny_imagenet_64", wnids, {"train": 4, "val": 2})
    # school bus again, reel (external now), and a tench
    wnids = ["n04146614", "n04067472", "n01440764"]
    pack(tmp_path, "imagenet_sample_224", wnids, {"sample": 3})
    pack(tmp_path, "zoo", ["animal", "knitting"], {"test": 2})
    return tmp_path


def test_wordnet_keeps_the_external_set_apart(packs):
    made = make(CIFAR, external=["tiny_imagenet_64"], far=["imagenet_sample_224"])
    assert made.external.class_names == ("n04067472", "n02124075") and len(made.external) == 8
    assert made.far["imagenet_sample_224"].class_names == ("n01440764",)
    assert made.superclass_of["bus"] == "vehicles" and len(made.known) == 2


def test_a_far_class_with_the_name_of_a_node_goes(packs):
    """What CIFAR-100's classes span has an animal, and nothing about knitting."""
    made = make(CIFAR, external=["mazes"], far=["zoo"], aside=["plaid"])
    assert made.far["zoo"].class_names == ("knitting",) and len(made.far["zoo"]) == 2


def test_each_far_set_is_cut_as_it_is_said(packs):
    """As the paper's own: SVHN and LSUN-FIX by number, DTD whole, and no scene left out."""
    pack(packs, "zoo", ["animal", "knitting"], {"train": 3, "test": 2})
    far = {"zoo": {"splits": ["train", "test"], "keep": ["animal"], "images": 7}, "plaid": {}}
    made = make(CIFAR, external=["mazes"], far=far, far_images=20)
    assert made.far["zoo"].class_names == ("animal", "knitting") and len(made.far["zoo"]) == 7
    assert len(made.far["plaid"]) == 20
    assert CIFAR.replace(far=far).data_sets_used().count("zoo") == 1
    for given, message in (
        ({"zoo": {"keep": ["anymal"]}}, "far.zoo.keep: data set 'zoo' has no class 'anymal'"),
        ({"zoo": {"split": ["test"]}}, "far.*zoo.*split"),
        ({"zo": {}}, "did you mean 'zoo'"),
    ):
        with pytest.raises(ValueError, match=message):
            make(CIFAR, external=["mazes"], far=given)


def picture(file, colour):
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (40, 48), colour).save(file)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A folder as the authors' archive of the CIFAR benchmark unpacks to, with a few pictures."""
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    root = tmp_path / "cifar-bench"
    for number, name in enumerate(("bee", "forest")):
        for index in range(3):
            colour = (40 * number, 60 * index, 0)
            picture(root / f"train/cifar40/{name}/{index}.png", colour)
            for split in ("valid", "test"):
                picture(root / f"{split}/cifar40/labels/{name}/{index}.png", colour)
                picture(root / f"{split}/cifar40/no-labels/all/{name}{index}.png", colour)
    for place in ("test/cifar60", "test/svhn", "test/lsun-fix", "test/describable-textures",
                  "train/new-tinyimagenet158", "valid/new-tinyimagenet158"):  # fmt: skip
        for index in range(4):
            picture(root / place / f"no-labels/all/{index}.png", (9, index, 99))
    return root


def test_the_authors_archive_says_which_classes_are_known(bench):
    given = {"data_set": "cifar-bench", "external": ["cifar-bench"], "far": []}
    for other in ({"far": ["digits"]}, {"external": ["mazes"]}, {"aside": ["gaussian"]}):
        with pytest.raises(ValueError, match="expected with the authors' archive, which has its"):
            BARE.replace(**given | other)  # they would be left out without a word
    made = make(BARE, external_validation=3, **given)
    assert made.known == ("bee", "forest")
    sizes = [len(one) for one in (made.train, made.validation, made.test, made.near)]
    assert sizes == [6, 6, 6, 4] and made.train.images.shape == (6, 32, 32, 3)
    assert {name: len(one) for name, one in made.far.items()} == dict.fromkeys(
        ("svhn", "lsun_fix", "dtd"), 4
    )
    assert set(made.external.labels) == {-1} and len(made.external_validation) == 3
    assert made.test.labels.tolist() == [0, 0, 0, 1, 1, 1]
    (bench / "valid/cifar40/labels/bee").rename(bench / "valid/cifar40/labels/wasp")
    with pytest.raises(ValueError, match="cifar40 has class 'bee' in one of its parts train and"):
        make(BARE, **given)
    shutil.rmtree(bench / "test/svhn")
    (bench / "valid/cifar40/labels/wasp").rename(bench / "valid/cifar40/labels/bee")
    with pytest.raises(FileNotFoundError, match="test/svhn: no such folder of the authors' arch"):
        make(BARE, **given)


def test_the_archive_of_photographs_is_streamed(bench):
    """The same folders under the names of the other benchmark."""
    names = {"cifar40": "imagenet200", "cifar60": "near-imagenet200", "svhn": "food101",
             "lsun-fix": "caltech256", "describable-textures": "places365",
             "new-tinyimagenet158": "external-imagenet394"}  # fmt: skip
    root = bench.rename(bench.with_name("imagenet-bench"))
    for split in ("train", "valid", "test"):
        for old in list((root / split).iterdir()):
            old.rename(old.with_name(names[old.name]))
    made = make(BARE, data_set="imagenet-bench", external=["imagenet-bench"], far=[])
    assert isinstance(made.train, data.ImageStream) and made.train.class_names == made.known
    assert list(made.far) == ["food101", "caltech256", "places365"]


def test_an_overlap_that_cannot_be_told_is_refused(packs):
    digits = {"data_set": "digits", "superclasses": {"low": ["0", "1"], "high": ["8", "9"]}}
    with pytest.raises(ValueError, match=r"'tiny_imagenet_64'.*'digits' cannot be told"):
        make(BARE, external=["tiny_imagenet_64"], far=["plaid"], **digits)


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["n04146614", "n02206856", "images"], "1 of its 3 .*images"),
        (["7-segment", "knitting"], "1 of its 2 .*7-segment"),
        (["0", "1", "school_bus_2"], "1 of its 3 .*school_bus_2"),
    ],
)
def test_classes_that_no_rule_can_read_are_refused(packs, names, shown):
    """They must not pass for classes that have nothing to do with the known ones."""
    pack(packs, "odd", names, {"train": 4, "val": 4})
    with pytest.raises(ValueError, match=f"'odd': whether {shown}.*val_annotations"):
        make(CIFAR, external=["odd"], far=["plaid"])


def test_tiny_imagenet_as_it_is_distributed(packs, tmp_path):
    """Packed from its official layout, it loses the classes that CIFAR-100 has."""
    place, generator = tmp_path / "tiny-imagenet-200", np.random.default_rng(2)

    def picture(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(generator.integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(path)

    wnids = ["n04146614", "n02206856", "n04067472"]  # school bus, bee, reel
    lines = []
    for number, wnid in enumerate(wnids):
        for index in range(3):
            picture(place / "train" / wnid / "images" / f"{wnid}_{index}.JPEG")
        (place / "train" / wnid / f"{wnid}_boxes.txt").touch()
        for index in (number, number + 3):
            picture(place / "val" / "images" / f"val_{index}.JPEG")
            lines.append(f"val_{index}.JPEG\t{wnid}\t0\t32\t44\t62")
        picture(place / "test" / "images" / f"test_{number}.JPEG")
    (place / "val" / "val_annotations.txt").write_text("\n".join(lines) + "\n")
    command = ["from-folder", str(place), "tiny_imagenet_64", "--size", "64", "--force"]
    make_packs.main([*command, "--root", str(packs)])
    packed = {split: data.load("tiny_imagenet_64", split) for split in ("train", "val")}
    assert data.splits("tiny_imagenet_64") == ["train", "val"]
    assert packed["val"].class_names == tuple(sorted(wnids))
    assert packed["val"].labels.tolist() == [0, 0, 1, 1, 2, 2] and len(packed["train"]) == 9
    stream = ImageStream.scan(place, split="val")
    assert stream.labels.tolist() == packed["val"].labels.tolist()
    assert stream.files[:2] == ("images/val_1.JPEG", "images/val_4.JPEG")
    made = make(CIFAR, external=["tiny_imagenet_64"], far=["plaid"])
    assert made.external.class_names == ("n04067472",)

    (place / "val" / "images" / "val_0.JPEG").unlink()
    with pytest.raises(ValueError, match=r"1 images or lines .*val_0\.JPEG"):
        make_packs.main([*command, "--root", str(packs)])
    (place / "val" / "val_annotations.txt").unlink()
    make_packs.main([*command, "--root", str(packs)])
    with pytest.raises(ValueError, match=r"'tiny_imagenet_64': whether 1 of its 4 .*images"):
        make(CIFAR, external=["tiny_imagenet_64"], far=["plaid"])


@pytest.fixture
def few(photographs):
    """The folder of all sets of photographs."""
    for name in ("food101", "places365"):
        folder = photographs(name, [one.replace("/", "_") for one in class_lists.names_of(name)], 1)
    return folder.parent


def test_the_benchmark_of_photographs(few):
    """Training and held-out images from the training part, tests from the validation part."""
    own = few / "imagenet"
    shared = own.resolve()
    own.unlink()
    shutil.copytree(shared, own)  # since one is damaged
    broken = own / "train" / "n02124075" / "0.jpg"
    broken.write_bytes(broken.read_bytes()[:100])
    made = make(PHOTOGRAPHS, far=["food101", "places365"], far_images=30)
    assert [len(one) for one in (made.train, made.validation, made.test)] == [400, 200, 400]
    assert len(made.near) == 400
    assert len(made.external) == 2 * 395 and len(made.external_validation) == 395
    assert len(made.known) == len(made.near_classes) == 200
    left = (class_roles.far("food101")["role"] == "far").sum()
    assert len(made.far["food101"]) == min(left, 30) and len(made.far["places365"]) == 30
    assert made.train.skipped == ("n02124075/0.jpg",)
    assert (made.external.labels == -1).all()
    train, held = set(made.train.files), set(made.validation.files)
    assert not train & held and not (train | held) & set(made.external.files)


def test_a_missing_folder_and_other_roles_are_refused(few):
    with pytest.raises(ValueError, match="train_per_class, held_out_per_class: missing"):
        PHOTOGRAPHS.replace(train_per_class=None)
    with pytest.raises(ValueError, match="more than 4 images of class n"):
        make(PHOTOGRAPHS, held_out_per_class=4)
    with pytest.raises(FileNotFoundError, match=r"'caltech256': no folder .*DATA_ROOT"):
        make(PHOTOGRAPHS, far=["caltech256"])
    with pytest.raises(ValueError, match=r"external, aside, resized: \['imagenet'\]"):
        make(PHOTOGRAPHS, external=["food101"], far=[])
    with pytest.raises(ValueError, match="unknown streamed data set 'food11'; did you mean"):
        data.open_stream("food11", "test")
    with pytest.raises(ValueError, match="'food101': too large for memory"):
        data.load("food101", "test")


def test_near_classes_are_divided_by_whether_imagenet_has_them(mini):
    """Of CIFAR-100's, ImageNet has apples and no cloud; the classes of digits are no nouns."""
    assert not set(mini.aside) & {"near_in_imagenet", "near_not_in_imagenet"}
    names = ("apple", "bus", "cloud", "tiger")
    near = replace(
        mini.near.subset(slice(8)), labels=np.arange(8) % 4, class_names=names, name="cifar100"
    )
    found = roles.by_imagenet(near)
    assert found["near_in_imagenet"].class_names == ("apple", "bus", "tiger")
    assert found["near_not_in_imagenet"].class_names == ("cloud",)
    assert [len(one) for one in found.values()] == [6, 2]
    assert roles.by_imagenet(replace(near, name="digits")) == {}
    asked = make(PARAMETERS, near_by_imagenet=True).aside
    assert sum(len(asked[name]) for name in asked if name.startswith("near_")) == len(mini.near)


def test_training_images_have_as_many_views_as_a_method_is_shown(mini):
    head = {"backbone": "head", "depth": 1, "image_size": 60}
    stored = {"augmix": {"objective_arguments": {"stored": 3}}}
    heads = {"networks": {"head": head}, "network": "head", "augmentation": []}
    found = make(PARAMETERS, methods=["baseline", "augmix"], method_recipes=stored, **heads)
    assert [one.split for one in found.views] == [f"train-augmix-{n}" for n in (1, 2, 3)]
    assert all(np.array_equal(one.images, found.train.images) for one in found.views)
    assert {*found.views} < {*features.leaves(found)}  # which is where their features are asked for
    without = make(PARAMETERS, methods=["baseline"], method_recipes=stored, **heads)
    assert mini.views == without.views == ()
