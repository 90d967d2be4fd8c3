"""The contract of every score: one function and one sentence for each invariant."""

from __future__ import annotations

import copy
import inspect
import tempfile
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

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
from known_unknowns.scores import is_score, of_function

SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 300)

#: The checks by name.
checks = Checks("score", ScoreCase(), dict.fromkeys(["images", "classes", "width", "train"], SIZES))


class Subject:
    """A score to check, which makes new scores."""

    given = "score"

    def __init__(self, score) -> None:
        if is_score(score):
            score = of_function(score)
        if hasattr(score, "score_samples") and not isinstance(score, type):
            score = partial(copy.deepcopy, copy.deepcopy(score))
        if not callable(score):
            raise TypeError(f"score: an instance, a class or a function expected, got {score!r}")
        self.new: Callable = score
        self.name = score().info.name
        self.needs = tuple(score().info.needs)

    def at(self, case: ScoreCase) -> Trial:
        """Return the score with the outputs of a case."""
        return Trial(self.new, self.needs, case)


class Trial:
    """A score, and outputs of a case: to fit it, and of known and unknown images to score."""

    def __init__(self, new: Callable, needs: tuple[str, ...], case: ScoreCase):
        self.new = new
        self.needs = needs
        self.case = case
        self.head = case.head()
        self.train = case.outputs(needs, train=True)
        self.unknown = case.outputs(needs, known=False)

    @cached_property
    def test(self) -> Outputs:
        """Outputs of known images; the check does not apply if the score needs the images."""
        outputs = self.case.outputs(self.needs)
        if "images" in self.needs:
            if message := refused(lambda: self.score.score_samples(outputs)):
                does_not_apply(f"it goes back to the images ({message})")
        return outputs

    @cached_property
    def score(self):
        """A fitted score."""
        return self.fit()

    @cached_property
    def expected(self) -> np.ndarray:
        """The scores of the known images."""
        return self.score.score_samples(self.test)

    def fit(self, *changed):
        """Return a new score, fitted to `train` and `head`, or to other outputs."""
        score = self.new()
        score.fit(*changed, *(self.train, self.head)[len(changed) :])
        return score

    def scores(self, outputs: Outputs, *fitted) -> np.ndarray:
        """Return the scores of some outputs by a new score; see `fit`."""
        return self.fit(*fitted).score_samples(outputs)

    def at(self, **changes) -> Trial:
        """Return the score with another case."""
        return Trial(self.new, self.needs, replace(self.case, **changes))


def arrays(*given: Outputs | Head) -> list[np.ndarray]:
    """Return all arrays of outputs and heads."""
    every = (getattr(each, field.name) for each in given for field in fields(each))
    return [array for array in every if array is not None]


@checks
def info_is_complete(trial):
    """`info` has a name and known needs; an `Info` describes each argument."""
    score = trial.new()
    info = score.info
    hold(isinstance(info.name, str) and info.name, f"info.name is {info.name!r}")
    strange = sorted(set(trial.needs) - set(NEEDS))
    hold(trial.needs and not strange, f"info.needs is {trial.needs}; there are {NEEDS}")
    if isinstance(info, Info):
        named = list(info.hyper_parameters)
        taken = list(inspect.signature(type(score)).parameters)
        hold(named == taken, f"info.hyper_parameters tells {named}, the constructor takes {taken}")


@checks
def fit_returns_itself(trial):
    """`fit` returns the score itself, so that calls can follow one another."""
    score = trial.new()
    hold(score.fit(trial.train, trial.head) is score, "fit returns something else")


@checks
def scores_are_float64(trial):
    """There is one number for each image, finite and in float64, and not all numbers are equal."""
    numbers(trial.expected, trial.case.images, "scores")
    small = min(trial.case.images, trial.case.classes) < 20
    hold(small or len(set(trial.expected)) > 1, f"all images score {trial.expected[0]}")


