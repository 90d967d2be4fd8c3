"""What is wrong with the images themselves is found, and only then; groups count as one."""

import re
from dataclasses import replace

import numpy as np
import pytest

from helpers.outputs import Outputs
from known_unknowns.auditing import audit, read_outputs
from known_unknowns.auditing.doubts import _near, find_doubts
from known_unknowns.auditing.inputs import Inputs


def with_validation(inputs, **changes):
    part = inputs.validation
    arrays = {"logits": part.logits, "features": part.features, "labels": part.labels} | changes
    return replace(inputs, validation=Outputs(**arrays), files=())


def names(inputs):
    return [one.name for one in find_doubts(inputs)]


def test_labels_shifted_by_a_row_either_way(inputs):
    labels = np.random.default_rng(0).permutation(4)[np.arange(300) * 7 % 11 % 4]
    generator = np.random.default_rng(1)
    logits = 3 * np.eye(4)[labels] + generator.normal(size=(300, 4))
    assert "shifted" not in names(with_validation(inputs, logits=logits, labels=labels))
    for step, way in ((1, "before"), (-1, "after")):
        wrong = with_validation(inputs, logits=logits, labels=np.roll(labels, -step))
        (doubt,) = [one for one in find_doubts(wrong) if one.name == "shifted"]
        assert f"row {way}" in doubt.sentence


def drawn(n, classes, right=0.92, seed=0):
    """Return logits and labels of a model whose errors are drawn by chance."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(classes, size=n)
    answers = np.where(generator.random(n) < right, labels, generator.integers(classes, size=n))
    return 5 * np.eye(classes)[answers] + generator.normal(size=(n, classes)), labels


ORDER = np.array([3, 1, 4, 0, 5, 9, 2, 6, 8, 7])


SWAPPED = np.array([0, 1, 5, 3, 4, 2, 6, 7, 8, 9])


WAYS = {
    "a background logit": (lambda x, y: (np.c_[0 * y - 9, x], y), "renumbered", r"label \+ 1, 9"),
    "counted from 1": (lambda x, y: (np.c_[x, 0 * y - 9], y + 1), "renumbered", "label - 1, 9"),
    "rotated": (
        lambda x, y: (x, (y + 1) % 10), "renumbered", r"shifted by one: with \(label - 1\) % 10, 9"
    ),
    "rotated by 3": (
        lambda x, y: (x, (y - 3) % 10), "renumbered", r"shifted by 3: with \(label \+ 3\) % 10, 9"
    ),
    "permuted": (lambda x, y: (x, ORDER[y]), "reordered", "label 0 is logit 3, 2 is logit 6, .*…"),
    "two of ten swapped": (
        lambda x, y: (x, SWAPPED[y]), "reordered", "if label 2 is logit 5, 5 is logit 2, 9"
    ),
    "negated": (lambda x, y: (-x, y), "negated", "wrong sign: the smallest"),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_how_labels_were_written_down_is_found(name):
    """Shifted or permuted labels are not taken for a wrong sign, nor the other way round."""
    change, expected, sentence = WAYS[name]
    logits, labels = change(*drawn(500, 10))
    part = Outputs(logits, np.empty((500, 0)), labels)
    first = find_doubts(Inputs("a toy", part, tuple(map(str, range(part.num_classes)))))[0]
    assert first.name == expected
    assert re.search(sentence, first.sentence)


def poor(kind, seed):
    """Return outputs of a model with much to be wished for, and nothing wrong with its labels."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(10, size=500)
    if kind == "one class alone":  # and it is not the most frequent one
        labels = np.where(generator.random(500) < 0.7, 0, labels)
        return np.eye(10)[np.full(500, 3)] + generator.normal(size=(500, 10)) / 9, labels
    if kind == "neighbours":  # every second class is usually taken for the next
        answers = np.where(labels % 2, labels, (labels + (generator.random(500) < 0.6)) % 10)
        return 3 * np.eye(10)[answers] + generator.normal(size=(500, 10)), labels
    return drawn(500, 10, {"by chance": 0.0, "nearly by chance": 0.15}[kind], seed)


@pytest.mark.parametrize("kind", ["by chance", "nearly by chance", "one class alone", "neighbours"])
def test_a_poor_model_is_not_accused_of_its_labels(kind):
    for seed in range(20):
        logits, labels = poor(kind, seed)
        part = Outputs(logits, np.empty((500, 0)), labels)
        said = {one.name for one in find_doubts(Inputs("a toy", part, tuple("abcdefghij")))}
        assert said <= {"chance"}, seed


