"""What a model says of a set that it answers with one of the set's own classes."""

from types import SimpleNamespace

import numpy as np

from helpers import scores
from helpers.data import Images
from helpers.outputs import Head, Outputs
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


def test_members_answer_together():
    """Their mean probabilities decide, not their first logits."""
    members = np.array([[[0.3, 0.3, 0.4]], [[0.5, 0.1, 0.4]]])
    whole = Outputs(np.zeros((1, 3)), np.zeros((1, 2)), np.array([0]), members)
    assert OwnClasses.of(whole, [0, 1]).correct.tolist() == [True]
    assert OwnClasses.of(whole, [1, 2]).correct.tolist() == [False]
