"""Images in memory, their features, and views of them: subsets, content keys, packs."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from helpers.data import Images, concatenate, features, resize, smoothness
from helpers.data.features import Backbone, FeatureImages, packs, seen_by, write
from helpers.data.views import View


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


def test_subsets_and_classes_by_index_mask_and_name():
    """−1 for a class that a model does not know, even for all of them; no image is lost."""
    images = some(coarse_labels=np.arange(6) // 3, coarse_class_names=("x", "y"))
    picked = images.subset([5, 0])
    assert picked.labels.tolist() == [2, 0] and picked.coarse_labels.tolist() == [1, 0]
    np.testing.assert_array_equal(picked.images, images.images[[5, 0]])
    assert len(images.subset(images.labels == 1)) == 2
    images = some(labels=np.array([0, 1, 2, -1, 2, 0]))
    chosen = images.select(["c", "a"])
    assert chosen.class_names == ("c", "a") and chosen.labels.tolist() == [1, 0, 0, 1]
    assert (chosen.images == images.images[[0, 2, 4, 5]]).all()
    numbered = images.renumber(["x", "c", "a"])
    assert numbered.labels.tolist() == [2, -1, 1, -1, 1, 2] and numbered.labels.dtype == np.int64
    assert numbered.class_names == ("x", "c", "a") and numbered.images is images.images
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
    """Each new pixel, one by one: bilinear at its centre in the central square, nothing else."""
    images = some(count=3, size=40).images[:, : shape[0], : shape[1]]
    height, width = shape
    side = min(shape)
    expected = np.empty((3, size, size, 3))
    for row in range(size):
        for column in range(size):
            y = (height - side) / 2 + (row + 0.5) * side / size - 0.5
            x = (width - side) / 2 + (column + 0.5) * side / size - 0.5
            y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
            expected[:, row, column] = sum(
                images[:, j, i] * max(0, 1 - abs(y - j)) * max(0, 1 - abs(x - i))
                for j in range(height)
                for i in range(width)
            )
    np.testing.assert_allclose(resize(images, size, antialias=False), expected, atol=0.51)


def test_smoothness_by_hand_and_without_regard_to_contrast():
    """0, 30, 10, 10 across: ways 10 + 20, steps 30 + 20 + 20 + 0; nothing changes downwards."""
    line = np.array([0, 30, 10, 10], np.uint8)
    images = np.broadcast_to(line[:, np.newaxis], (1, 3, 4, 3))
    assert smoothness(images) == pytest.approx(30 / 70)
    assert smoothness(2 * images + 7) == pytest.approx(30 / 70)
    assert smoothness(images.swapaxes(1, 2)) == pytest.approx(30 / 70)
    noise = some(count=600, size=16).images
    np.testing.assert_allclose(smoothness(noise), 0.5, atol=0.05)
    assert smoothness(noise[599:]) == smoothness(noise)[599]
    assert len(smoothness(noise[:0])) == 0


def test_concatenate_joins_classes_by_name_and_keeps_the_order():
    """Labels mean the same class names as before; −1 stays; words and origins are joined."""
    first = some(origin={"title": "One", "licence": "MIT"}, words={"a": "ant"})
    second = some(
        seed=1, labels=np.array([0, -1, 2, 1, 0, 0]), class_names=("c", "d", "a"), split="train",
        origin={"title": "Two", "licence": "MIT", "source": "me"}, words={"d": "dog"},
    )  # fmt: skip
    both = concatenate([first, second], "both")
    assert both.class_names == ("a", "b", "c", "d")
    assert both.labels.tolist() == [*first.labels, 2, -1, 0, 3, 2, 2]
    np.testing.assert_array_equal(both.images, np.concatenate([first.images, second.images]))
    assert (both.name, both.split) == ("both", "test+train")
    assert both.origin == {"title": "One; Two", "licence": "MIT", "source": "me"}
    assert both.words == {"a": "ant", "d": "dog"}


def test_a_transform_makes_what_a_model_wants_of_every_image():
    """Called on each image as Pillow shows it, in order, whatever the size of a batch."""
    images = some(count=7)

    def left_half(image):
        return np.asarray(image.crop((0, 0, 4, 8))).transpose(2, 0, 1)

    batches = list(images.in_order(batch_size=3, transform=left_half))
    assert [tuple(batch.shape) for batch in batches] == [(3, 3, 8, 4), (3, 3, 8, 4), (1, 3, 8, 4)]
    together = np.concatenate([batch.permute(0, 2, 3, 1).numpy() for batch in batches])
    np.testing.assert_array_equal(together, images.images[:, :, :4])


WEIGHTS = "ab" * 32
TINY = Backbone("tiny", 8)


def images_of(count, name="pets", seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (count, 4, 4, 3), dtype=np.uint8)
    return Images(pixels, np.arange(count) % 3, ("ant", "bee", "cow"), name, "test")


def codes_of(images, features=5):
    """Return made-up features: the first bytes of each image."""
    return images.images.reshape(len(images), -1)[:, :features]


@pytest.fixture
def pets(monkeypatch, tmp_path):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    images = images_of(12)
    write(TINY, images, codes_of(images), weights=WEIGHTS, seconds=1.5)
    return images


def test_every_subset_in_any_order_and_under_any_labels_finds_its_own(pets):
    some = pets.select(["cow", "ant"]).unknown().subset([5, 0, 2])
    seen = seen_by(some, TINY, "")
    flat = seen.images.reshape(3, -1)
    assert np.array_equal(flat[:, :5], codes_of(some)) and not flat[:, 5:].any()
    assert seen.images.shape == (3, 1, 2, 3)  # in threes
    assert (seen.labels == -1).all() and seen.class_names == ("cow", "ant")
    assert seen.sha256 != some.sha256


def test_features_go_on_as_images_do_and_show_the_images_themselves(pets):
    seen = seen_by(pets, TINY, "")
    part = seen.select(["bee"]).subset(np.array([False, True, True, False]))
    assert isinstance(part, FeatureImages) and len(part) == 2
    assert np.array_equal(part.pictures([1]), pets.images[[7]])
    assert part.pictures([0], size=8).shape == (1, 8, 8, 3)
    assert "features of tiny at 8 pixels" in repr(part)
    (batch,) = seen.in_order(batch_size=20)
    assert tuple(batch.shape) == (12, 3, 1, 2)


def test_features_that_are_lacking_or_of_something_else_are_refused_by_name(pets):
    """With the command that makes them."""
    both = concatenate([pets, images_of(2, "farm", seed=1)], "both")
    (path,) = TINY.folder.glob("*.safetensors")
    larger, small = replace(TINY, size=16), replace(TINY, network="small")
    for images, backbone, message in (
        (both, TINY, r"both/test: no features of 2 of 14 .* `make it so`"),
        (pets, larger, r"no features of 12 .* there are those of tiny@8"),
        (pets, small, r"small at 8 pixels .* there are those of tiny@8"),
        (pets, larger, r"another size \(8\) than asked for \(16\)"),
        (pets, small, r"another network \(tiny\) than asked for \(small\)"),
        (pets, replace(TINY, top=5.0), r"another top \(6.0\) than asked for \(5.0\)"),
        (pets, replace(TINY, weights="12"), r"by other weights \(abababababababab\) than 12"),
    ):
        if "asked" in message and not backbone.folder.exists():
            backbone.folder.mkdir()
            (backbone.folder / path.name).write_bytes(path.read_bytes())
        with pytest.raises(ValueError, match=message):
            seen_by(images, backbone, "make it so")
    assert seen_by(pets, replace(TINY, weights="abab"), "").backbone == "tiny at 8 pixels"
    with pytest.raises(ValueError, match="cannot be resized"):
        seen_by(pets, TINY, "").resize(8)


def test_only_what_is_missing_is_asked_for_each_image_once(pets):
    stranger = images_of(5, seed=3)
    sets = [pets, stranger.subset([0, 1, 1]), stranger.subset([1, 2])]
    lacking = features.missing(TINY, sets)
    assert list(lacking) == ["pets/test"]
    assert np.array_equal(lacking["pets/test"].images, stranger.images[:3])
    write(TINY, stranger, codes_of(stranger), weights=WEIGHTS, seconds=0.5)
    assert features.missing(TINY, sets) == {}
    assert len(packs(TINY)) == 17 and packs(TINY).seconds == 2.0


def shift(image, generator):
    return image + torch.randint(256, image.shape, generator=generator, dtype=torch.uint8)


def view_of(images, number, by="shift"):
    given = {each.name: getattr(images, each.name) for each in fields(Images)}
    given["split"] += f"-{by}-{number}"
    return View(**given, made_by=f"{by} {number}", change=shift)


def pixels_of(view, batch_size=4):
    return torch.cat([*view.in_order(batch_size=batch_size)]).permute(0, 2, 3, 1).numpy()


def store(images):
    write(TINY, images, codes_of(images), weights=WEIGHTS, seconds=1.0)


def test_an_image_becomes_the_same_in_any_set_and_batch(pets):
    one = view_of(pets, 1)
    whole, some = pixels_of(one), one.unknown().subset([7, 2])
    assert np.array_equal(pixels_of(some, 1), whole[[7, 2]]) and (some.labels == -1).all()
    assert not np.array_equal(whole, pets.images) and np.array_equal(one.images, pets.images)


def test_missing_views_stay_views_and_are_found_once_they_are_stored(pets):
    """Another number or another augmentation makes another view."""
    view, other = view_of(pets, 1), view_of(pets, 2)
    lacking = features.missing(TINY, [pets, view.subset([3, 4]), view, other])
    assert list(lacking) == ["pets/test-shift-1", "pets/test-shift-2"]
    first = lacking["pets/test-shift-1"]
    order = [3, 4, *(number for number in range(12) if number not in (3, 4))]
    assert np.array_equal(pixels_of(first), pixels_of(view)[order])
    store(first)
    assert list(features.missing(TINY, [view, other])) == ["pets/test-shift-2"]
    assert len(seen_by(view_of(pets, 1), TINY, "")) == 12
    for other in (view_of(pets, 2), view_of(pets, 1, "turn")):
        with pytest.raises(ValueError, match=f"{other.split}: no features of 12 .*`make it so`"):
            seen_by(other, TINY, "make it so")


def test_views_lie_below_their_images_and_those_of_others_are_refused(pets):
    shown = [pets, view_of(pets, 1), view_of(pets, 2)]
    for images in shown[1:]:
        store(images)
    seen, *views = seen_by(shown, TINY, "")
    views[1] = replace(views[1], images=255 - views[1].images)
    both = features.beside(seen, views)
    assert both.images.shape == (12, 3, 2, 3) and both.sha256 != seen.sha256
    assert np.array_equal(both.images[:, :1], seen.images)
    assert np.array_equal(both.images[:, 2:], views[1].images)
    turned = [views[0], views[1].subset(np.arange(12)[::-1])]
    with pytest.raises(ValueError, match=r"pets/test-shift-2.* is of other images than"):
        features.beside(seen, turned)
