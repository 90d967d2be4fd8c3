"""Problems of the images and labels are found, and only real ones."""

import re
from dataclasses import replace

import numpy as np
import pytest

from helpers.outputs import Outputs
from known_unknowns.auditing.doubts import doubt_share, find_doubts, likely_label_errors
from known_unknowns.auditing.inputs import Inputs


def names(inputs):
    return [doubt.name for doubt in find_doubts(inputs)]


def bare(logits, labels):
    part = Outputs(logits, np.empty((len(labels), 0)), labels)
    return Inputs("a toy", part, tuple(map(str, range(part.num_classes))))


def drawn(n, classes, right=0.92, seed=0):
    """Return logits and labels of a model with random errors."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(classes, size=n)
    answers = np.where(generator.random(n) < right, labels, generator.integers(classes, size=n))
    return 5 * np.eye(classes)[answers] + generator.normal(size=(n, classes)), labels


def check_doubts(inputs, expected, message):
    """Check the names of all problems, and the sentence of the first problem."""
    doubts = find_doubts(inputs)
    assert [doubt.name for doubt in doubts] == expected
    assert re.search(message, doubts[0].sentence)


def test_copies_of_validation_images_are_found(inputs):
    doubled = inputs.validation.subset([*range(300), 5, 7])
    changed = replace(inputs, validation=doubled, files=())
    check_doubts(changed, ["copies"], r"2 of 302 .*\(rows 300, 301\)")


def test_validation_images_among_the_training_images_are_found(inputs):
    changed = replace(inputs, train=inputs.validation.subset([5, 6, 7]))
    check_doubts(changed, ["learnt"], r"3 of 300 .*5\.png")


@pytest.mark.parametrize(("same", "other"), [(20, 10), (0, 200)])
def test_copies_with_another_label_are_found(same, other):
    labels = np.arange(1000) % 10
    logits, features = np.split(np.random.default_rng(0).normal(size=(1000, 74)), [10], axis=1)
    logits[np.arange(1000), labels] += 4
    part = Outputs(logits, features, labels).subset([*range(1000), *range(same + other)])
    part.labels[1000 + same :] ^= 1
    copied = Inputs("a toy", part, tuple("0123456789"))
    check_doubts(copied, ["copies"], f"^{same + other} of {1000 + same + other} ")


def test_a_class_without_validation_images_is_found(inputs):
    others = inputs.validation.subset(inputs.validation.labels != 2)
    changed = replace(inputs, validation=others, files=())
    check_doubts(changed, ["absent"], r"1 of 4 classes have no validation image: cow\.")


X, Y = drawn(500, 10)


@pytest.mark.parametrize(
    ("logits", "labels", "expected", "message"),
    [
        (np.c_[0 * Y - 9, X], Y, ["renumbered", "chance", "absent"], r"label \+ 1, 9"),
        (X, (Y - 3) % 10, ["renumbered", "chance"], r"by 3: with \(label \+ 3\) % 10, 9"),
        (
            X,
            np.array([3, 1, 4, 0, 5, 9, 2, 6, 8, 7])[Y],
            ["reordered"],
            "label 0 is logit 3, 2 is logit 6, .*…",
        ),
        (
            X,
            np.array([0, 1, 5, 3, 4, 2, 6, 7, 8, 9])[Y],
            ["reordered"],
            "if label 2 is logit 5, 5 is logit 2, 9",
        ),
        (-X, Y, ["negated", "chance"], "wrong sign: the label has the smallest"),
        (X, np.roll(Y, -1), ["shifted", "chance"], "row before"),
        (X, np.roll(Y, 1), ["shifted", "chance"], "row after"),
    ],
)
def test_labels_that_do_not_fit_the_logits_are_found(logits, labels, expected, message):
    check_doubts(bare(logits, labels), expected, message)


def poor(kind, seed):
    """Return outputs of a poor model with correct labels."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(10, size=500)
    if kind == "one class alone":  # which is not the most frequent one
        labels = np.where(generator.random(500) < 0.7, 0, labels)
        return np.eye(10)[np.full(500, 3)] + generator.normal(size=(500, 10)) / 9, labels
    if kind == "neighbours":  # every second class is usually confused with the next
        answers = np.where(labels % 2, labels, (labels + (generator.random(500) < 0.6)) % 10)
        return 3 * np.eye(10)[answers] + generator.normal(size=(500, 10)), labels
    return drawn(500, 10, {"by chance": 0.0, "nearly by chance": 0.15}[kind], seed)


@pytest.mark.parametrize("kind", ["by chance", "nearly by chance", "one class alone", "neighbours"])
def test_the_labels_of_a_poor_model_are_not_suspected(kind):
    for seed in range(10):
        assert set(names(bare(*poor(kind, seed)))) <= {"chance"}, seed


def test_no_problem_is_reported_for_correct_inputs(inputs):
    assert names(inputs) == []
    assert [len(doubt_share(0.1, stated)) for stated in (0.2, 0.05, 0)] == [0, 1, 0]


def test_changed_labels_are_suspected_and_others_are_not(inputs):
    right = inputs.validation
    changed = np.random.default_rng(1).permutation(300)[:15]
    labels = (right.labels + np.isin(np.arange(300), changed)) % 4
    suspected = likely_label_errors(Outputs(right.logits, right.features, labels))
    assert np.isin(changed, suspected).mean() > 0.7
    assert len(np.setdiff1d(suspected, changed)) <= (~right.correct).sum()
    assert np.isin(suspected[:10], changed).mean() > 0.7  # the surest first
