"""The benchmark of photographs: both sides read the same pixels, and each case has its row."""

import pytest

from benchmarks import streaming
from helpers.data import ImageStream


@pytest.fixture
def small(monkeypatch):
    for name, value in {"WIDTH": 60, "HEIGHT": 45, "CLASSES": 2, "SIZE": 28, "BATCH": 4}.items():
        monkeypatch.setattr(streaming, name, value)


def test_both_sides_read_every_image(small, monkeypatch, tmp_path):
    monkeypatch.setattr(streaming, "WORKERS", (1,))
    (row,) = streaming.measure(tmp_path, images=6, rounds=1).rows
    assert row["work"].endswith(", 1 process") and row["images"] == 6
    assert row["ratio"] == row["theirs"] / row["ours"] and " images/s against " in row["note"]
    assert len(list(tmp_path.glob("class_*/*.jpg"))) == 6


def test_other_pixels_are_no_comparison(small, tmp_path):
    streaming.draw(tmp_path, 4)
    stream = ImageStream.scan(tmp_path, verify=False)
    streaming.check(stream, tmp_path)
    with pytest.raises(AssertionError, match="not the same number"):
        streaming.check(stream.subset([0, 0, 0, 0]), tmp_path)