@checks
def higher_is_known(trial):
    """Images like the images of the fit score higher than images of noise, and not lower if the
    logits are divided by a temperature of 0.05 or 20.
    """
    case = trial.case
    if min(case.images, case.width, case.train) < 20 or case.classes < 2:
        does_not_apply("images, features or classes are too few to tell known from unknown")
    trial = trial.at(classes=min(case.classes, 4))
    for temperature in (1.0, 0.05, 20.0):
        train, test, unknown = [
            replace(outputs, logits=outputs.logits / np.float32(temperature))
            for outputs in (trial.train, trial.test, trial.unknown)
        ]
        score = trial.fit(train)
        known_scores = score.score_samples(test)
        unknown_scores = score.score_samples(unknown)
        for scores in (known_scores, unknown_scores):
            numbers(scores, case.images, f"at temperature {temperature:g}")
        area = auroc(known_scores, unknown_scores)
        enough = area > 0.5 if temperature == 1 else area >= 0.5
        hold(enough, f"at temperature {temperature:g} the AUROC of known images is {area:.3f}")


@checks
def batch_is_its_images(trial):
    """The score of a batch is, to the last bit, the scores of its images one by one."""
    count = min(trial.case.images, 60)
    singles = [trial.score.score_samples(trial.test.subset([i])) for i in range(count)]
    where = f"in a batch of {trial.case.images}, not alone"
    same(trial.expected[:count], np.concatenate(singles), where)


@checks
def order_does_not_matter(trial):
    """The score of an image does not depend on its position; images may be repeated."""
    images = trial.case.images
    order = np.random.default_rng(trial.case.seed).permutation(images)
    twice = np.arange(images) % 2 * (images - 1)
    for places, where in ((order, "in another order"), (twice, "copies of one image")):
        scores = trial.score.score_samples(trial.test.subset(places))
        same(scores, trial.expected[places], where)


@checks
def calls_are_apart(trial):
    """Scores do not depend on earlier calls, on an earlier fit, or on the fit of another score."""
    score = trial.score
    test = trial.test
    expected = trial.expected
    score.score_samples(trial.unknown)
    same(score.score_samples(test), expected, "asked again")
    again = trial.at(seed=trial.case.seed + 1).score
    same(score.score_samples(test), expected, "after another one was fitted")
    again.fit(trial.train, trial.head)
    same(again.score_samples(test), expected, "fitted twice, not once")


@checks
def only_needs_are_read(trial):
    """Logits, features, labels or a head that `info.needs` does not name change the scores
    only by rounding; labels of images to score never change them.
    """
    train = trial.train
    test = trial.test
    needs = trial.needs
    unlike = np.random.default_rng(9)

    def compare(what, test=test, *fitted, rtol=1e-9):
        where = f"with {what}, which its needs do not name"
        same(trial.scores(test, *fitted), trial.expected, where, rtol)

    labels = replace(test, labels=np.zeros_like(test.labels))
    compare("other labels of the images that are scored", labels, rtol=0)
    for name in {"logits", "features"}.difference(needs):
        other = [
            replace(outputs, **{name: unlike.normal(size=getattr(outputs, name).shape)})
            for outputs in (test, train)
        ]
        compare(f"other {name}", *other)
    if "labels" not in needs:
        compare("no training labels", test, replace(train, labels=np.full(len(train), -1)))
    if "head" not in needs:
        compare("no head", test, train, None)
    if "training outputs" not in needs:
        compare("no training outputs", test, None)


@checks
def level_matters_as_said(trial):
    """A number that is added to all logits of an image changes its score if, and only if,
    `info.needs` names the level of the logits.
    """
    level = "level of the logits"
    images = max(trial.case.train, trial.case.images)
    added = np.random.default_rng(3).normal(scale=3, size=(images, 1))
    train, test = [
        replace(outputs, logits=outputs.logits + added[: len(outputs)])
        for outputs in (trial.train, trial.test)
    ]
    before = trial.expected
    after = trial.scores(test, train)
    close = np.allclose(before, after, rtol=1e-4, atol=1e-5)
    verb = "names" if level in trial.needs else "does not name"
    hold(
        close != (level in trial.needs),
        f"info.needs {verb} the {level}, and the largest change is {abs(after - before).max():.3g}",
    )


@checks
def given_arrays_are_left_alone(trial):
    """`fit` and `score_samples` do not change the given arrays."""
    given = arrays(trial.train, trial.head, trial.test)
    before = [array.copy() for array in given]
    trial.scores(trial.test)
    for array, old in zip(given, before, strict=True):
        hold(np.array_equal(array, old), f"an array of shape {array.shape} was changed in place")


