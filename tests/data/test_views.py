"""Views of images: decided by the image, what changes it and a number, and by nothing else."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from helpers.data import Images, features
from helpers.data.features import Backbone, write
from helpers.data.views import View

TINY = Backbone("tiny", 8)


def shift(image, generator):
    return image + torch.randint(256, image.shape, generator=generator, dtype=torch.uint8)


def view_of(images, number, by="shift"):
    given = {one.name: getattr(images, one.name) for one in fields(Images)}
    given["split"] += f"-{by}-{number}"
    return View(**given, made_by=f"{by} {number}", change=shift)


@pytest.fixture
def pets(monkeypatch, tmp_path):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    pixels = np.random.default_rng(0).integers(0, 256, (10, 4, 4, 3), dtype=np.uint8)
    return Images(pixels, np.arange(10) % 2, ("ant", "bee"), "pets", "train")


def pixels_of(view, batch_size=4):
    return torch.cat([*view.in_order(batch_size=batch_size)]).permute(0, 2, 3, 1).numpy()


def store(images):
    codes = images.images.reshape(len(images), -1)[:, :5]
    write(TINY, images, codes, weights="ab" * 32, seconds=1.0)


def test_an_image_becomes_the_same_in_any_set_and_batch(pets):
    one = view_of(pets, 1)
    whole, some = pixels_of(one), one.unknown().subset([7, 2])
    assert np.array_equal(pixels_of(some, 1), whole[[7, 2]]) and (some.labels == -1).all()
    assert not np.array_equal(whole, pets.images) and np.array_equal(one.images, pets.images)


def test_missing_views_stay_views_and_are_found_once_they_are_stored(pets):
    store(pets)
    one, other = view_of(pets, 1), view_of(pets, 2)
    lacking = features.missing(TINY, [pets, one.subset([3, 4]), one, other])
    assert list(lacking) == ["pets/train-shift-1", "pets/train-shift-2"]
    first = lacking["pets/train-shift-1"]
    order = [3, 4, 0, 1, 2, 5, 6, 7, 8, 9]
    assert np.array_equal(pixels_of(first), pixels_of(one)[order])
    store(first)
    assert list(features.missing(TINY, [one, other])) == ["pets/train-shift-2"]


def test_views_of_another_number_or_augmentation_are_refused_with_the_command(pets):
    store(pets)
    store(view_of(pets, 1))
    assert len(features.seen_by(view_of(pets, 1), TINY, "")) == 10
    for other in (view_of(pets, 2), view_of(pets, 1, "turn")):
        with pytest.raises(ValueError, match=f"{other.split}: no features of 10 .*`make it so`"):
            features.seen_by(other, TINY, "make it so")


def test_views_lie_below_their_images_and_those_of_others_are_refused(pets):
    for one in (pets, view_of(pets, 1), view_of(pets, 2)):
        store(one)
    seen, *views = features.seen_by([pets, view_of(pets, 1), view_of(pets, 2)], TINY, "")
    views[1] = replace(views[1], images=255 - views[1].images)
    both = features.beside(seen, views)
    assert both.images.shape == (10, 3, 2, 3) and both.sha256 != seen.sha256
    assert np.array_equal(both.images[:, :1], seen.images)
    assert np.array_equal(both.images[:, 2:], views[1].images)
    turned = [views[0], views[1].subset(np.arange(10)[::-1])]
    with pytest.raises(ValueError, match=r"pets/train-shift-2.* is of other images than"):
        features.beside(seen, turned)
