"""Images are listed in order, and files are chosen before they are opened."""

from pathlib import Path

import pytest
from PIL import Image

from helpers.data import ImageStream
from helpers.data.directories import is_image, list_images
from helpers.data.listing import Listing

NAMES = ("ant/0.jpg", "ant/b/1.png", "ant/b-c/2.png", "bee/10.png", "bee/9.png", "top.gif")
OTHERS = ("ant/notes.txt", "bee/.hidden.png", "bee/no_suffix")


@pytest.fixture
def folder(tmp_path):
    """Six images and three other files."""
    for name in (*NAMES, *OTHERS):
        (tmp_path / "zoo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "zoo" / name).touch()
    return tmp_path / "zoo"


def test_images_are_listed_in_the_order_of_their_paths(folder):
    """As `sorted` has paths: part by part, so that "b" comes before "b-c"."""
    every = (file for file in folder.rglob("*") if file.is_file() and is_image(file))
    expected = [file.relative_to(folder).as_posix() for file in sorted(every)]
    assert list_images(folder) == expected == sorted(NAMES, key=lambda name: name.split("/"))


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
