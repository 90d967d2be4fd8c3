"""Heads on features: which are refused, and that every objective trains them."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.data.features import FeatureImages, as_images, beside
from helpers.networks import head_recipe
from helpers.networks.recipe import OBJECTIVES, Recipe
from helpers.training.fitted import fit

LINEAR = Recipe(backbone="head", depth=1, image_size=8, augmentation=(), epochs=3, batch_size=16)
HIDDEN = {"depth": 2, "width": 12}
HEADS = [one for one in OBJECTIVES if one not in (*head_recipe.PIXELS, "distillation")]


def changed(**given):
    return head_recipe.check(Recipe.from_parameters(LINEAR.as_dict() | given))


def blobs(seed=0, name="blobs"):
    """Return 90 made-up images of three classes with 8 features, most of which tell the class."""
    generator = np.random.default_rng(seed)
    labels = np.arange(90) % 3
    codes = generator.integers(60, 100, (90, 8))
    codes[np.arange(90), labels] += 60
    pixels = generator.integers(0, 256, (90, 4, 4, 3), dtype=np.uint8)
    return FeatureImages(
        as_images(codes.astype(np.uint8)), labels, ("a", "b", "c"), name, "train", pixels=pixels
    )


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"depth": 3}, "depth: a head has 1 layer or 2, got 3"),
        ({"depth": 2, "width": 2.5}, "width: a whole number of hidden units"),
        ({"augmentation": ["flip"]}, r"augmentation: \[\] expected of a head"),
        ({"objective": "augmix"}, "'augmix' changes pixels, .* not at this tier"),
        ({"objective": "adversarial"}, "'adversarial' changes pixels"),
        ({"objective": "mimo"}, "depth: 2 expected, since MIMO"),
        ({"block_dropout": 0.1}, "block_dropout: a ResNet only"),
    ],
)
def test_what_a_head_cannot_be_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        changed(**given)


@pytest.mark.parametrize("objective", HEADS)
def test_every_objective_that_needs_no_pixels_trains_a_head(objective):
    recipe = changed(objective=objective, **HIDDEN)
    outliers = blobs(1, "outliers").unknown()
    found = fit(blobs(), recipe, outliers=outliers, device="cpu", progress=False)
    said = found.outputs(blobs(2))
    assert said.logits.shape == (90, 3) and said.features.shape == (90, 12)
    own = objective in ("mixup", "oc", "rnd", "soft_labels")
    assert (said.native is not None) == own and (said.members is not None) == (objective == "mimo")


def test_augmix_learns_from_the_stored_views_of_each_image():
    """Views of other images cost more than an image's own, and teach something else."""
    images, more = blobs(), [blobs(seed).images for seed in (3, 4, 5)]
    views = [replace(images, images=one) for one in more]
    mixed = [
        replace(one, images=one.images[np.random.default_rng(0).permutation(90)]) for one in views
    ]
    recipe = changed(objective="augmix", objective_arguments={"stored": 3}, **HIDDEN)
    options = {"device": "cpu", "progress": False}
    right, wrong = (fit(beside(images, one), recipe, **options) for one in (views, mixed))
    assert right.history["loss"].iloc[-1] < 0.8 * wrong.history["loss"].iloc[-1]
    assert right.sha256 != wrong.sha256
    assert right.outputs(blobs(2)).correct.mean() > 0.8
    with pytest.raises(ValueError, match="3 views each expected, got 2 further rows"):
        fit(beside(images, views[:2]), recipe, **options)


@pytest.mark.parametrize("given", [{}, HIDDEN], ids=["linear", "hidden"])
def test_a_head_learns_and_a_shuffled_one_does_not(given):
    recipe, images = changed(epochs=8, **given), blobs()
    right = fit(images, recipe, device="cpu", progress=False).outputs(blobs(2)).correct.mean()
    assert right > 0.9
    one = np.random.default_rng(0).permutation(90)
    shuffled = FeatureImages(
        images.images, images.labels[one], images.class_names, "shuffled", "train",
        pixels=images.pixels,
    )  # fmt: skip
    wrong = fit(shuffled, recipe, device="cpu", progress=False).outputs(blobs(2)).correct.mean()
    assert wrong < 0.7


def test_a_linear_head_multiplies_the_standardised_features():
    found = fit(blobs(), changed(epochs=20), device="cpu", progress=False)
    said, head = found.outputs(blobs(2)), found.classifier.head
    assert said.features.shape == (90, 9)  # eight, in threes
    assert np.allclose(said.features @ head.weight.T + head.bias, said.logits, atol=1e-5)
    assert np.abs(found.outputs(blobs()).features.mean(axis=0)).max() < 0.3
