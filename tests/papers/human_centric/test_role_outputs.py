"""What a model says of a set that it answers with one of the set's own classes."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from helpers import scores
from helpers.data import Images
from helpers.outputs import Head, Outputs
from helpers.papers import run
from helpers.papers.human_centric import experiment
from helpers.papers.human_centric.role_outputs import OwnClasses, outputs_with
from helpers.papers.human_centric.roles import ShiftRoles
from helpers.papers.parameters import load

NAMES = ("a", "b", "c", "d")
HEAD = Head(np.eye(4, dtype=np.float32), np.zeros(4, np.float32))
MINI = load("human_centric", "mini", methods=["energy"], replicates=5)


def pictures(name, n, names=NAMES):
    pixels = np.zeros((n, 4, 4, 3), np.uint8)
    return Images(pixels, np.arange(n) % len(names), names, name, "test")


def says(images):
    """Logits by a generator that is the same for each set; half of the answers are right."""
    generator = np.random.default_rng(len(images))
    labels = np.array([NAMES.index(name) for name in images.class_names])[images.labels]
    logits = generator.normal(size=(len(images), 4)).astype(np.float32)
    logits[np.arange(len(images)), labels] += 1
    return Outputs(logits, logits, labels)


MODEL = SimpleNamespace(name="net", class_names=NAMES, outputs=says, head=HEAD, parameters=1)


def roles_with(*own_classes):
    # the renditions show three of the classes, in another order, and one that nobody knows
    renditions = pictures("renditions", 60, ("d", "b", "a"))
    return ShiftRoles(
        pictures("train", 80), pictures("test", 80), {"renditions": renditions}, {},
        own_classes=own_classes,
    )  # fmt: skip


def test_an_answer_is_one_of_the_sets_own_classes():
    every, own = (outputs_with(MODEL, roles_with(*names), NAMES) for names in ((), ["renditions"]))
    images = every.input_shifted["renditions"]
    expected = np.array([0, 1, 3])[images.logits[:, [0, 1, 3]].argmax(axis=1)] == images.labels
    judged = own.input_shifted["renditions"]
    assert judged.correct.tolist() == expected.tolist()
    assert judged.correct.sum() > images.correct.sum() > 0
    assert not (images.correct & ~judged.correct).any()
    # nothing else changes: not the other sets, nor what a score reads
    assert type(own.test) is type(own.train) is Outputs
    assert (judged.predictions == images.predictions).all() and 2 in judged.predictions
    assert judged.logits is images.logits or (judged.logits == images.logits).all()
    for method in ("msp", "energy", "fdbd", "vim"):
        score = scores.create(method).fit(every.train, HEAD)
        assert (score.score_samples(judged) == score.score_samples(images)).all(), method


def test_some_of_the_images_are_answered_as_before():
    outputs = says(pictures("some", 30))
    own = OwnClasses.of(outputs, [2, 0])
    part = own.subset(np.array([4, 2, 7]))
    assert part.classes == (2, 0) and part.correct.tolist() == own.correct[[4, 2, 7]].tolist()
    assert own.correct.tolist() == [
        int(np.array([2, 0])[row[[2, 0]].argmax()]) == label
        for row, label in zip(outputs.logits, outputs.labels, strict=True)
    ]


def test_members_answer_together():
    """Their mean probabilities decide, not their first logits."""
    members = np.array([[[0.3, 0.3, 0.4]], [[0.5, 0.1, 0.4]]])
    whole = Outputs(np.zeros((1, 3)), np.zeros((1, 2)), np.array([0]), members)
    assert OwnClasses.of(whole, [0, 1]).correct.tolist() == [True]
    assert OwnClasses.of(whole, [1, 2]).correct.tolist() == [False]


def test_accuracy_and_error_rates_are_by_the_sets_own_classes():
    rates = {}
    for names in ((), ("renditions",)):
        found = {"primary": outputs_with(MODEL, roles_with(*names), NAMES)}
        rows = pd.DataFrame(experiment.rows(MINI, None, found, run.draws(MINI)))
        rows = rows[rows["variant"] == "primary"].set_index(["method", "test_set", "metric"])
        rates[names] = rows["value"]
    plain, own = rates.values()
    place = ("network", "renditions", "accuracy")
    assert (
        own[place] > plain[place]
        and own["network", "test", "accuracy"] == plain["network", "test", "accuracy"]
    )
    assert own["energy", "test", "der99"] == plain["energy", "test", "der99"]
    # nearly all is accepted
    assert own["energy", "renditions", "der99"] == pytest.approx(1 - own[place], abs=0.05)
    assert plain["energy", "renditions", "der99"] > own["energy", "renditions", "der99"]
