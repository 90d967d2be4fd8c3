"""Images: what is refused, subsets, content keys, resizing."""

import numpy as np
import pytest
from PIL import Image

from helpers.data import Images, resize
from helpers.data.images import stack


def some(count=6, size=8, seed=0, **changes):
    generator = np.random.default_rng(seed)
    fields = {
        "images": generator.integers(0, 256, (count, size, size, 3), dtype=np.uint8),
        "labels": np.arange(count, dtype=np.int64) % 3,
        "class_names": ("a", "b", "c"),
        "name": "noise",
        "split": "test",
    }
    return Images(**fields | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": np.zeros((6, 8, 8, 3))}, "images: uint8"),
        ({"images": np.zeros((6, 3, 8, 8), np.uint8)}, "images: uint8"),
        ({"labels": np.zeros(5, np.int64)}, r"labels: int64 \[6\] expected, got int64 \[5\]"),
        ({"labels": np.zeros(6)}, "labels: int64"),
        ({"labels": np.full(6, 3)}, "labels: values -1 to 2"),
        ({"labels": np.full(6, -2)}, "labels: values -1 to 2"),
        ({"coarse_labels": np.zeros(6, np.int64)}, "coarse_labels: values"),
    ],
)
def test_malformed_images_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        some(**changes)


def test_subset_takes_indices_and_masks_and_keeps_coarse_labels():
    images = some(coarse_labels=np.arange(6) // 3, coarse_class_names=("x", "y"))
    picked = images.subset([5, 0])
    assert picked.labels.tolist() == [2, 0]
    assert picked.coarse_labels.tolist() == [1, 0]
    np.testing.assert_array_equal(picked.images, images.images[[5, 0]])
    assert len(images.subset(images.labels == 1)) == 2
    assert len(images.subset(np.zeros(6, bool))) == 0


def test_sha256_is_of_content_not_of_names():
    images = some()
    assert images.sha256 == some(name="other", split="train").sha256
    assert images.sha256 != images.subset([1, 0, 2, 3, 4, 5]).sha256
    assert images.sha256 != some(labels=np.zeros(6, np.int64)).sha256
    assert images.sha256 != some(images=images.images.reshape(6, 4, 16, 3)).sha256
    assert images.sha256 == images.subset(slice(None, None, 1)).sha256


def test_resize_is_antialiased():
    stripes = np.zeros((1, 32, 32, 3), np.uint8)
    stripes[:, :, ::2] = 255
    smaller = resize(stripes, 8).astype(int)
    # picking or interpolating pixels would leave black or white; a filter gives the mean grey
    assert np.abs(smaller - 127.5).max() < 20


def test_resize_keeps_constants_crops_the_centre_and_leaves_the_right_size_alone():
    wide = np.full((2, 8, 16, 3), 200, np.uint8)
    wide[:, :, :4] = wide[:, :, 12:] = 0
    np.testing.assert_array_equal(resize(wide, 8), np.full((2, 8, 8, 3), 200, np.uint8))
    square = some().images
    assert resize(square, 8) is square
    with pytest.raises(ValueError, match="size"):
        resize(square, 0)


def test_stack_puts_transparent_pixels_on_white_and_refuses_16_bits():
    clear = Image.new("RGBA", (4, 4), (10, 20, 30, 0))
    assert (stack([("clear", clear)], None, "test") == 255).all()
    grey = Image.fromarray(np.full((4, 4), 7, np.uint8))
    assert (stack([("grey", grey)], None, "test") == 7).all()
    deep = Image.fromarray(np.full((4, 4), 1000, np.uint16))
    with pytest.raises(ValueError, match=r"test: image 'deep' cannot be read: mode I;16"):
        stack([("deep", deep)], None, "test")
