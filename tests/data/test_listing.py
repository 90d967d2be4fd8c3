"""Folders are listed once, and again where they change; files are chosen before they are opened."""

import os
import time
from pathlib import Path

import pytest
from PIL import Image

from helpers.data import ImageStream, directories
from helpers.data.directories import is_image, list_images
from helpers.data.listing import Listing

NAMES = ("ant/0.jpg", "ant/b/1.png", "ant/b-c/2.png", "bee/10.png", "bee/9.png", "top.gif")
OTHERS = ("ant/notes.txt", "bee/.hidden.png", "bee/no_suffix")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Six images and three other files, that were put there an hour ago."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    for name in (*NAMES, *OTHERS):
        (tmp_path / "zoo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "zoo" / name).touch()
    settle(tmp_path / "zoo")
    return tmp_path / "zoo"


def settle(root, ago=3600):
    """Let a folder and those in it be as old as that, in seconds."""
    for place in (root, *(one for one in root.rglob("*") if one.is_dir())):
        os.utime(place, (time.time() - ago,) * 2)


@pytest.fixture
def listed(monkeypatch):
    """The names of the folders that are listed."""
    found, plain = [], os.scandir
    monkeypatch.setattr(
        directories.os, "scandir", lambda one: (found.append(Path(one).name), plain(one))[1]
    )
    return found


def test_images_are_listed_in_the_order_of_their_paths(folder):
    """As `sorted` has paths: part by part, so that "b" comes before "b-c"."""
    every = (file for file in folder.rglob("*") if file.is_file() and is_image(file))
    expected = [file.relative_to(folder).as_posix() for file in sorted(every)]
    assert list_images(folder) == expected == sorted(NAMES, key=lambda name: name.split("/"))
    assert list_images(folder) == expected  # and so from the cache


def test_only_what_changed_is_listed_again(folder, listed):
    """A file that comes, goes or is renamed, in its folder alone; a new folder in its own."""
    list_images(folder)
    assert sorted(listed) == ["ant", "b", "b-c", "bee", "zoo"]
    listed.clear()
    list_images(folder)
    assert listed == []
    changes = {
        "bee": lambda: (folder / "bee" / "11.png").touch(),
        "ant": lambda: (folder / "ant" / "0.jpg").unlink(),
        "zoo": lambda: (folder / "cow").mkdir(),
    }
    for ago, (place, change) in enumerate(changes.items(), start=100):
        before = {one: one.stat().st_mtime for one in (folder, *folder.iterdir()) if one.is_dir()}
        listed.clear()  # since Python 3.13 iterdir lists by the function that is watched
        change()
        for one, changed in before.items():  # as it would be found a minute later
            os.utime(one, (changed + ago * (one.name == place),) * 2)
        list_images(folder)
        assert listed == ([place] if place != "zoo" else ["zoo", "cow"])
    settle(folder / "cow")
    list_images(folder)
    listed.clear()
    before = set(list_images(folder))
    assert listed == []
    (folder / "cow" / "1.png").touch()
    assert set(list_images(folder)) - before == {"cow/1.png"} and listed == ["cow"]
    assert before == {*NAMES, "bee/11.png"} - {"ant/0.jpg"}


def test_a_folder_that_has_just_changed_is_not_kept(folder, listed):
    """It may change again within the same tick of the clock, which nothing would tell."""
    os.utime(folder / "bee")
    list_images(folder)
    listed.clear()
    list_images(folder)
    assert listed == ["bee"]
    (folder / "bee" / "11.png").touch()
    time_of = folder.joinpath("bee").stat().st_mtime_ns
    assert "bee/11.png" in list_images(folder)
    os.utime(folder / "bee", ns=(time_of, time_of))
    (folder / "bee" / "12.png").touch()
    os.utime(folder / "bee", ns=(time_of, time_of))  # changed, and of the same time
    assert "bee/12.png" in list_images(folder)


def test_linked_classes_are_followed_and_loops_are_not(folder, tmp_path):
    """`workflow/arrange.py` makes links; deeper ones might lead back."""
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "bee").symlink_to(folder / "bee")
    (folder / "ant" / "loop").symlink_to(folder)
    assert list_images(tmp_path / "linked") == ["bee/10.png", "bee/9.png"]
    assert "ant/loop/ant/0.jpg" not in list_images(folder)
    with pytest.raises(FileNotFoundError):
        list_images(tmp_path / "nowhere")


def test_chosen_before_opened(folder, monkeypatch):
    """Broken files that are not chosen are not looked at, and the rest is as of the whole."""
    for name in ("ant/0.jpg", "bee/9.png"):
        Image.new("RGB", (4, 4)).save(folder / name)
    listed = Listing.scan(folder)
    assert listed.files == (*NAMES[:3], "bee/10.png", "bee/9.png")  # the top is no class
    assert listed.class_names == ("ant", "bee") and listed.labels.tolist() == [0, 0, 0, 1, 1]
    opened, plain = [], Image.open
    monkeypatch.setattr(
        Image, "open", lambda file: (opened.append(Path(file).name), plain(file))[1]
    )
    few = ImageStream.open(listed.subset([0, 4]))
    assert opened == ["0.jpg", "9.png"] and few.skipped == ()
    monkeypatch.undo()
    assert few.sha256 == ImageStream.scan(folder).sha256  # whose three others are broken
    assert ImageStream.open(listed.subset([4])).files == ("bee/9.png",)
    assert len(ImageStream.open(listed.subset([]))) == 0
    with pytest.raises(ValueError, match="none of its 3 images can be read"):
        ImageStream.open(listed.subset([1, 2, 3]))
