import tracemalloc

import numpy as np
import pytest
import torch

from helpers.data import Images
from helpers.networks import models
from helpers.networks.inference import compute
from helpers.networks.recipe import Recipe
from helpers.outputs import Outputs, ensemble


def outputs(n=5, k=3, d=4, **changes):
    generator = np.random.default_rng(0)
    arrays = {
        "logits": generator.normal(size=(n, k)).astype(np.float32),
        "features": generator.normal(size=(n, d)).astype(np.float32),
        "labels": np.arange(n) % (k + 1) - 1,
    }
    return Outputs(**(arrays | changes))


def test_derived_values():
    one = outputs(logits=np.log([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]), features=np.zeros((2, 1)),
                  labels=np.array([0, -1]))  # fmt: skip
    np.testing.assert_allclose(one.probabilities, [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], atol=1e-7)
    assert one.predictions.tolist() == [0, 2]
    assert one.correct.tolist() == [True, False]
    assert one.probabilities is one.probabilities  # computed once


def test_members_are_averaged_as_probabilities():
    members = np.array([[[0.9, 0.1]], [[0.2, 0.8]]], dtype=np.float32)
    one = Outputs(np.zeros((1, 2)), np.zeros((1, 1)), np.array([0]), members=members)
    np.testing.assert_allclose(one.probabilities, [[0.55, 0.45]], atol=1e-7)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.array([0, 1])}, "labels: 5 images expected, got 2"),
        ({"labels": np.full(5, 3)}, "labels: −1 … 2 expected"),
        ({"logits": np.full((5, 3), np.nan)}, "logits: contains NaN"),
        ({"features": np.zeros(5)}, "features: 2 dimension"),
        ({"members": np.zeros((2, 4, 3))}, "members: 5 images expected, got 4"),
        ({"members": np.zeros((2, 5, 7))}, "members: 3 classes expected, got 7"),
        ({"labels": np.full(5, 0.5)}, "labels: integers expected"),
    ],
)
def test_bad_arrays_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        outputs(**changes)


def test_round_trip_and_subset(tmp_path):
    one = outputs(native=np.arange(5.0))
    one.save(tmp_path / "a.safetensors")
    two = Outputs.load(tmp_path / "a.safetensors")
    assert np.array_equal(two.logits, one.logits) and np.array_equal(two.native, one.native)
    assert two.members is None
    part = two.subset(two.labels == 0)
    assert np.array_equal(part.features, one.features[one.labels == 0])


def test_a_truncated_file_is_named(tmp_path):
    path = tmp_path / "a.safetensors"
    outputs().save(path)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], content[:40], b""):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"a\.safetensors: not a whole file"):
            Outputs.load(path)


def test_no_flipped_bit_gives_other_outputs(tmp_path):
    """A damaged file is refused by name, or gives what was written."""
    path, before = tmp_path / "a.safetensors", outputs()
    before.save(path)
    content = path.read_bytes()
    for position in range(0, len(content), 11):
        altered = bytearray(content)
        altered[position] ^= 1 << position % 8
        path.write_bytes(altered)
        try:
            after = Outputs.load(path)
        except ValueError as error:
            assert str(path) in str(error)
        else:
            for name in ("logits", "features", "labels", "members", "native"):
                assert np.array_equal(getattr(before, name), getattr(after, name))


def test_compute_in_batches_is_compute_at_once_and_matches_the_head():
    classifier = models.create(Recipe(width=8, stem_stride=2), 4)
    pixels = np.random.default_rng(0).integers(0, 256, (7, 32, 32, 3), dtype=np.uint8)
    images = Images(pixels, np.array([0, 1, 2, 3, -1, 0, 1]), tuple("abcd"), "noise", "test")
    whole = compute(classifier, images)
    parts = compute(classifier, images, batch_size=3)
    np.testing.assert_allclose(parts.logits, whole.logits, atol=1e-5)
    head = classifier.head
    np.testing.assert_allclose(whole.features @ head.weight.T + head.bias, whole.logits, atol=1e-5)
    assert whole.labels.tolist() == images.labels.tolist()


class Constant(torch.nn.Module):
    """A network with large outputs and little work."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(256, 4)

    def forward_features(self, images):
        return images.mean(dim=(1, 2, 3))[:, None].expand(-1, 256)

    def forward_head(self, features, *, pre_logits):
        return features

    def get_classifier(self):
        return self.fc


def test_memory_beyond_the_outputs_does_not_grow_with_the_images():
    """The memory of arrays: torch's memory for a batch is not counted."""
    classifier, extra = models.Classifier(Constant()), []
    for count in (5_000, 20_000):
        pixels = np.zeros((count, 4, 4, 3), np.uint8)
        images = Images(pixels, np.zeros(count, np.int64), tuple("abcd"), "nothing", "test")
        tracemalloc.start()
        found = compute(classifier, images)
        peak = tracemalloc.get_traced_memory()[1]
        extra.append(peak - found.features.nbytes - found.logits.nbytes)
        tracemalloc.stop()
    assert max(extra) < 2**22  # the larger outputs take 2**24.3
    assert abs(extra[1] - extra[0]) < 2**18


def test_passes_with_dropout_vary_and_their_mean_is_the_models_answer():
    classifier = models.create(Recipe(width=8, stem_stride=2, dropout=0.3, block_dropout=0.1), 4)
    pixels = np.random.default_rng(0).integers(0, 256, (7, 32, 32, 3), dtype=np.uint8)
    images = Images(pixels, np.full(7, -1), tuple("abcd"), "noise", "test")
    one = compute(classifier, images, passes=5)
    assert one.members.shape == (5, 7, 4)
    assert (one.members.std(axis=0) > 0).all()
    np.testing.assert_allclose(one.members.sum(axis=2), 1, rtol=1e-5)
    np.testing.assert_allclose(one.probabilities, one.members.mean(axis=0), rtol=1e-5)
    still = compute(classifier, images)
    assert np.array_equal(still.logits, one.logits)  # outside the passes nothing is dropped
    assert not classifier.training
    assert not any(module.training for module in classifier.modules())


def test_an_ensemble_averages_probabilities():
    one = Outputs(np.log([[0.9, 0.1]]), np.zeros((1, 2)), np.array([0]))
    two = Outputs(np.log([[0.2, 0.8]]), np.ones((1, 3)), np.array([0]))
    both = ensemble([one, two])
    np.testing.assert_allclose(both.probabilities, [[0.55, 0.45]], atol=1e-7)
    np.testing.assert_allclose(np.exp(both.logits), [[0.55, 0.45]], atol=1e-7)
    assert both.features.tolist() == [[0, 0, 1, 1, 1]]
    assert both.correct.tolist() == [True]


def test_the_native_measure_does_not_depend_on_the_batch():
    """Of the network itself, beside members that dropout draws."""
    recipe = Recipe(width=8, stem_stride=2, dropout=0.3, objective="rnd")
    classifier = models.create(recipe, 4)
    pixels = np.random.default_rng(0).integers(0, 256, (7, 32, 32, 3), dtype=np.uint8)
    images = Images(pixels, np.full(7, -1), tuple("abcd"), "noise", "test")
    whole, parts = compute(classifier, images), compute(classifier, images, batch_size=3, passes=2)
    assert whole.native.shape == (7,) and (whole.native < 0).all()
    np.testing.assert_allclose(parts.native, whole.native, rtol=1e-4)
    assert parts.members.shape == (2, 7, 4) and whole.members is None
