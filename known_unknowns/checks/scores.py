"""What every score must keep to: one function an invariant, with a sentence that says it."""

from __future__ import annotations

import copy
import functools
import inspect
import tempfile
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import helpers.scores
from helpers.metrics import auroc
from helpers.outputs import Head, Outputs
from helpers.scores.info import NEEDS, Info
from known_unknowns.checks.inputs import ScoreCase
from known_unknowns.checks.running import Checks, does_not_apply, hold, refused

SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 300)
# Each takes a `Subject` and a case; those of scores_given.py come after these.
checks = Checks(
    "score", ScoreCase(), {"images": SIZES, "classes": SIZES, "width": SIZES, "train": SIZES}
)


class Subject:
    """A score to be checked: new ones of it, and the outputs that they need.

    Parameters
    ----------
    score : Score or callable
        One that is not fitted, or what returns a new one.

    Raises
    ------
    TypeError
        It is neither.
    """

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

    def must_need(self, *names: str) -> None:
        """Leave the check unless all of these are named by its needs."""
        for name in names:
            if name not in self.needs:
                does_not_apply(f"its needs do not name the {name}")

    def must_fit(self) -> None:
        """Leave the check unless it takes anything before it scores."""
        if {"training outputs", "head"}.isdisjoint(self.needs):
            does_not_apply("its needs name neither training outputs nor a head")


def same(found: np.ndarray, expected: np.ndarray, where: str, rtol: float = 0) -> None:
    """Fail unless scores are equal, to the last bit by default; name an image where they differ."""
    hold(found.shape == expected.shape, f"{where}: shape {found.shape}, not {expected.shape}")
    other = np.flatnonzero(~np.isclose(found, expected, rtol=rtol, atol=rtol, equal_nan=True))
    if len(other):
        i = other[0]
        hold(False, f"{where}: image {i} scores {found[i]:.17g}, not {expected[i]:.17g}")


def numbers(found: np.ndarray, count: int, where: str) -> None:
    """Fail unless there is a finite number in float64 for each image."""
    got = f"{where}: {type(found).__name__}"
    hold(isinstance(found, np.ndarray), f"{got}, not an array")
    hold(found.dtype == np.float64, f"{got} of {found.dtype}, not of float64")
    hold(found.shape == (count,), f"{got} of shape {found.shape}, not ({count},)")
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        hold(False, f"{where}: image {bad[0]} scores {found[bad[0]]}")


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


@checks
def info_is_complete(subject, case):
    """`info` has a name, needs that are known and, in an `Info`, a text in each field and each
    argument of the constructor."""
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
def scoring_changes_nothing(subject, case):
    """What a score says of images does not depend on what it was asked before."""
    score, test = subject.fitted(case), subject.test(case)
    expected = score.score_samples(test)
    score.score_samples(subject.test(case, known=False))
    same(score.score_samples(test), expected, "asked again")


@checks
def fit_starts_anew(subject, case):
    """A score that is fitted a second time has forgotten the first time."""
    test, score = subject.test(case), subject.fitted(replace(case, seed=case.seed + 1))
    score.fit(subject.train(case), case.head())
    expected = subject.fitted(case).score_samples(test)
    same(score.score_samples(test), expected, "fitted twice, not once")


@checks
def fits_are_apart(subject, case):
    """Fitting one score changes no other one."""
    test, score = subject.test(case), subject.fitted(case)
    expected = score.score_samples(test)
    subject.fitted(replace(case, seed=case.seed + 1))
    same(score.score_samples(test), expected, "after another one was fitted")


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
    rounding; labels of images that are scored never do."""
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
    `info.needs` names the level of the logits."""
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
    known images not lower than those of noise."""
    for temperature in (0.05, 20.0):
        area = separation(subject, case, temperature)
        hold(area >= 0.5, f"at temperature {temperature:g} the AUROC is {area:.3f}")


@checks
def memory_does_not_grow(subject, case):
    """Four times the images to fit to and to score take less than 1.2 times the memory at the
    peak, beyond outputs (which may be mapped) and a few copies of the scores."""
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
