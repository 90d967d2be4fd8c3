"""The contract of every metric: one function and one sentence for each invariant."""

from __future__ import annotations

import functools
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import astuple, is_dataclass, replace

import numpy as np

from helpers import metrics
from helpers.checks import known_name
from helpers.metrics.records import KINDS
from known_unknowns.checks.cases import QUALITIES, MetricCase
from known_unknowns.checks.running import Checks, does_not_apply, hold, refusal, refused

RANKING = ("group", "scores")
BOUNDED = ("shares", "probabilities", "rows", "unknown")
SIZES = (1, 2, 3, 4, 5, 8, 20, 50)


checks = Checks("metric", MetricCase(), {"images": SIZES, "classes": SIZES})
"""Each takes a `Subject` and a case."""


class Subject:
    """A metric to be checked, and what is known of it."""

    def __init__(self, function, takes=None, better=None, range=None):
        if not callable(function):
            raise TypeError(f"function: a function expected, got {function!r}")
        whole = function.func if isinstance(function, functools.partial) else function
        options = getattr(function, "keywords", {}).values() if whole is not function else ()
        self.function = function
        self.name = "-".join([getattr(whole, "__name__", type(whole).__name__), *map(str, options)])
        for record in metrics.RECORDS:
            if getattr(metrics, record.name) is whole:
                takes = record.takes if takes is None else takes
                better = record.better if better is None else better
                range = record.range if range is None else range
        if not takes:
            raise ValueError(
                f"takes: the arguments of '{self.name}' expected, each with its kind, such as "
                '{"confidence": "scores", "correct": "correct"}'
            )
        self.takes: Mapping[str, str] = dict(takes)
        for kind in self.takes.values():
            known_name("kind of argument", kind, KINDS)
        self.better, self.range = better or "", range or ""
        known = {"takes": self.takes, "better": self.better, "range": self.range}
        self.given = ", ".join(["function", *(f"{k}={v!r}" for k, v in known.items() if v)])

    def __call__(self, arguments: Mapping) -> np.ndarray:
        """Return all that the metric says, in one row of numbers."""
        return np.concatenate([np.ravel(one) for one in self.parts(arguments)]).astype(float)

    def parts(self, arguments: Mapping) -> list:
        """Return the numbers and arrays that the metric returns."""
        found = self.function(**arguments)
        found = astuple(found) if is_dataclass(found) else found
        return list(found) if isinstance(found, tuple | list) else [found]

    def arrays(self, *kinds: str) -> list[str]:
        """Return the names of the arrays among the arguments, or of those of some kinds."""
        return [
            name
            for name, kind in self.takes.items()
            if kind != "number" and (not kinds or kind in kinds)
        ]

    def by_rank(self) -> list[str]:
        """Return the names of the scores; leave the check where there are none to be compared."""
        names = self.arrays(*RANKING)
        if not names or "number" in self.takes.values():
            does_not_apply("it takes no scores, or a threshold with them")
        return names

    def permuted(self, arguments: Mapping, orders: Callable[[int], np.ndarray]) -> dict:
        """Return arguments in another order: images as a whole, those of each group on their own.

        `orders` takes the number of images.
        """
        found, images = dict(arguments), None
        for name in self.arrays():
            order = orders(len(arguments[name])) if images is None else images
            if self.takes[name] != "group":
                images = order
            found[name] = arguments[name][order]
        return found


def close(found, expected, what: str, rtol: float = 1e-12) -> None:
    """Fail unless two results are the same but for rounding."""
    alike = found.shape == expected.shape and np.allclose(
        found, expected, rtol=rtol, atol=rtol, equal_nan=True
    )
    hold(alike, f"{what} it is {in_words(found)}, not {in_words(expected)}")


def in_words(values: np.ndarray) -> str:
    """Return a number, or the first ones of several."""
    return ", ".join(f"{one:.15g}" for one in values[:4]) + ", …" * (len(values) > 4)


@checks
def result_is_float64(subject, case):
    """The result is a float, or floats and arrays: of float64, or of whole numbers that count,
    and not NaN.
    """
    for part in subject.parts(case.arguments(subject.takes)):
        kind = np.asarray(part).dtype
        hold(kind == np.float64 or kind.kind in "iu", f"the result is {part!r}, of {kind}")
        hold(not np.isnan(part).any(), "the result is NaN")


