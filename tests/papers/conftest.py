"""What the tests of the papers share."""

import io

import pytest
from PIL import Image

from helpers.data import class_lists


@pytest.fixture
def photographs(tmp_path, monkeypatch):
    """Return a function that fills the folders of a data set's half, so many tiny images each.

    ImageNet is there, four training and two validation images of each class.
    """
    monkeypatch.setenv("DATA_ROOT", str(tmp_path / "data"))
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "jpeg")

    def fill(place, names, count):
        for name in names:
            folder = tmp_path / "data" / place / name
            folder.mkdir(parents=True)
            for number in range(count):
                (folder / f"{number}.jpg").write_bytes(buffer.getvalue())
        return tmp_path / "data" / place

    for half, count in (("train", 4), ("val", 2)):
        fill(f"imagenet/{half}", class_lists.wnids_of("imagenet"), count)
    return fill
