"""Stored features, computed once in whole parts, and heads that are trained on them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from helpers.data import Images, features
from helpers.data.features import Backbone, FeatureImages, as_images, beside
from helpers.networks import frozen_features, head_recipe, zoo
from helpers.networks.models import Classifier
from helpers.networks.recipe import OBJECTIVES, Recipe
from helpers.training.fitted import fit

TINY = Backbone("tiny", 8)


class Tiny(nn.Module):
    """A made-up backbone: a convolution, ReLU6 and the mean over places."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.head = nn.Conv2d(3, 7, 3, stride=2), nn.Linear(7, 4)

    def forward_features(self, x):
        return nn.functional.relu6(self.layer(x / 64))

    def forward_head(self, x, pre_logits=False):
        x = x.mean(dim=(2, 3))
        return x if pre_logits else self.head(x)

    def get_classifier(self):
        return self.head


@pytest.fixture
def source(monkeypatch, tmp_path):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    classifier = Classifier(Tiny()).eval()
    return zoo.Pretrained("tiny", "made up", classifier, {}, (), "cpu", "ab" * 32)


@pytest.fixture
def images():
    pixels = np.random.default_rng(0).integers(0, 256, (9, 4, 4, 3), dtype=np.uint8)
    return Images(pixels, np.arange(9) % 3, ("a", "b", "c"), "noise", "test")


def test_stored_features_are_those_of_the_enlarged_images(source, images):
    frozen_features.store(TINY, source, images, part=4)
    assert len([*TINY.folder.glob("noise-test-*.safetensors")]) == 3
    seen = features.seen_by(images, TINY, "").images.reshape(9, -1)[:, :7]
    larger = nn.functional.interpolate(
        torch.from_numpy(images.images).permute(0, 3, 1, 2).float(), (8, 8), mode="bicubic",
        antialias=True,
    ).clamp(0, 255)  # fmt: skip
    with torch.inference_mode():
        expected = source.classifier.features(larger).numpy()
    assert np.abs(np.sqrt(features.decode(seen, 6.0)) - np.sqrt(expected)).max() < 0.006
    at_four = frozen_features.features_of(source, images, 4)
    assert np.abs(at_four - expected).max() > 0.01  # so the size matters


def test_an_interrupted_run_goes_on_where_it_stopped(source, images, monkeypatch):
    computed, plain = [], frozen_features.features_of

    def break_off(network, some, size):
        if len(computed) == 1:
            raise KeyboardInterrupt
        computed.append(len(some))
        return plain(network, some, size)

    monkeypatch.setattr(frozen_features, "features_of", break_off)
    with pytest.raises(KeyboardInterrupt):
        frozen_features.store(TINY, source, images, part=4)
    monkeypatch.setattr(frozen_features, "features_of", plain)
    left = features.missing(TINY, [images])["noise/test"]
    assert computed == [4] and len(left) == 5
    frozen_features.store(TINY, source, left, part=4)
    assert len(features.packs(TINY)) == 9 and not features.missing(TINY, [images])


def test_a_network_whose_features_may_be_negative_is_refused(source, images, monkeypatch):
    below = np.full((9, 7), -0.5, np.float32)
    monkeypatch.setattr(frozen_features, "features_of", lambda *_: below)
    with pytest.raises(ValueError, match="only networks whose features are not negative"):
        frozen_features.store(TINY, source, images)
    assert not TINY.folder.exists()


LINEAR = Recipe(backbone="head", depth=1, image_size=8, augmentation=(), epochs=3, batch_size=16)
HIDDEN = {"depth": 2, "width": 12}
HEADS = [name for name in OBJECTIVES if name not in (*head_recipe.PIXELS, "distillation")]


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


@pytest.fixture
def fit_head(monkeypatch, tmp_path):
    """Return what trains a head, whose cache is empty."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    return lambda data, recipe, **more: fit(data, recipe, device="cpu", progress=False, **more)


@pytest.mark.parametrize("objective", HEADS)
def test_every_objective_that_needs_no_pixels_trains_a_head(objective, fit_head):
    recipe = changed(objective=objective, **HIDDEN)
    outputs = fit_head(blobs(), recipe, outliers=blobs(1, "outliers").unknown()).outputs(blobs(2))
    assert outputs.logits.shape == (90, 3) and outputs.features.shape == (90, 12)
    assert (outputs.native is not None) == (objective in ("mixup", "oc", "rnd", "soft_labels"))
    assert (outputs.members is not None) == (objective == "mimo")


def test_augmix_learns_from_the_stored_views_of_each_image(fit_head):
    """Views of other images cost more than an image's own, and teach something else."""
    images, more = blobs(), [blobs(seed).images for seed in (3, 4, 5)]
    order = np.random.default_rng(0).permutation(90)
    views = [replace(images, images=pixels) for pixels in more]
    mixed = [replace(view, images=view.images[order]) for view in views]
    recipe = changed(objective="augmix", objective_arguments={"stored": 3}, **HIDDEN)
    right, wrong = (fit_head(beside(images, each), recipe) for each in (views, mixed))
    assert right.history["loss"].iloc[-1] < 0.8 * wrong.history["loss"].iloc[-1]
    assert right.sha256 != wrong.sha256
    assert right.outputs(blobs(2)).correct.mean() > 0.8
    with pytest.raises(ValueError, match="3 views each expected, got 2 further rows"):
        fit_head(beside(images, views[:2]), recipe)


def test_a_linear_head_multiplies_the_standardised_features(fit_head):
    network = fit_head(blobs(), changed(epochs=20))
    outputs, head = network.outputs(blobs(2)), network.classifier.head
    assert outputs.features.shape == (90, 9)  # eight, in threes
    assert np.allclose(outputs.features @ head.weight.T + head.bias, outputs.logits, atol=1e-5)
    assert np.abs(network.outputs(blobs()).features.mean(axis=0)).max() < 0.3
    assert outputs.correct.mean() > 0.9