@checks
def result_is_in_range(subject, case):
    """The result lies in the range that the record states, however good or bad the answers."""
    edges = subject.range.strip("[]() ").replace("∞", "inf").split(",")
    if len(edges) != 2:
        does_not_apply("its range is not known, or that of its arguments")
    low, high = map(float, edges)
    for quality in QUALITIES:
        for part in subject.parts(case.arguments(subject.takes, quality)):
            if np.asarray(part).dtype.kind == "f":  # and not how many there are
                least, most = np.min(part), np.max(part)
                hold(
                    low - 1e-12 <= least and most <= high + 1e-12,
                    f"of {quality} answers it is {least:.6g} to {most:.6g}, not in {subject.range}",
                )


@checks
def better_is_better(subject, case):
    """What is always right is at least as good as what mostly is, that as what is always wrong;
    and always right is better than always wrong.
    """
    if not subject.better:
        does_not_apply("neither higher nor lower is better, or it is not known")
    sign = 1 if subject.better == "higher" else -1
    best, usual, worst = (
        sign * subject(case.arguments(subject.takes, quality))[0]
        for quality in ("perfect", "usual", "reversed")
    )
    told = f"{subject.better} is better, but it is {sign * best:.6g} of perfect answers"
    hold(best >= usual, f"{told} and {sign * usual:.6g} of usual ones")
    hold(usual >= worst and best > worst, f"{told} and {sign * worst:.6g} of reversed ones")


@checks
def order_does_not_matter(subject, case):
    """The images in another order, ties among them, give the same."""
    given = case.arguments(subject.takes)
    expected = subject(given)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation
        close(subject(subject.permuted(given, order)), expected, "of images in another order")


@checks
def ties_are_not_broken(subject, case):
    """Where all images score the same, it does not matter which come first; and known images are
    then not told from unknown ones.
    """
    names = subject.by_rank()
    given = case.arguments(subject.takes, "constant")
    expected = subject(given)
    for name in subject.arrays("correct"):
        for order in (np.argsort(given[name]), np.argsort(~given[name])):
            found = subject(subject.permuted(given, lambda n, order=order: order))
            close(found, expected, "of images that score the same, in another order,")
    if subject.better and len(names) == 2:
        best = subject(case.arguments(subject.takes, "perfect"))
        hold(
            (best != expected).any(), f"of equal scores it is {in_words(best)}, as of perfect ones"
        )


@checks
def calls_are_apart(subject, case):
    """The same arguments give the same a second time, whatever was asked in between."""
    given = case.arguments(subject.takes)
    expected = subject(given)
    subject(case.arguments(subject.takes, "reversed"))
    close(subject(given), expected, "asked again", rtol=0)


@checks
def given_arrays_are_left_alone(subject, case):
    """No array that is given is changed."""
    given, before = case.arguments(subject.takes), case.arguments(subject.takes)
    subject(given)
    for name in given:
        hold(np.array_equal(given[name], before[name]), f"{name} was changed in place")


def locked(array: np.ndarray) -> np.ndarray:
    """Return a copy that cannot be written to."""
    array = array.copy()
    array.flags.writeable = False
    return array


FORMS = {
    "of read-only arrays": (locked, 0),
    "of arrays with gaps": (
        lambda array: np.asfortranarray(np.repeat(array, 2, axis=0))[::2],
        1e-12,
    ),
    "of lists": (lambda a: a.tolist(), 0),
    "of float32": (lambda a: a.astype(np.float32) if a.dtype.kind == "f" else a, 1e-12),
    "of right and wrong as int": (lambda a: a.astype(int) if a.dtype == bool else a, 0),
    "of right and wrong as float": (lambda a: a.astype(float) if a.dtype == bool else a, 0),
}
"""Other forms of the same arrays, and how far the result may move."""


@checks
def form_does_not_matter(subject, case):
    """Arrays that are read-only or have gaps, lists, numbers that single precision holds exactly,
    and 1 and 0 for right and wrong give the same.
    """
    given = case.arguments(subject.takes)
    for what, (change, rtol) in FORMS.items():
        changed = given | {name: change(given[name]) for name in subject.arrays()}
        close(subject(changed), subject(given), what, rtol)


