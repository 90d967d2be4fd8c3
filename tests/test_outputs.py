"""Outputs of networks: checked, kept whole, and the same in any batch."""

import tracemalloc

import numpy as np
import pytest

from helpers.data import Images
from helpers.networks import backbones
from helpers.networks.inference import compute
from helpers.networks.recipe import Recipe
from helpers.outputs import Head, Outputs, ensemble
from tests.data.test_images import some


def test_members_are_averaged_as_probabilities():
    """Members, and networks of an ensemble, are averaged as probabilities."""
    logits = np.log([[0.9, 0.1], [0.2, 0.8]])
    labels = np.array([0, -1])
    first = Outputs(logits, np.zeros((2, 2)), labels)
    np.testing.assert_allclose(first.probabilities, [[0.9, 0.1], [0.2, 0.8]], atol=1e-7)
    assert first.predictions.tolist() == [0, 1]
    assert first.correct.tolist() == [True, False]
    assert first.probabilities is first.probabilities  # computed once
    both = ensemble([first, Outputs(logits[::-1], np.ones((2, 3)), labels)])
    np.testing.assert_allclose(both.probabilities, [[0.55, 0.45]] * 2, atol=1e-7)
    np.testing.assert_allclose(np.exp(both.logits), [[0.55, 0.45]] * 2, atol=1e-7)
    assert both.features.tolist() == [[0, 0, 1, 1, 1]] * 2
    members = Outputs(logits, np.zeros((2, 1)), labels, np.exp([logits, logits[::-1]]))
    np.testing.assert_allclose(members.probabilities, both.probabilities, atol=1e-7)


def test_later_changes_of_an_array_do_not_change_outputs():
    """The array may be a view; a read-only array is not copied."""
    logits = np.array([[2.0, 0.0], [0.0, 1.0]], np.float32)
    shown = logits[:]
    shown.flags.writeable = False
    fixed = logits.copy()
    fixed.flags.writeable = False
    given = [Outputs(array, np.zeros((2, 1)), np.array([0, 1])) for array in (logits, shown, fixed)]
    logits[:] = 7
    for outputs in given:
        assert outputs.logits.tolist() == [[2, 0], [0, 1]]
        with pytest.raises(ValueError, match="read-only"):
            outputs.logits[0] = 1
    assert given[2].logits is fixed


@pytest.mark.parametrize("classes", [[0, 0, 1], [], [-1], [3], [0.5]])
def test_a_class_counts_once(classes):
    outputs = Outputs(np.eye(3), np.eye(3), np.arange(3))
    head = Head(np.eye(3), np.zeros(3))
    for part in (outputs, head):
        with pytest.raises(ValueError, match=r"^classes: "):
            part.restricted(classes)


def test_a_file_gives_the_written_outputs_or_is_refused_by_name(tmp_path):
    """Cut short, or with a flipped bit."""
    path = tmp_path / "a.safetensors"
    arrays = np.random.default_rng(0).normal(size=(2, 5, 3))
    before = Outputs(*arrays, np.arange(5) % 4 - 1, native=np.arange(5.0))
    before.save(path)
    content = path.read_bytes()
    for position in (None, *range(0, len(content), 11)):
        altered = bytearray(content)
        if position is not None:
            altered[position] ^= 1 << position % 8
        path.write_bytes(altered)
        try:
            after = Outputs.load(path)
        except ValueError as error:
            assert str(path) in str(error)
            assert position is not None
            continue
        assert after.members is None
        for name in ("logits", "features", "labels", "native"):
            assert np.array_equal(getattr(before, name), getattr(after, name))
    for length in (len(content) // 2, 40, 0):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"a\.safetensors: not a whole file"):
            Outputs.load(path)


def noise():
    return some(7, 32, labels=np.array([0, 1, 2, 3, -1, 0, 1]), class_names=tuple("abcd"))


@pytest.mark.parametrize(
    "changes",
    [
        {"width": 8, "stem_stride": 2, "dropout": 0.3, "objective": "rnd"},
        {"backbone": "densenet", "depth": 16, "width": 12},
    ],
)
def test_compute_in_batches_is_compute_at_once_and_matches_the_head(changes):
    """Also a native measure, with members from dropout."""
    classifier = backbones.create(Recipe(**changes), 4)
    images = noise()
    classifier.set_normalisation(images.images)
    whole = compute(classifier, images)
    parts = compute(classifier, images, batch_size=3, passes=2)
    tolerances = {"rtol": 1e-4, "atol": 1e-5 * np.abs(whole.logits).max()}
    names = ["logits", "features"]
    if "objective" in changes:
        names.append("native")
    for name in names:
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), **tolerances)
    linear = whole.features @ classifier.head.weight.T + classifier.head.bias
    np.testing.assert_allclose(linear, whole.logits, **tolerances)
    assert whole.labels.tolist() == images.labels.tolist()
    assert parts.members.shape == (2, 7, 4)
    assert whole.members is None


def test_memory_beyond_the_outputs_does_not_grow_with_the_images():
    """The memory of arrays: torch's memory for a batch is not counted."""
    classifier = backbones.create(Recipe(width=8, stem_stride=2), 4)
    extra = []
    for count in (1_000, 4_000):
        pixels = np.zeros((count, 4, 4, 3), np.uint8)
        images = Images(pixels, np.zeros(count, np.int64), tuple("abcd"), "nothing", "test")
        tracemalloc.start()
        outputs = compute(classifier, images)
        peak = tracemalloc.get_traced_memory()[1]
        extra.append(peak - outputs.features.nbytes - outputs.logits.nbytes)
        tracemalloc.stop()
    assert abs(extra[1] - extra[0]) < 2**18


def test_passes_with_dropout_vary_and_their_mean_is_the_models_answer():
    """Dropout is inactive outside the passes."""
    classifier = backbones.create(Recipe(width=8, stem_stride=2, dropout=0.3, block_dropout=0.1), 4)
    drawn = compute(classifier, noise(), passes=5)
    assert drawn.members.shape == (5, 7, 4)
    assert (drawn.members.std(axis=0) > 0).all()
    np.testing.assert_allclose(drawn.members.sum(axis=2), 1, rtol=1e-5)
    np.testing.assert_allclose(drawn.probabilities, drawn.members.mean(axis=0), rtol=1e-5)
    assert np.array_equal(compute(classifier, noise()).logits, drawn.logits)
