"""One call for every source: embedded sets, packs, torchvision."""

import inspect
import shutil
from dataclasses import replace
from unittest.mock import Mock, call

import numpy as np
import pytest
import torchvision
from PIL import Image
from sklearn.datasets import load_digits

from helpers.data import cards, is_pack, load, names
from helpers.data.cards import find
from helpers.data.sources import torchvision_set
from tests.mistakes import beside
from tests.papers.toys import pack

GIVEN = beside(__file__, "sources.yaml")
REMEDIES = GIVEN["remedies"]
FOLDERS = GIVEN["torchvision_folders"]


def test_the_embedded_images_of_cifar10_are_unchanged():
    train = load("cifar10_mini", "train")
    test = load("cifar10_mini", "test")
    for images in (train, test):
        assert images.origin["citation"] == "krizhevsky2009"
        assert "first 300 train" in images.origin["rule"]
    assert train.class_names[::9] == ("airplane", "truck")
    # of the shapes and the labels, too
    assert train.sha256 == "89c2b8b66d9138844a0e235b21f21b71925666d9d90d3f19e7ac22dc4c13f4da"
    assert test.sha256 == "01cb0c5fdc59ee93dec94fc5263b25dae00627cbab436ac742c81196307507ba"


def test_digits_are_split_by_class_in_order():
    train = load("digits", "train")
    test = load("digits", "test")
    grey, labels = load_digits(return_X_y=True)
    first, rest, both = map(np.bincount, (train.labels, test.labels, labels))
    assert (first + rest == both).all()
    assert (first == np.ceil(0.8 * both)).all()
    assert train.images.shape[1:] == (32, 32, 3)
    assert np.ptp(train.images) == 255
    assert train.labels[:12].tolist() == labels[:12].tolist()
    last = grey[np.flatnonzero(labels == 7)[-1]].mean() * 255 / 16
    assert test.images[np.flatnonzero(test.labels == 7)[-1]].mean() == pytest.approx(last, rel=0.1)


def test_packs_are_found_in_the_root(root, monkeypatch):
    """The rest of a pack whose writing was killed is not found, and no other pack is opened."""
    pack(root, "holiday", ["sea"], {"test": 4}, size=16)
    (root / ".holiday.zip.x1y2.zip").write_bytes(b"PK")
    assert "holiday" in names()
    assert not names()[0].startswith(".")
    assert load("holiday", "test", size=8).images.shape == (4, 8, 8, 3)
    assert load("holiday", "test").origin == {"title": "Holiday"}
    pack(root, "other", ["lake"], {"test": 4}, size=16)
    opened = Mock(side_effect=is_pack)
    with monkeypatch.context() as patch:
        patch.setattr("helpers.data.is_pack", opened)
        load("holiday", "test")
        load("cifar10_mini", "test")
    assert opened.mock_calls == [call(root / "holiday.zip")]
    with pytest.raises(ValueError, match=r"unknown data set 'holidya'; did you mean 'holiday'\?"):
        load("holidya", "test")
    shutil.copy(root / "holiday.zip", root / ".hidden.zip")
    for name in (f"../{root.name}/holiday", ".hidden", str(root / "holiday")):
        with pytest.raises(ValueError, match="unknown data set"):
            load(name, "test")


@pytest.mark.parametrize("name", REMEDIES)
def test_the_message_about_a_missing_set_has_the_folder_and_the_command(root, name):
    """If a folder of torchvision exists, torchvision loads the set."""
    message = f"(?s){root}.*`.* workflow/make_packs.py {REMEDIES[name]}`"
    for folder in (root, root / "torchvision"):
        folder.mkdir(exist_ok=True)
        with pytest.raises(FileNotFoundError, match=message):
            load(name, "test")


