"""The contract of every score: one function and one sentence for each invariant."""

from __future__ import annotations

import copy
import functools
import inspect
import tempfile
import tracemalloc
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

import helpers.scores
from helpers.metrics import auroc
from helpers.outputs import Head, Outputs
from helpers.scores.info import NEEDS, Info
from known_unknowns.checks.cases import ScoreCase
from known_unknowns.checks.running import (
    Checks,
    does_not_apply,
    hold,
    numbers,
    numbers_or_refusal,
    refusal,
    refused,
    same,
)

SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 300)


checks = Checks("score", ScoreCase(), dict.fromkeys(["images", "classes", "width", "train"], SIZES))
"""Each takes a `Subject` and a case."""


class Subject:
    """A score to be checked: new ones of it, and the outputs that they need."""

    def __init__(self, score):
        if hasattr(score, "score_samples") and not isinstance(score, type):
            score = functools.partial(copy.deepcopy, copy.deepcopy(score))
        if not callable(score):
            raise TypeError(f"score: an instance, a class or a function expected, got {score!r}")
        self.new: Callable = score
        self.name, self.given = score().info.name, "score"
        self.needs = tuple(score().info.needs)

    def fit(self, train: Outputs | None, head: Head | None):
        """Return a new score that is fitted."""
        score = self.new()
        score.fit(train, head)
        return score

    def fitted(self, case: ScoreCase):
        """Return a new score that is fitted to the outputs of a case."""
        return self.fit(self.train(case), case.head())

    def train(self, case: ScoreCase) -> Outputs:
        """Return the outputs that it is fitted to."""
        return case.outputs(self.needs, train=True)

    def test(self, case: ScoreCase, *, known: bool = True) -> Outputs:
        """Return outputs to score; leave the check where the score needs the images themselves."""
        outputs = case.outputs(self.needs, known=known)
        if "images" in self.needs:
            if message := refused(lambda: self.fitted(case).score_samples(outputs)):
                does_not_apply(f"it goes back to the images ({message})")
        return outputs


def separation(subject: Subject, case: ScoreCase, temperature: float = 1.0) -> float:
    """Return the AUROC of images of at most four classes against images of noise."""
    if min(case.images, case.width, case.train) < 20 or case.classes < 2:
        does_not_apply("images, features or classes are too few to tell known from unknown")
    case = replace(case, classes=min(case.classes, 4))
    train, known = subject.train(case), subject.test(case)
    unknown = subject.test(case, known=False)
    train, known, unknown = (
        replace(one, logits=one.logits / np.float32(temperature)) for one in (train, known, unknown)
    )
    score = subject.fit(train, case.head())
    scores = [score.score_samples(one) for one in (known, unknown)]
    for found in scores:
        numbers(found, case.images, f"at temperature {temperature:g}")
    return auroc(*scores)


def arrays(*given: Outputs | Head) -> list[np.ndarray]:
    """Return all arrays of outputs and heads."""
    found = (getattr(one, field.name) for one in given for field in fields(one))
    return [one for one in found if one is not None]


@checks
def info_is_complete(subject, case):
    """`info` has a name and known needs; an `Info` describes each field and each argument."""
    score = subject.new()
    info = score.info
    hold(isinstance(info.name, str) and info.name, f"info.name is {info.name!r}")
    strange = sorted(set(subject.needs) - set(NEEDS))
    hold(subject.needs and not strange, f"info.needs is {subject.needs}; there are {NEEDS}")
    if isinstance(info, Info):
        for name in ("title", "paper", "authors", "key", "equation", "summary", "sign"):
            hold(getattr(info, name), f"info.{name} is empty")
        told, taken = list(info.hyper_parameters), list(inspect.signature(type(score)).parameters)
        hold(told == taken, f"info.hyper_parameters tells {told}, the constructor takes {taken}")


@checks
def fit_returns_itself(subject, case):
    """`fit` returns the score itself, so that calls can follow one another."""
    score = subject.new()
    hold(score.fit(subject.train(case), case.head()) is score, "fit returns something else")


@checks
def scores_are_float64(subject, case):
    """There is one number for each image, finite and in float64, and they are not all the same."""
    test = subject.test(case)
    found = subject.fitted(case).score_samples(test)
    numbers(found, case.images, "scores")
    small = min(case.images, case.classes) < 20
    hold(small or len(set(found)) > 1, f"all images score {found[0]}")


@checks
def higher_is_known(subject, case):
    """Images like those it is fitted to score higher than images of noise."""
    area = separation(subject, case)
    hold(area > 0.5, f"the AUROC of known against unknown images is {area:.3f}")