@checks
def form_does_not_matter(trial):
    """Read-only arrays, every second image from the last one on, and outputs that are read from
    their file have the same scores.
    """
    train = trial.train
    test = trial.test
    expected = trial.expected
    with tempfile.TemporaryDirectory() as folder:
        read = []
        for number, outputs in enumerate((test, train)):
            outputs.save(file := Path(folder, f"{number}.safetensors"))
            read.append(Outputs.load(file))
        same(trial.scores(*read), expected, "from a file")
    views = slice(None, None, -1), slice(None, None, -2)
    copies = np.arange(len(train))[::-1], np.arange(len(test))[::-2]
    turned = (
        trial.scores(test.subset(second), train.subset(first)) for first, second in (views, copies)
    )
    same(*turned, "as every second row of an array, not copied")
    for array in arrays(train, trial.head, test):
        array.flags.writeable = False
    same(trial.scores(test), expected, "of read-only arrays")


@checks
def nan_is_not_swallowed(trial):
    """An image with only NaN is refused or has no score, and does not change other scores."""
    expected = trial.expected
    score = trial.score
    spoilt = trial.test.subset(np.arange(trial.case.images))  # not checked, unlike new outputs
    for name in ("logits", "features", "members", "native"):
        if (array := getattr(spoilt, name)) is not None:
            array[(slice(None), 0) if name == "members" else 0] = np.nan
    if refused(lambda: score.score_samples(spoilt)) is None:
        scores = score.score_samples(spoilt)
        hold(not np.isfinite(scores[0]), f"an image of NaN alone scores {scores[0]}")
        same(scores[1:], expected[1:], "beside an image of NaN (counted from the next)")


@checks
def little_input_is_a_number(trial):
    """One image, a single class, images of zeros and a fit to very few images give finite
    scores. All cases except one image to score may also be refused with a message.
    """
    train = trial.train
    test = trial.test
    few = trial.at(images=1)
    numbers(trial.score.score_samples(few.test), 1, "one image to score")
    flat = replace(train, logits=0 * train.logits, features=0 * train.features)
    zeros = replace(test, logits=0 * test.logits, features=0 * test.features)
    single = trial.at(classes=1)
    for where, small, *changed in (
        ("zeros to score", trial, zeros),
        ("zeros to fit to", trial, test, flat),
        ("of a single class", single, single.test),
        ("fitted to 1 image", few.at(train=1), few.test),
        ("fitted to an image of each class", few.at(train=trial.case.classes), few.test),
    ):
        numbers_or_refusal(partial(small.scores, *changed), len(changed[0]), where)


@checks
def unlabelled_images_are_seen(trial):
    """Training images without a class, and a class without images, are left out with finite
    scores, or refused with a message that names labels or class.
    """
    if not {"labels", "training outputs"} <= {*trial.needs}:
        does_not_apply("its needs do not name labels and training outputs")
    train = trial.train
    test = trial.test
    classes = trial.case.classes
    last = train.labels == classes - 1
    for where, part in (
        ("images of label −1", replace(train, labels=np.where(last, -1, train.labels))),
        (f"no image of class {classes - 1}", train.subset(~last)),
    ):
        call = partial(trial.scores, test, part)
        if refused(call):
            refusal(call, where, "label", "class")
        else:
            numbers(call(), len(test), where)


@checks
def wrong_use_is_refused(trial):
    """A score before its fit, outputs of another model, a missing head, a bias that is too long
    and a weight that is too narrow for the features are refused by name, if the score needs them.
    """
    if {"training outputs", "head"}.isdisjoint(trial.needs):
        does_not_apply("its needs name neither training outputs nor a head")
    case = trial.case
    head = trial.head
    test = trial.test
    refusal(lambda: trial.new().score_samples(test), "a score that is not fitted", "fit")
    other = replace(case, classes=case.classes + 1, width=case.width + 1).outputs(trial.needs)
    what = f"outputs with {other.num_classes} classes and {case.width + 1} features"
    refusal(lambda: trial.score.score_samples(other), what, "logits", "features")
    if "head" not in trial.needs:
        return
    wrong = {"no head": None, "a bias too long": Head(head.weight, np.zeros(case.classes + 1))}
    if "training outputs" in trial.needs and case.width > 1:
        wrong["a weight too narrow"] = Head(head.weight[:, 1:], head.bias)
    for what, layer in wrong.items():
        refusal(partial(trial.fit, trial.train, layer), what, "head")