def test_photographs_are_patches_of_both_photographs(monkeypatch):
    """Half from each, 128 to 256 pixels wide, the same each time and none twice."""
    patches = load("photographs", "test", size=16)
    assert patches.images.shape == (500, 16, 16, 3)
    assert np.bincount(patches.labels).tolist() == [250, 250]
    assert patches.sha256 == load("photographs", "test", size=16).sha256
    assert len(np.unique(patches.images.reshape(500, -1), axis=0)) == 500
    # where the colour rises by one a pixel, a patch's range of colours is its width
    slope = np.repeat(np.arange(256, dtype=np.uint8)[np.newaxis, :, np.newaxis], 256, axis=0)
    pictures = {"china.jpg": slope.repeat(3, 2), "flower.jpg": np.zeros((256, 300, 3), np.uint8)}
    monkeypatch.setattr("sklearn.datasets.load_sample_image", pictures.get)
    patches = load("photographs", "test", size=16)
    assert not patches.images[patches.labels == 1].any()
    width = np.ptp(patches.images[patches.labels == 0, 0, :, 0].astype(float), axis=1) * 16 / 15
    assert 120 < width.min() < 140
    assert 245 < width.max() < 262


CARDS = {card.name: card for card in cards() if card.torchvision}


@pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)
def test_torchvision_accepts_the_arguments_of_the_cards(root, card):
    """A wrong argument gives another error than missing files, for every split."""
    signature = inspect.signature(getattr(torchvision.datasets, card.torchvision))
    (root / "torchvision").mkdir()
    assert set(card.torchvision_arguments) <= set(card.splits)
    for split in card.splits:
        if split in card.torchvision_arguments:
            signature.bind(root, download=False, **card.torchvision_arguments[split])
        else:
            assert {"train", "split"} & set(signature.parameters)
        with pytest.raises(FileNotFoundError, match=f"{card.torchvision} is not there"):
            load(card.name, split)
    with pytest.raises(ValueError, match=f"split of {card.name}"):
        load(card.name, "nowhere")


class Grey:
    """Like torchvision's MNIST: grey, without class names, and the wrong number of images."""

    def __init__(self, root, train, download=False):
        pass

    def __len__(self):
        return 10000

    def __getitem__(self, index):
        return Image.new("L", (28, 28), 9), index % 10


class Textures:
    """Like torchvision's DTD: images of many sizes."""

    classes = ("dotted", "striped")

    def __init__(self, root, split="train", download=False):
        if download:
            raise OSError("name or service not known")

    def __len__(self):
        return 1880

    def __getitem__(self, index):
        return Image.new("RGB", (4 + index % 2, 5)), index % 2


def test_each_kind_of_torchvision_set_is_converted(root, monkeypatch):
    for name, kind in (("DTD", Textures), ("MNIST", Grey)):
        monkeypatch.setattr(torchvision.datasets, name, kind)
    (root / "torchvision").mkdir()
    grey = load("mnist", "test")
    assert grey.images.shape == (10000, 28, 28, 3)
    assert (grey.images == 9).all()
    assert grey.labels[:3].tolist() == [0, 1, 2]
    assert grey.class_names == tuple("0123456789")
    assert grey.origin["citation"] == "lecun1998"
    textures = load("dtd", "val", size=4)
    assert textures.images.shape == (1880, 4, 4, 3)
    assert textures.labels[:3].tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match=r"'train' has 10000 images .* should have 60000"):
        load("mnist", "train")
    with pytest.raises(ValueError, match="differ in size"):
        load("dtd", "val")
    with pytest.raises(FileNotFoundError, match=r"could not be downloaded.*name or service"):
        load("dtd", "val", download=True)


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_of_torchvision_are_read(tmp_path, name):
    """Images, labels and class names, however torchvision calls the split and the names."""
    case = FOLDERS[name]
    split = case["split"]
    files = case["files"]
    for colour, file in zip(("white", "black", "grey"), files, strict=False):
        path = tmp_path / case["place"].format(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 6), colour).save(path)
    if name == "oxford_pets":
        (listed := tmp_path / "oxford-iiit-pet/annotations/trainval.txt").parent.mkdir()
        listed.write_text("pug_1 1 2 1\nbasset_hound_7 2 2 1\n")
    images = torchvision_set(
        replace(find(name), splits={split: 2}), split, tmp_path, size=4, download=False
    )
    assert images.images.mean(axis=(1, 2, 3)).tolist() == [255, 0]
    assert images.labels.tolist() == [0, 1]
    assert images.class_names == tuple(case.get("class_names", files))