@checks
def batch_is_its_images(subject, case):
    """The score of a batch is, to the last bit, the scores of its images one by one."""
    score, test = subject.fitted(case), subject.test(case)
    batch = score.score_samples(test)
    count = min(case.images, 60)
    singles = [score.score_samples(test.subset([i])) for i in range(count)]
    same(batch[:count], np.concatenate(singles), f"in a batch of {case.images}, not alone")


@checks
def order_does_not_matter(subject, case):
    """Images in another order have the same scores in that order."""
    score, test = subject.fitted(case), subject.test(case)
    order = np.random.default_rng(case.seed).permutation(case.images)
    expected = score.score_samples(test)[order]
    same(score.score_samples(test.subset(order)), expected, "in another order")


@checks
def equal_images_score_alike(subject, case):
    """An image that occurs again and again has one score, wherever it is."""
    score, test = subject.fitted(case), subject.test(case)
    found = score.score_samples(test.subset(np.arange(case.images) % 2 * (case.images - 1)))
    for first in range(min(2, case.images)):
        copies = found[first::2]
        same(copies, np.full(len(copies), copies[0]), "copies of one image")


@checks
def calls_are_apart(subject, case):
    """Scores do not depend on earlier calls, on an earlier fit, or on the fit of another score."""
    score, test = subject.fitted(case), subject.test(case)
    expected = score.score_samples(test)
    score.score_samples(subject.test(case, known=False))
    same(score.score_samples(test), expected, "asked again")
    again = subject.fitted(replace(case, seed=case.seed + 1))
    same(score.score_samples(test), expected, "after another one was fitted")
    again.fit(subject.train(case), case.head())
    same(again.score_samples(test), expected, "fitted twice, not once")


@checks
def saved_score_is_the_same(subject, case):
    """A fitted score that was written as a rejector and read again says the same."""
    score, test = subject.fitted(case), subject.test(case)
    name = score.info.name
    if name not in helpers.scores.names() or type(helpers.scores.create(name)) is not type(score):
        does_not_apply("it is not registered, and files hold registered scores alone")
    try:
        from known_unknowns.auditing.rejector import Rejector
    except ImportError:
        does_not_apply("files are written with torch, which is not installed")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rejector.safetensors")
        Rejector(score, 0.0, classes=case.classes, width=case.width).save(path)
        read = Rejector.load(path).score
    same(read.score_samples(test), score.score_samples(test), "read from its file")


@checks
def only_needs_are_read(subject, case):
    """Logits, features, labels, a head that `info.needs` does not name change nothing but by
    rounding; labels of images that are scored never do.
    """
    train, head, test = subject.train(case), case.head(), subject.test(case)
    expected = subject.fit(train, head).score_samples(test)
    unlike = np.random.default_rng(9)

    def compare(train, head, test, what, rtol=1e-9):
        found = subject.fit(train, head).score_samples(test)
        same(found, expected, f"with {what}, which its needs do not name", rtol)

    other = replace(test, labels=np.zeros_like(test.labels))
    compare(train, head, other, "other labels of the images that are scored", 0)
    for name in {"logits", "features"}.difference(subject.needs):
        pair = (
            replace(one, **{name: unlike.normal(size=getattr(one, name).shape)})
            for one in (train, test)
        )
        compare(next(pair), head, next(pair), f"other {name}")
    if "labels" not in subject.needs:
        compare(replace(train, labels=np.full(case.train, -1)), head, test, "no training labels")
    if "head" not in subject.needs:
        compare(train, None, test, "no head")
    if "training outputs" not in subject.needs:
        compare(None, head, test, "no training outputs")


@checks
def level_matters_as_said(subject, case):
    """A number that is added to all logits of an image changes its score if, and only if,
    `info.needs` names the level of the logits.
    """
    level = "level of the logits"
    train, head, test = subject.train(case), case.head(), subject.test(case)
    added = np.random.default_rng(3).normal(scale=3, size=(max(case.train, case.images), 1))
    moved = [replace(one, logits=one.logits + added[: len(one)]) for one in (train, test)]
    before = subject.fit(train, head).score_samples(test)
    after = subject.fit(moved[0], head).score_samples(moved[1])
    close = np.allclose(before, after, rtol=1e-4, atol=1e-5)
    told = "names" if level in subject.needs else "does not name"
    hold(
        close != (level in subject.needs),
        f"info.needs {told} the {level}, and the largest change is {abs(after - before).max():.3g}",
    )


@checks
def temperature_keeps_the_sign(subject, case):
    """Fitted and scored at a temperature of 0.05 and of 20, scores are numbers, and those of
    known images not lower than those of noise.
    """
    for temperature in (0.05, 20.0):
        area = separation(subject, case, temperature)
        hold(area >= 0.5, f"at temperature {temperature:g} the AUROC is {area:.3f}")


