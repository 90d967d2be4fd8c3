"""What an audit promises with its options, simulated as `trials.promises` has it."""

from __future__ import annotations

import numpy as np
from helpers.metrics.prediction_sets import prediction_sets, set_rule
from known_unknowns.auditing.by_class import by_answer, by_class
from known_unknowns.auditing.weak_groups import find_weak_groups
from known_unknowns.auditing.wished import coverage_at_risk

from helpers.metrics import guarantees
from helpers.outputs import Outputs
from known_unknowns.auditing.drift import find_drift
from known_unknowns.auditing.inputs import Inputs
from trials.simulating import WORLD, Promise

RISK, TRUE, CONFIDENCE = 0.12, 0.121, 0.8
"""The risk that is promised where that of any threshold is a little larger: no promise is true."""


def _promises_a_risk(scores: np.ndarray, correct: np.ndarray) -> bool:
    try:
        guarantees.risk_threshold(scores, correct, risk=RISK, confidence=CONFIDENCE)
    except ValueError:
        return False
    return True


def groups_of_copies(groups: int, copies: int) -> WORLD:
    """Each image ten times, say, and the same number for all of them."""

    def world(generator):
        numbers = np.repeat(np.arange(groups), copies)
        scores, correct = generator.random(groups)[numbers], generator.random(groups) >= TRUE
        logits = np.stack([scores, np.full(len(numbers), -1.0)], axis=1)
        labels = (~correct[numbers]).astype(int)
        outputs = Outputs(logits, np.empty((len(numbers), 0)), labels)
        one = Inputs("copies", outputs, ("0", "1"), groups=numbers)
        kept = one.one_of_each_group(int(generator.integers(2**31))).validation
        return _promises_a_risk(kept.logits[:, 0], kept.correct)

    return world


def several_scores(scores: int, images: int) -> WORLD:
    """The one that keeps most of the choosing half is promised on the measuring half."""

    def world(generator):
        correct = generator.random(2 * images) >= TRUE
        values = generator.random((scores, 2 * images))
        once = np.ones((1, images))
        kept = [coverage_at_risk(one[:images], correct[:images], once, RISK) for one in values]
        return _promises_a_risk(values[int(np.argmax(kept))][images:], correct[images:])

    return world


def each_answer(answers: int, images: int) -> WORLD:
    """Broken where any of them is promised."""

    def world(generator):
        given = generator.integers(answers, size=images)
        correct, names = generator.random(images) >= TRUE, tuple(map(str, range(answers)))
        found = by_answer(generator.random(images), given, correct, names, RISK, CONFIDENCE)[1]
        return any(one.value == one.value for one in found)

    return world


def each_class(classes: int, images: int) -> WORLD:
    """Of every class exactly as many are wrong as was promised of all."""

    def world(generator):
        labels = generator.integers(classes, size=images)
        wrong = generator.random(images) < RISK
        logits = np.eye(classes)[(labels + wrong) % classes]
        outputs = Outputs(logits, np.empty((images, 0)), labels)
        names, every = tuple(map(str, range(classes))), np.ones(images, bool)
        rows = by_class(outputs, names, np.arange(images), every, RISK)
        return any(one.beyond for one in rows)

    return world


def true_class_in_set(images: int, penalty: float) -> WORLD:
    def world(generator):
        logits = 2 * generator.normal(size=(images + 1, 5))
        powers = np.exp(logits)
        probabilities = powers / powers.sum(axis=1, keepdims=True)
        drawn = generator.random((images + 1, 1))
        labels = (probabilities.cumsum(axis=1) > drawn).argmax(axis=1)
        own = probabilities[:-1], labels[:-1]
        rule = set_rule(*own, coverage=0.9, penalty=penalty, free=1)
        return not prediction_sets(probabilities[-1:], rule)[0, labels[-1]]

    return world


def coverage_of_a_draw(images: int) -> WORLD:
    """The scores of new images are uniform: what a threshold accepts of them is known."""
    least = guarantees.conditional_coverage(images, coverage=0.9, confidence=0.95)

    def world(generator):
        value = guarantees.coverage_threshold(generator.random(images), coverage=0.9)
        return 1 - value < least

    return world


def no_weak_group(images: int, wrong: float) -> WORLD:
    def world(generator):
        values, errors = generator.normal(size=(images, 16)), generator.random(images) < wrong
        first, second = slice(0, images // 2), slice(images // 2, images)
        return bool(
            find_weak_groups(values[first], errors[first], values[second], errors[second])[1]
        )

    return world


def no_drift(images: int, unlabelled: int) -> WORLD:
    def world(generator):
        own, theirs = (generator.normal(size=(count, 17)) for count in (images, unlabelled))
        return bool(find_drift(own[:, 0], theirs[:, 0], own[:, 1:], theirs[:, 1:]).found())

    return world


def promises() -> dict[str, Promise]:
    """Return the promises of an audit's options, in words."""
    shared = "several answers or classes share what may be false, and counts are whole numbers"
    return {
        "A risk of 12 %, of groups of ten copies": Promise(
            "audit.Inputs.one_of_each_group", 0.2,
            {"30 groups": groups_of_copies(30, 10), "200 groups": groups_of_copies(200, 10)},
            1000, "30 groups",
        ),
        "A risk of 12 %, by the best of 20 scores": Promise(
            "audit.ranking.ranked", 0.2, {"30 images": several_scores(20, 30)}, 1000, "30 images",
        ),
        "A risk of 12 % of each answer, of all together": Promise(
            "audit.by_class.by_answer", 0.2,
            {"3 answers": each_answer(3, 120), "10 answers": each_answer(10, 600)},
            1000, "3 answers", least=0.2, why=shared,
        ),
        "A class is said to break a promise that it keeps": Promise(
            "audit.by_class.by_class", 0.05,
            {"3 classes": each_class(3, 300), "20 classes": each_class(20, 2000)},
            1500, "20 classes", least=0.2, why=shared,
        ),
        "The true class is in a set with a probability of 90 %": Promise(
            "metrics.prediction_sets.set_rule", 0.1,
            {"99 images": true_class_in_set(99, 0.0), "with a penalty": true_class_in_set(99, 0.1)},
            4000, "99 images", least=0.8,
        ),
        "A coverage, of a single draw of validation images": Promise(
            "metrics.guarantees.conditional_coverage", 0.05,
            {"49 images": coverage_of_a_draw(49), "199 images": coverage_of_a_draw(199)},
            4000, "199 images", least=0.9,
        ),
        "A weak group is named where there is none": Promise(
            "audit.weak_groups.find_weak_groups", 0.05,
            {"200 images": no_weak_group(200, 0.3), "2000 images": no_weak_group(2000, 0.1)},
            1000, "2000 images", least=0.1,
            why="where no cut is clear nothing is looked at, and so nothing is named",
        ),
        "A drift is named where there is none": Promise(
            "audit.drift.find_drift", 0.05,
            {"40 and 60 images": no_drift(40, 60), "300 and 500 images": no_drift(300, 500)},
            1000, "300 and 500 images",
        ),
    }  # fmt: skip
