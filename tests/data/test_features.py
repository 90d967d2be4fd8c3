"""Features in the place of images: they are found by image, and refused by name."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.data import Images, concatenate, features
from helpers.data.features import Backbone, FeatureImages, packs, seen_by, write

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


def test_bytes_keep_a_feature_to_half_a_step_of_its_root():
    values = np.random.default_rng(0).uniform(0, 6, (50, 20))
    back = features.decode(features.encode(values, 6.0), 6.0)
    assert np.abs(np.sqrt(back / 6) - np.sqrt(values / 6)).max() <= 0.5 / 255 + 1e-6
    assert np.abs(back - values).max() > 1e-4  # and not better than that


@pytest.mark.parametrize("value", [-0.1, 6.1, np.nan])
def test_features_that_bytes_cannot_hold_are_refused(value):
    with pytest.raises(ValueError, match="from 0 to 6"):
        features.encode(np.array([[1.0, value]]), 6.0)


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
    with pytest.raises(ValueError, match="cannot be resized"):
        part.resize(8)
    (batch,) = seen.in_order(batch_size=20)
    assert tuple(batch.shape) == (12, 3, 1, 2)


def test_images_without_features_are_refused_with_the_command_that_makes_them(pets):
    stranger = images_of(2, "farm", seed=1)
    both = concatenate([pets, stranger], "both")
    with pytest.raises(ValueError, match=r"both/test: no features of 2 of 14 .* `make it so`"):
        seen_by(both, TINY, "make it so")
    with pytest.raises(ValueError, match=r"no features of 12 .* there are those of tiny@8"):
        seen_by(pets, replace(TINY, size=16), "")
    with pytest.raises(ValueError, match=r"small at 8 pixels .* there are those of tiny@8"):
        seen_by(pets, replace(TINY, network="small"), "")


def test_a_pack_of_something_else_is_refused_by_name(pets):
    (path,) = TINY.folder.glob("*.safetensors")
    for other, message in (
        (replace(TINY, size=16), r"another size \(8\) than asked for \(16\)"),
        (replace(TINY, network="small"), r"another network \(tiny\) than asked for \(small\)"),
    ):
        other.folder.mkdir()
        (other.folder / path.name).write_bytes(path.read_bytes())
        with pytest.raises(ValueError, match=message):
            seen_by(pets, other, "")
    with pytest.raises(ValueError, match=r"another top \(6.0\) than asked for \(5.0\)"):
        seen_by(pets, replace(TINY, top=5.0), "")
    with pytest.raises(ValueError, match=r"by other weights \(abababababababab\) than 12"):
        seen_by(pets, replace(TINY, weights="12"), "")
    assert seen_by(pets, replace(TINY, weights="abab"), "").backbone == "tiny at 8 pixels"


def test_only_what_is_missing_is_asked_for_each_image_once(pets):
    stranger = images_of(5, seed=3)
    sets = [pets, stranger.subset([0, 1, 1]), stranger.subset([1, 2])]
    lacking = features.missing(TINY, sets)
    assert list(lacking) == ["pets/test"]
    assert np.array_equal(lacking["pets/test"].images, stranger.images[:3])
    write(TINY, stranger, codes_of(stranger), weights=WEIGHTS, seconds=0.5)
    assert features.missing(TINY, sets) == {}
    assert len(packs(TINY)) == 17 and packs(TINY).seconds == 2.0