@checks
def memory_does_not_grow(subject, case):
    """Four times the images to fit to and to score take less than 1.2 times the memory at the
    peak, beyond outputs (which may be mapped) and a few copies of the scores.
    """
    if case != checks.case:
        does_not_apply("memory is measured at one size alone")
    subject.test(case)
    peaks = []
    for images in (5000, 20_000):
        large = ScoreCase(images=images // 4, classes=32, width=128, train=images)
        train, head, test = subject.train(large), large.head(), subject.test(large)
        score = subject.new()
        tracemalloc.start()
        try:
            score.fit(train, head)
            found = score.score_samples(test)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    hold(
        peaks[1] < 1.2 * peaks[0] + 4 * found.nbytes,
        f"the peak of 5,000 images is {peaks[0] / 1e6:.3g} MB, of 20,000 {peaks[1] / 1e6:.3g} MB",
    )


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
def form_does_not_matter(subject, case):
    """Arrays that cannot be written to, every second image from the last one on, and outputs
    that are read from their file have the same scores.
    """
    train, head, test = subject.train(case), case.head(), subject.test(case)
    expected = subject.fit(train, head).score_samples(test)
    with tempfile.TemporaryDirectory() as folder:
        read = []
        for number, outputs in enumerate((train, test)):
            outputs.save(Path(folder, f"{number}.safetensors"))
            read.append(Outputs.load(Path(folder, f"{number}.safetensors")))
        same(subject.fit(read[0], head).score_samples(read[1]), expected, "from a file")
    turned = []
    for ours, theirs in (
        (slice(None, None, -1), slice(None, None, -2)),  # views
        (np.arange(case.train)[::-1], np.arange(case.images)[::-2]),  # copies
    ):
        turned.append(subject.fit(train.subset(ours), head).score_samples(test.subset(theirs)))
    same(*turned, "as every second row of an array, not copied")
    for array in arrays(train, head, test):
        array.flags.writeable = False
    same(subject.fit(train, head).score_samples(test), expected, "of read-only arrays")


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
def little_input_is_a_number(subject, case):
    """One image, a single class, images of zeros and a fit to very few images give finite scores;
    but for one image to score, a refusal in words will do.
    """
    train, head, test = subject.train(case), case.head(), subject.test(case)
    single = subject.test(replace(case, images=1))
    numbers(subject.fitted(case).score_samples(single), 1, "one image to score")
    flat = [replace(one, logits=0 * one.logits, features=0 * one.features) for one in (train, test)]
    lone = replace(case, classes=1)
    cases = {
        "zeros to score": (train, head, flat[1]),
        "zeros to fit to": (flat[0], head, test),
        "of a single class": (subject.train(lone), lone.head(), lone.outputs(subject.needs)),
        "fitted to 1 image": (subject.train(replace(case, train=1)), head, single),
        "fitted to an image of each class": (
            subject.train(replace(case, train=case.classes)), head, single,
        ),
    }  # fmt: skip
    for where, (ours, layer, theirs) in cases.items():

        def call(ours=ours, layer=layer, theirs=theirs):
            return subject.fit(ours, layer).score_samples(theirs)

        numbers_or_refusal(call, len(theirs), where)


@checks
def unlabelled_images_are_seen(subject, case):
    """Training images of no class, or a class without any, are refused in words that name labels
    or class, or left out: scores are then finite.
    """
    if not {"labels", "training outputs"} <= {*subject.needs}:
        does_not_apply("its needs do not name labels and training outputs")
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
def wrong_use_is_refused(subject, case):
    """A score before its fit, outputs of another model, no head, a bias too long and a weight too
    narrow for the features are refused by name, as far as the score needs them.
    """
    if {"training outputs", "head"}.isdisjoint(subject.needs):
        does_not_apply("its needs name neither training outputs nor a head")
    train, head, test = subject.train(case), case.head(), subject.test(case)
    refusal(lambda: subject.new().score_samples(test), "a score that is not fitted", "fit")
    other = replace(case, classes=case.classes + 1, width=case.width + 1).outputs(subject.needs)
    what = f"outputs with {other.num_classes} classes and {case.width + 1} features"
    refusal(lambda: subject.fitted(case).score_samples(other), what, "logits", "features")
    if "head" not in subject.needs:
        return
    wrong = {"no head": None, "a bias too long": Head(head.weight, np.zeros(case.classes + 1))}
    if "training outputs" in subject.needs and case.width > 1:
        wrong["a weight too narrow"] = Head(head.weight[:, 1:], head.bias)
    for what, layer in wrong.items():
        refusal(lambda layer=layer: subject.fit(train, layer), what, "head")