def test_classes_without_an_image_are_named(inputs):
    kept = np.flatnonzero(inputs.validation.labels != 2)
    (doubt,) = find_doubts(replace(inputs, validation=inputs.validation.subset(kept), files=()))
    assert doubt.name == "absent" and "1 of 4 classes have no validation image: cow." in (
        doubt.sentence
    )


def test_copies_are_found_within_and_from_training(inputs):
    part = inputs.validation
    twice = part.subset(np.append(np.arange(300), [5, 7]))
    (doubt,) = find_doubts(replace(inputs, validation=twice, files=()))
    assert doubt.name == "copies" and "2 of 302" in doubt.sentence
    assert "(rows 300, 301)" in doubt.sentence
    (doubt,) = find_doubts(replace(inputs, train=part.subset([5, 6, 7])))
    assert doubt.name == "learnt" and "3 of 300" in doubt.sentence and "5.png" in doubt.sentence


def test_groups_count_as_one(inputs, arrays, write):
    """Whatever their names are; and a file may name them."""
    ten = {name: np.repeat(arrays[name], 10, axis=0) for name in ("logits", "labels")}
    groups = np.repeat([f"video {i}" for i in range(300)], 10)
    found = audit(read_outputs(write({**ten, "groups": groups})), replicates=5)
    part = found.inputs.validation
    assert len(part) == 300 and found.inputs.grouped == 3000 and not found.doubts
    assert {tuple(row) for row in part.logits} == {
        tuple(row) for row in arrays["logits"].astype(np.float32)
    }
    assert "one of each group, drawn by chance from 3000 images" in found.as_dict()["summary"][0]
    assert audit(read_outputs(write(ten)), replicates=5).doubts[0].name == "copies"


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(300, int), "groups: at least 20 expected, got 1"),
        (np.zeros(30, int), "groups: 300 whole numbers or texts expected"),
        (np.zeros(300), "groups: 300 whole numbers or texts expected, got float64"),
    ],
)
def test_groups_that_cannot_be_are_refused(arrays, write, groups, message):
    few = {"logits": arrays["logits"], "labels": arrays["labels"], "groups": groups}
    with pytest.raises(ValueError, match=message):
        audit(read_outputs(write(few)), replicates=5)


def crowded(width, tightness, seed=0):
    """Return features of ten classes, whose images lie the closer together the less of this."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(10, width))
    return centres[np.arange(400) % 10] + tightness * generator.normal(size=(400, width))


@pytest.mark.parametrize("tightness", [1, 0.1, 0.01])
@pytest.mark.parametrize("width", [16, 64, 512])
def test_near_copies_are_found_however_dense_a_class_is(width, tightness):
    features = crowded(width, tightness)
    assert not len(_near(features)) and not len(_near(features[:200], features[200:]))
    noise = np.random.default_rng(1).normal(size=(5, width)) * tightness / 100
    near = features[[3, 14, 15, 65, 92]] + noise
    assert _near(np.concatenate([features, near])).tolist() == [3, 14, 15, 65, 92, *range(400, 405)]
    assert _near(near, features).tolist() == [0, 1, 2, 3, 4]


def test_in_few_dimensions_and_of_few_images_nothing_is_said():
    for features in (crowded(3, 1), np.zeros((50, 0)), np.ones((9, 64)), np.eye(8, 20)):
        assert not len(_near(features))


def test_near_copies_are_named_within_and_from_training(inputs):
    part = replace(inputs.validation, features=crowded(16, 0.5)[:300].astype(np.float32))
    bare = replace(
        inputs, validation=part, files=(), train=None, head=None, ood={}, production=None
    )
    near = part.subset([5, 7])
    near = replace(near, features=near.features * np.float32([1.001, *[1] * 15]))
    names = ("logits", "features", "labels")
    both = [np.concatenate([getattr(one, name) for one in (part, near)]) for name in names]
    (doubt,) = find_doubts(replace(bare, validation=Outputs(*both)))
    assert doubt.name == "near_copies" and "4 of 302" in doubt.sentence
    assert "(rows 5, 7, 300, 301)" in doubt.sentence
    train = [np.concatenate([getattr(near, name), getattr(near, name)[[0] * 9]]) for name in names]
    train[1][2:] = crowded(16, 9, seed=5)[:9]
    (doubt,) = find_doubts(replace(bare, train=Outputs(*train)))
    assert doubt.name == "near_learnt" and "(rows 5, 7)" in doubt.sentence