@checks
def memory_grows_with_the_images(subject, case):
    """Four times the images take less than six times the memory: no pairs of images are made."""
    if case != checks.case:
        does_not_apply("memory is measured at one size alone")
    peaks = []
    for images in (1000, 4000):
        given = replace(case, images=images).arguments(subject.takes)
        subject.function(**given)  # what is imported or cached at the first call is no memory of it
        tracemalloc.start()
        try:
            subject.function(**given)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    hold(
        peaks[1] < 6 * peaks[0] + 2**16,
        f"the peak of 1,000 images is {peaks[0] / 1e3:.3g} kB, of 4,000 {peaks[1] / 1e3:.3g} kB",
    )


def first_becomes(value: float, kind: type = float) -> Callable[[np.ndarray], np.ndarray]:
    """Return what replaces the first number of an array, all of a kind."""

    def change(array):
        array = array.astype(kind)
        array.flat[0] = value
        return array

    return change


@checks
def infinity_ranks_or_is_refused(subject, case):
    """An infinite score counts as one above or below all others, or is refused; an infinite
    share or probability is refused.
    """
    for sign in (1, -1):
        infinite, large = first_becomes(sign * np.inf), first_becomes(sign * 1e6)
        for name in subject.arrays(*RANKING, *BOUNDED):
            given = case.arguments(subject.takes)
            spoilt, beyond = (given | {name: one(given[name])} for one in (infinite, large))
            if refused(lambda spoilt=spoilt: subject(spoilt)) is not None:
                continue
            hold(subject.takes[name] in RANKING, f"{name} with {sign * np.inf} is taken")
            found, expected = subject(spoilt), subject(beyond)
            hold(not np.isnan(found).any(), f"of {name} with {sign * np.inf} it is NaN")
            if np.isfinite(found).all():  # and not that score itself, as a threshold
                close(found, expected, f"of {name} with {sign * np.inf}")


def bad_inputs(subject, case) -> dict[str, tuple[list[str], Callable]]:
    """Return what must be refused, in words: which arguments, and how each is changed."""
    same_images = subject.arrays(*(kind for kind in KINDS if kind not in ("group", "number")))
    classes = subject.arrays("labels", "open labels", "answers")
    return {
        "with NaN": (subject.arrays(*RANKING, *BOUNDED, "correct"), first_becomes(np.nan)),
        "without images": (subject.arrays(), lambda array: array[:0]),
        "of another number of dimensions": (subject.arrays(), lambda array: array[None]),
        "of one image more": (
            same_images if len(same_images) > 1 else [],
            lambda array: np.concatenate([array, array[:1]]),
        ),
        "above 1": (subject.arrays(*BOUNDED), first_becomes(1.5)),
        "below 0": (subject.arrays(*BOUNDED), first_becomes(-0.5)),
        "that do not sum to 1": (subject.arrays("probabilities"), lambda array: array / 2),
        "neither right nor wrong": (subject.arrays("correct"), first_becomes(0.5)),
        "of truth 2": (subject.arrays("correct"), first_becomes(2)),
        "of class −2": (classes, first_becomes(-2, int)),
        "of a class that is not there": (classes, first_becomes(case.classes, int)),
    }


@checks
def bad_input_is_refused(subject, case):
    """NaN, no image at all, arrays of other lengths or dimensions, numbers outside [0, 1],
    probabilities that do not sum to 1 and classes that are not there are refused by name.
    """
    for what, (names, change) in bad_inputs(subject, case).items():
        for name in names:
            given = case.arguments(subject.takes)
            given[name] = change(given[name])
            named = names if what == "of one image more" else [name]
            refusal(functools.partial(subject.function, **given), f"{name} {what}", *named)


@checks
def one_image_is_a_number(subject, case):
    """One image, of each group, is enough for a number."""
    for quality in QUALITIES:
        found = subject(replace(case, images=1).arguments(subject.takes, quality))
        hold(not np.isnan(found).any(), f"of one image ({quality} answers) it is NaN")


@checks
def one_class_is_a_number(subject, case):
    """All images of one class; all right, or all wrong: there is a number all the same."""
    for name in subject.arrays("labels", "open labels", "answers", "correct"):
        for value in (0, 1) if subject.takes[name] == "correct" or case.classes > 1 else (0,):
            given = case.arguments(subject.takes)
            given[name] = np.full_like(given[name], value)
            found = subject(given)
            hold(not np.isnan(found).any(), f"where {name} is {value} throughout it is NaN")
