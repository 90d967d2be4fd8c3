"""Images in memory: subsets, content keys, resizing, transforms."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from helpers.data import Images, concatenate, resize, smoothness


def some(count=6, size=8, seed=0, **changes):
    pixels = np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), np.uint8)
    fields = {"images": pixels, "labels": np.arange(count) % 3, "class_names": ("a", "b", "c")}
    return Images(**fields | {"name": "noise", "split": "test"} | changes)


def left_half(image):
    """Return the left half of an image of any size as 8 x 4 pixels, channels first."""
    return np.asarray(image.resize((8, 8)).crop((0, 0, 4, 8))).transpose(2, 0, 1)


def test_subsets_and_classes_by_index_mask_and_name():
    """−1 for a class that a model does not know, even for all of them; no image is lost."""
    images = some(coarse_labels=np.arange(6) // 3, coarse_class_names=("x", "y"))
    picked = images.subset([5, 0])
    assert picked.labels.tolist() == [2, 0]
    assert picked.coarse_labels.tolist() == [1, 0]
    np.testing.assert_array_equal(picked.images, images.images[[5, 0]])
    images = some(labels=np.array([0, 1, 2, -1, 2, 0]))
    chosen = images.select(["c", "a"])
    assert chosen.class_names == ("c", "a")
    assert chosen.labels.tolist() == [1, 0, 0, 1]
    assert (chosen.images == images.images[[0, 2, 4, 5]]).all()
    numbered = images.renumber(["x", "c", "a"])
    assert numbered.labels.tolist() == [2, -1, 1, -1, 1, 2]
    assert numbered.labels.dtype == np.int64
    assert numbered.class_names == ("x", "c", "a")
    assert numbered.images is images.images
    assert images.renumber(["x"]).labels.tolist() == [-1] * 6


def test_sha256_is_of_content_not_of_names():
    images = some()
    assert images.sha256 == some(name="other", split="train").sha256
    assert images.sha256 != images.subset([1, 0, 2, 3, 4, 5]).sha256
    assert images.sha256 != some(labels=np.zeros(6, np.int64)).sha256
    assert images.sha256 != some(images=images.images.reshape(6, 4, 16, 3)).sha256


@pytest.mark.parametrize("shape", [(7, 7), (9, 5), (5, 9), (40, 31)])
@pytest.mark.parametrize("size", [1, 3, 8])
def test_resize_without_antialiasing_interpolates_between_four_pixels(shape, size):
    """Each new pixel is the bilinear value at its centre in the central square."""
    images = some(count=3, size=40).images[:, : shape[0], : shape[1]]
    side = min(shape)
    weights = []
    for length in shape:
        centres = (length - side) / 2 + (np.arange(size) + 0.5) * side / size - 0.5
        centres = np.clip(centres, 0, length - 1)
        weights.append(np.maximum(0, 1 - abs(centres[:, None] - np.arange(length))))
    expected = np.einsum("yj,xi,njic->nyxc", *weights, images.astype(float))
    np.testing.assert_allclose(resize(images, size, antialias=False), expected, atol=0.51)


def test_the_bilinear_kernel_is_pillows():
    noise = some(count=20, size=16).images
    by_hand = [np.asarray(Image.fromarray(image).resize((8, 8), Image.BILINEAR)) for image in noise]
    assert np.array_equal(resize(noise, 8, kernel="bilinear"), by_hand)
    with pytest.raises(ValueError, match="unknown kernel 'bilinea'; did you mean 'bilinear'"):
        resize(noise, 8, kernel="bilinea")


def test_smoothness_by_hand_and_without_regard_to_contrast():
    """0, 30, 10, 10 across have ways 10 + 20 and steps 30 + 20 + 20 + 0."""
    line = np.array([0, 30, 10, 10], np.uint8)
    images = np.broadcast_to(line[:, np.newaxis], (1, 3, 4, 3))
    for shown in (images, 2 * images + 7, images.swapaxes(1, 2)):
        assert smoothness(shown) == pytest.approx(30 / 70)
    noise = some(count=600, size=16).images
    np.testing.assert_allclose(smoothness(noise), 0.5, atol=0.05)
    assert smoothness(noise[599:]) == smoothness(noise)[599]
    assert len(smoothness(noise[:0])) == 0


def test_concatenate_joins_classes_by_name_and_keeps_the_order():
    """Labels keep their class names, −1 stays, and origins are joined."""
    first = some(origin={"title": "One", "licence": "MIT"})
    second = some(
        seed=1,
        labels=np.array([0, -1, 2, 1, 0, 0]),
        class_names=("c", "d", "a"),
        split="train",
        origin={"title": "Two", "licence": "MIT", "source": "me"},
    )
    both = concatenate([first, second], "both")
    assert both.class_names == ("a", "b", "c", "d")
    assert both.labels.tolist() == [*first.labels, 2, -1, 0, 3, 2, 2]
    np.testing.assert_array_equal(both.images, np.concatenate([first.images, second.images]))
    assert (both.name, both.split) == ("both", "test+train")
    assert both.origin == {"title": "One; Two", "licence": "MIT", "source": "me"}


def test_a_transform_is_applied_to_every_image():
    """The transform gets each image as an image of Pillow, in order, for any batch size."""
    images = some(count=7)
    batches = list(images.in_order(batch_size=3, transform=left_half))
    assert [*map(len, batches)] == [3, 3, 1]
    together = np.concatenate(batches).transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(together, images.images[:, :, :4])


def test_reversed_channels_are_read_in_order():
    images = some(count=3)
    reversed_channels = replace(images, images=images.images[..., ::-1])
    (batch,) = reversed_channels.in_order(batch_size=3)
    read = batch.permute(0, 2, 3, 1).numpy()
    np.testing.assert_array_equal(read, reversed_channels.images)
