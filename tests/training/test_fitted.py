from dataclasses import replace

import numpy as np
import pytest

from helpers import cache, checkpoints
from helpers.data import Images
from helpers.networks import devices, models
from helpers.networks.recipe import Recipe
from helpers.training import fitted, loop

TINY = Recipe(width=4, stem_stride=2, epochs=1, batch_size=8)


@pytest.fixture
def images(monkeypatch, tmp_path):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    pixels = np.random.default_rng(0).integers(0, 256, (24, 16, 16, 3), dtype=np.uint8)
    return Images(pixels, np.arange(24) % 3, ("a", "b", "c"), "noise", "train")


def count(monkeypatch, name):
    calls, function = [], getattr(fitted, name)
    monkeypatch.setattr(fitted, name, lambda *a, **k: calls.append(1) or function(*a, **k))
    return calls


def test_a_network_is_trained_once_and_sees_an_image_once(images, monkeypatch):
    trained, computed = count(monkeypatch, "train"), count(monkeypatch, "compute")
    first = fitted.fit(images, TINY, progress=False)
    again = fitted.fit(images, TINY, progress=False)
    assert first.sha256 == again.sha256 == checkpoints.digest(again.classifier.state_dict())
    assert len(trained) == 1
    assert np.array_equal(first.outputs(images).logits, again.outputs(images).logits)
    assert len(computed) == 1
    assert len(first.history) == 1 and first.seconds > 0


def test_what_is_learnt_beside_erm_shares_its_network(images, monkeypatch):
    """One training for the three; a network trained by the loop itself has the same student."""
    trained = count(monkeypatch, "train")
    found = {}
    for name in ("oc", "erm", "rnd"):
        recipe = replace(TINY, objective=name, epochs=2)
        found[name] = fitted.fit(images, recipe, progress=False)
        classifier = models.create(recipe, 3)
        history = loop.train(classifier, images, recipe, progress=False)
        assert checkpoints.digest(classifier.state_dict()) == found[name].sha256
        assert history.drop(columns="seconds").equals(found[name].history.drop(columns="seconds"))
    assert len(trained) == 1
    one = found["erm"].outputs(images)
    for name in ("oc", "rnd"):
        assert np.array_equal(found[name].outputs(images).logits, one.logits)
        first, last = found[name].history["error"]
        assert last < first


def test_where_training_is_refused_a_network_is_found_or_named(images, monkeypatch):
    monkeypatch.setenv("TRAINING", "refused")
    with pytest.raises(cache.MissingError, match=r"not there.*of noise with Recipe.*and seed 0"):
        fitted.fit(images, TINY, progress=False)
    monkeypatch.setenv("TRAINING", "allowed")
    made = fitted.fit(images, TINY, progress=False)
    monkeypatch.setenv("TRAINING", "refused")
    assert fitted.fit(images, TINY, progress=False).sha256 == made.sha256


def test_another_seed_recipe_or_image_is_another_network(images, monkeypatch):
    trained = count(monkeypatch, "train")
    changed = images.images.copy()
    changed[0, 0, 0, 0] ^= 1
    other = Images(changed, images.labels, images.class_names, images.name, images.split)
    digests = {
        fitted.fit(*arguments, seed=seed, progress=False).sha256
        for arguments, seed in [
            ((images, TINY), 0),
            ((images, TINY), 1),
            ((images, Recipe.from_parameters(TINY.as_dict(), learning_rate=0.05)), 0),
            ((other, TINY), 0),
        ]
    }
    assert len(trained) == len(digests) == 4


def test_a_processor_with_bfloat16_trains_in_it_and_keeps_its_weights_in_float32(
    images, monkeypatch
):
    """Any processor can emulate it: other numbers than float32, a loss that falls."""
    monkeypatch.setattr(devices, "computes_bfloat16", lambda: True)
    longer = replace(TINY, epochs=8)
    half, exact, usual = (
        fitted.fit(images, replace(longer, precision=precision), device="cpu", progress=False)
        for precision in ("bfloat16", "float32", "auto")
    )
    assert half.sha256 != exact.sha256 == usual.sha256
    assert {str(tensor.dtype) for tensor in half.weights.values()} == {
        "torch.float32",
        "torch.int64",
    }
    assert half.history["loss"].iloc[-1] < half.history["loss"].iloc[0]
    np.testing.assert_allclose(half.history["loss"], exact.history["loss"], rtol=0.05)


def test_a_damaged_network_is_made_anew_and_others_are_untouched(images, caplog):
    one, two = (fitted.fit(images, TINY, seed=seed, progress=False) for seed in (0, 1))
    before = two.path.read_bytes()
    one.path.write_bytes(one.path.read_bytes()[:-1])
    again = fitted.fit(images, TINY, seed=0, progress=False)
    assert again.sha256 == one.sha256
    assert str(one.path) in caplog.text
    assert two.path.read_bytes() == before
