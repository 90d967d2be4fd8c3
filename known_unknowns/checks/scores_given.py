"""What every score must make of what it is given: arrays of any kind, few images, no sense."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from helpers.outputs import Head, Outputs
from known_unknowns.checks.running import hold, refusal, refused
from known_unknowns.checks.scores import checks, numbers, same


def arrays(*given: Outputs | Head) -> list[np.ndarray]:
    """Return all arrays of outputs and heads."""
    found = (getattr(one, field.name) for one in given for field in fields(one))
    return [one for one in found if one is not None]


def numbers_or_refusal(call: Callable, count: int, where: str) -> None:
    """Fail unless a call gives numbers, or is refused in words."""
    message = refused(call)
    if message is None:
        numbers(call(), count, where)
    else:
        hold(len(message) > 10, f"{where}: refused without a word: {message!r}")


@checks
def given_arrays_are_left_alone(subject, case):
    """Neither `fit` nor `score_samples` changes an array that it is given."""
    train, head, test = subject.train(case), case.head(), subject.test(case)
    given = arrays(train, head, test)
    before = [one.copy() for one in given]
    subject.fit(train, head).score_samples(test)
    for one, old in zip(given, before, strict=True):
        hold(np.array_equal(one, old), f"an array of shape {one.shape} was changed in place")


@checks
def read_only_arrays_do(subject, case):
    """Arrays that cannot be written to, as mapped files are, have the same scores."""
    train, head, test = subject.train(case), case.head(), subject.test(case)
    expected = subject.fit(train, head).score_samples(test)
    for one in arrays(train, head, test):
        one.flags.writeable = False
    same(subject.fit(train, head).score_samples(test), expected, "of read-only arrays")


@checks
def strided_arrays_do(subject, case):
    """Every second image from the last one on, not copied, has the scores of a copy."""
    train, test = subject.train(case), subject.test(case)
    found = []
    for turned in (slice(None, None, -2), np.arange(case.images)[::-2]):  # a view, then a copy
        train_part = train.subset(np.arange(case.train)[::-1])
        if isinstance(turned, slice):
            train_part = train.subset(slice(None, None, -1))
        score = subject.fit(train_part, case.head())
        found.append(score.score_samples(test.subset(turned)))
    same(*found, "as every second row of an array, not copied")


@checks
def stored_outputs_do(subject, case):
    """Outputs that were saved and are read from their file have the same scores."""
    pair, read = (subject.train(case), subject.test(case)), []
    with tempfile.TemporaryDirectory() as folder:
        for number, one in enumerate(pair):
            one.save(Path(folder, f"{number}.safetensors"))
            read.append(Outputs.load(Path(folder, f"{number}.safetensors")))
        found = subject.fit(read[0], case.head()).score_samples(read[1])
    same(found, subject.fitted(case).score_samples(pair[1]), "from a file")


@checks
def nan_is_not_swallowed(subject, case):
    """An image whose every number is NaN is refused or scores none, and changes no other one."""
    score, test = subject.fitted(case), subject.test(case)
    expected = score.score_samples(test)
    spoilt = test.subset(np.arange(case.images))  # which is not checked as new outputs are
    for name in ("logits", "features", "members", "native"):
        if (array := getattr(spoilt, name)) is not None:
            array[(slice(None), 0) if name == "members" else 0] = np.nan
    if refused(lambda: score.score_samples(spoilt)) is None:
        found = score.score_samples(spoilt)
        hold(not np.isfinite(found[0]), f"an image of NaN alone scores {found[0]}")
        same(found[1:], expected[1:], "beside an image of NaN (counted from the next)")


@checks
def constant_images_are_numbers(subject, case):
    """Images whose logits and features are all 0, to score or to fit to, have finite scores or
    are refused in words."""
    train, head, test = subject.train(case), case.head(), subject.test(case)
    flat = [replace(one, logits=0 * one.logits, features=0 * one.features) for one in (train, test)]
    for where, some, others in (("to score", train, flat[1]), ("to fit to", *flat)):
        numbers_or_refusal(
            lambda some=some, others=others: subject.fit(some, head).score_samples(others),
            case.images,
            f"zeros {where}",
        )


@checks
def one_image_is_a_number(subject, case):
    """One image to score has a finite score; fitted to a single one, or one of each class, scores
    are finite or the fit is refused in words."""
    test = subject.test(replace(case, images=1))
    numbers(subject.fitted(case).score_samples(test), 1, "one image to score")
    for count in (1, case.classes):
        few = replace(case, train=count)
        numbers_or_refusal(
            lambda few=few: subject.fitted(few).score_samples(test), 1, f"fitted to {count} images"
        )


@checks
def one_class_is_a_number(subject, case):
    """A model of a single class has finite scores, or is refused in words."""
    subject.test(case)
    one = replace(case, classes=1)
    numbers_or_refusal(
        lambda: subject.fitted(one).score_samples(one.outputs(subject.needs)),
        case.images,
        "of a single class",
    )


@checks
def unlabelled_images_are_seen(subject, case):
    """Training images of no class, or a class without any, are refused in words that name labels
    or class, or left out: scores are then finite."""
    subject.must_need("labels", "training outputs")
    train, head, test = subject.train(case), case.head(), subject.test(case)
    last = train.labels == case.classes - 1
    for where, part in (
        ("images of label −1", replace(train, labels=np.where(last, -1, train.labels))),
        (f"no image of class {case.classes - 1}", train.subset(~last)),
    ):

        def call(part=part):
            return subject.fit(part, head).score_samples(test)

        if refused(call):
            refusal(call, where, "label", "class")
        else:
            numbers(call(), case.images, where)


@checks
def not_fitted_is_refused(subject, case):
    """A score that learns something refuses to score before its fit, and says so."""
    subject.must_fit()
    test = subject.test(case)
    refusal(lambda: subject.new().score_samples(test), "a score that is not fitted", "fit")


@checks
def another_width_is_refused(subject, case):
    """Outputs of a model of other classes and features than at the fit are refused by name."""
    subject.must_fit()
    subject.test(case)
    score = subject.fitted(case)
    other = replace(case, classes=case.classes + 1, width=case.width + 1).outputs(subject.needs)
    what = f"outputs with {other.num_classes} classes and {case.width + 1} features"
    refusal(lambda: score.score_samples(other), what, "logits", "features")


@checks
def another_head_is_refused(subject, case):
    """No head, a bias too long, a weight too narrow for the features are refused by name."""
    subject.must_need("head")
    train, head = subject.train(case), case.head()
    wrong = {"no head": None, "a bias too long": Head(head.weight, np.zeros(case.classes + 1))}
    if "training outputs" in subject.needs and case.width > 1:
        wrong["a weight too narrow"] = Head(head.weight[:, 1:], head.bias)
    for what, one in wrong.items():
        refusal(lambda one=one: subject.fit(train, one), what, "head")
