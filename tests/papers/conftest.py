"""What the tests of the papers share."""

import io

import pytest
from PIL import Image

from helpers.data import class_lists


@pytest.fixture(scope="session")
def fill():
    """Return a function that fills a folder with one of each name, so many tiny images in it."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "jpeg")

    def fill(place, names, count):
        for name in names:
            folder = place / name
            folder.mkdir(parents=True)
            for number in range(count):
                (folder / f"{number}.jpg").write_bytes(buffer.getvalue())
        return place

    return fill


@pytest.fixture(scope="session")
def imagenet(fill, tmp_path_factory):
    """Return a folder with its classes: thousands of files, which no test changes."""
    place = tmp_path_factory.mktemp("imagenet")
    for half, count in (("train", 4), ("val", 2)):
        fill(place / half, class_lists.wnids_of("imagenet"), count)
    sizes = {path: path.stat().st_size for path in place.rglob("*")}
    yield place
    assert {path: path.stat().st_size for path in place.rglob("*")} == sizes, "a test changed them"


@pytest.fixture
def photographs(tmp_path, monkeypatch, fill, imagenet):
    """Return a function that fills the folders of a data set's half, so many tiny images each.

    ImageNet is there, four training and two validation images of each class.
    """
    data = tmp_path / "data"
    data.mkdir()
    (data / "imagenet").symlink_to(imagenet)
    monkeypatch.setenv("DATA_ROOT", str(data))
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    return lambda place, names, count: fill(data / place, names, count)
