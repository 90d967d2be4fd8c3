"""The contract of every metric: one function and one sentence for each invariant."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import astuple, is_dataclass, replace
from functools import partial

import numpy as np

from helpers import metrics
from helpers.checks import known_name
from helpers.metrics.records import KINDS, read
from known_unknowns.checks.cases import QUALITIES, MetricCase
from known_unknowns.checks.running import Checks, does_not_apply, hold, refusal, refused

RANKING = ("group", "scores")
BOUNDED = ("shares", "probabilities", "rows", "unknown")
CLASSES = ("labels", "open labels", "answers")
SIZES = (1, 2, 3, 4, 5, 8, 20, 50)

#: The checks by name.
checks = Checks("metric", MetricCase(), {"images": SIZES, "classes": SIZES})


class Subject:
    """A metric to check, with its record; `at` adds the arguments of a case."""

    case: MetricCase

    def __init__(self, function, takes=None, better=None, range=None):
        if not callable(function):
            raise TypeError(f"function: a function expected, got {function!r}")
        whole = function
        options = ()
        if isinstance(function, partial):
            whole = function.func
            options = function.keywords.values()
        self.function = function
        self.name = "-".join([getattr(whole, "__name__", type(whole).__name__), *map(str, options)])
        record = {record.name: record for record in read()}.get(self.name.split("-")[0])
        if record and getattr(metrics, record.name) is not whole:
            record = None
        if record:
            takes = record.takes if takes is None else takes
            better = record.better if better is None else better
            range = record.range if range is None else range
        if not takes:
            raise ValueError(
                f"takes: the arguments of '{self.name}' expected, each with its kind, such as "
                '{"confidence": "scores", "correct": "correct"}'
            )
        self.takes = dict(takes)
        for kind in self.takes.values():
            known_name("kind of argument", kind, KINDS)
        self.better = better
        self.range = range or ""
        self.given = f"function, takes={self.takes!r}"
        if better:
            self.given += f", better={better!r}"
        if range:
            self.given += f", range={range!r}"

    def at(self, case: MetricCase) -> Subject:
        """Return the metric with the arguments of a case: a trial."""
        trial = copy.copy(self)
        trial.case = case
        return trial

    def arguments(self, quality: str = "usual", **changed) -> dict:
        """Return new arguments; some of them are changed by functions."""
        given = self.case.arguments(self.takes, quality)
        return given | {name: change(given[name]) for name, change in changed.items()}

    def parts(self, given: Mapping) -> list:
        """Return the numbers and arrays that the metric returns."""
        result = self.function(**given)
        if is_dataclass(result) and not isinstance(result, type):
            result = astuple(result)
        return list(result) if isinstance(result, tuple | list) else [result]

    def value(self, given: Mapping | None = None) -> np.ndarray:
        """Return the complete result as one row of numbers."""
        parts = self.parts(self.arguments() if given is None else given)
        return np.concatenate([np.ravel(part) for part in parts]).astype(float)

    def arrays(self, *kinds: str) -> list[str]:
        """Return the names of all array arguments, or of array arguments of some kinds."""
        chosen = set(kinds) or set(KINDS) - {"number"}
        return [name for name, kind in self.takes.items() if kind in chosen]

    def permuted(self, given: Mapping, orders: Callable[[int], np.ndarray]) -> dict:
        """Return arguments in another order: all images together, and each group separately.

        `orders` takes the number of images.
        """
        images = None
        changed = dict(given)
        for name in self.arrays():
            order = orders(len(given[name])) if images is None else images
            images = images if self.takes[name] == "group" else order
            changed[name] = given[name][order]
        return changed


def close(result, expected, what: str, rtol: float = 1e-12) -> None:
    """Fail unless two results are equal up to rounding."""
    shapes = result.shape == expected.shape
    equal = shapes and np.allclose(result, expected, rtol=rtol, atol=rtol, equal_nan=True)
    hold(equal, f"{what} it is {in_words(result)}, not {in_words(expected)}")


def in_words(values: np.ndarray) -> str:
    """Return a number, or the first numbers of several, as text."""
    shown = ", ".join(f"{value:.15g}" for value in values[:4])
    return f"{shown}, …" if len(values) > 4 else shown


@checks
def result_is_float64(trial):
    """The result is a float, or floats and arrays: of float64, or of whole numbers for counts,
    and not NaN.
    """
    for part in trial.parts(trial.arguments()):
        kind = np.asarray(part).dtype
        hold(kind == np.float64 or kind.kind in "iu", f"the result is {part!r}, of {kind}")
        hold(not np.isnan(part).any(), "the result is NaN")


@checks
def result_is_in_range(trial):
    """The result is in the range of the record, for good and for bad answers."""
    edges = trial.range.strip("[]() ").replace("∞", "inf").split(",")
    if len(edges) != 2:
        does_not_apply("its range is not known, or that of its arguments")
    low, high = map(float, edges)
    for quality in QUALITIES:
        for part in trial.parts(trial.arguments(quality)):
            if np.asarray(part).dtype.kind == "f":  # not a count
                least = np.min(part)
                most = np.max(part)
                hold(
                    low - 1e-12 <= least and most <= high + 1e-12,
                    f"of {quality} answers it is {least:.6g} to {most:.6g}, not in {trial.range}",
                )


@checks
def better_is_better(trial):
    """Answers that are always correct are at least as good as mostly correct ones, and these as
    always incorrect ones. Always correct is better than always incorrect.
    """
    if not trial.better:
        does_not_apply("neither higher nor lower is better, or it is not known")
    sign = 1 if trial.better == "higher" else -1
    qualities = ("perfect", "usual", "reversed")
    best, usual, worst = (sign * trial.value(trial.arguments(quality))[0] for quality in qualities)
    hold(
        best >= usual >= worst < best,
        f"{trial.better} is better, but it is {sign * best:.6g} of perfect answers, "
        f"{sign * usual:.6g} of usual ones and {sign * worst:.6g} of reversed ones",
    )


@checks
def order_does_not_matter(trial):
    """The result does not depend on the order of the images, also with ties."""
    given = trial.arguments()
    for seed in range(5):
        permuted = trial.permuted(given, np.random.default_rng(seed).permutation)
        close(trial.value(permuted), trial.value(given), "of images in another order")


@checks
def ties_are_not_broken(trial):
    """If all images have equal scores, their order does not matter, and a metric does not separate
    known from unknown images.
    """
    names = trial.arrays(*RANKING)
    if not names or "number" in trial.takes.values():
        does_not_apply("it takes no scores, or a threshold with them")
    given = trial.arguments("constant")
    expected = trial.value(given)
    for name in trial.arrays("correct"):
        for order in (np.argsort(given[name]), np.argsort(~given[name])):
            permuted = trial.permuted(given, lambda n, order=order: order)
            close(
                trial.value(permuted), expected, "of images that score the same, in another order,"
            )
    if trial.better and len(names) == 2:
        differs = (trial.value(trial.arguments("perfect")) != expected).any()
        hold(differs, f"of equal scores it is {in_words(expected)}, as of perfect ones")


@checks
def calls_are_apart(trial):
    """The same arguments give an equal result a second time, after any calls in between."""
    expected = trial.value()
    trial.value(trial.arguments("reversed"))
    close(trial.value(), expected, "asked again", rtol=0)


@checks
def given_arrays_are_left_alone(trial):
    """The given arrays do not change."""
    given = trial.arguments()
    before = trial.arguments()
    trial.value(given)
    for name in given:
        hold(np.array_equal(given[name], before[name]), f"{name} was changed in place")


def locked(array: np.ndarray) -> np.ndarray:
    """Return a copy that cannot be written to."""
    array = array.copy()
    array.flags.writeable = False
    return array


#: Other forms of the same arrays, and the largest change of the result.
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


@checks
def form_does_not_matter(trial):
    """The result is equal for arrays that are read-only or have gaps, for lists, for numbers
    that are exact in single precision, and for 1 and 0 instead of True and False.
    """
    for what, (change, rtol) in FORMS.items():
        changed = trial.arguments(**dict.fromkeys(trial.arrays(), change))
        close(trial.value(changed), trial.value(), what, rtol)


def first_becomes(value: float, kind: type = float) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that replaces the first number of an array, all of a kind."""

    def change(array):
        array = array.astype(kind)
        array.flat[0] = value
        return array

    return change


@checks
def infinity_ranks_or_is_refused(trial):
    """An infinite score is ranked above or below all other scores, or refused; an infinite
    share or probability is refused.
    """
    for sign in (1, -1):
        for name in trial.arrays(*RANKING, *BOUNDED):
            spoilt = trial.arguments(**{name: first_becomes(sign * np.inf)})
            if refused(partial(trial.value, spoilt)) is not None:
                continue
            hold(trial.takes[name] in RANKING, f"{name} with {sign * np.inf} is taken")
            result = trial.value(spoilt)
            hold(not np.isnan(result).any(), f"of {name} with {sign * np.inf} it is NaN")
            if np.isfinite(result).all():  # unless the infinite score itself is a threshold
                expected = trial.value(trial.arguments(**{name: first_becomes(sign * 1e6)}))
                close(result, expected, f"of {name} with {sign * np.inf}")


def bad_inputs(trial) -> dict[str, tuple[list[str], Callable]]:
    """Return the inputs to refuse by description: which arguments, and how each is changed."""
    arrays = trial.arrays
    images = [name for name in arrays() if trial.takes[name] != "group"]
    return {
        "with NaN": (arrays(*RANKING, *BOUNDED, "correct"), first_becomes(np.nan)),
        "without images": (arrays(), lambda array: array[:0]),
        "of another number of dimensions": (arrays(), lambda array: array[None]),
        "of one image more": (
            images if len(images) > 1 else [], lambda array: np.concatenate([array, array[:1]]),
        ),
        "above 1": (arrays(*BOUNDED), first_becomes(1.5)),
        "below 0": (arrays(*BOUNDED), first_becomes(-0.5)),
        "that do not sum to 1": (arrays("probabilities"), lambda array: array / 2),
        "neither right nor wrong": (arrays("correct"), first_becomes(0.5)),
        "of truth 2": (arrays("correct"), first_becomes(2)),
        "of class −2": (arrays(*CLASSES), first_becomes(-2, int)),
        "of a class that is not there": (arrays(*CLASSES), first_becomes(trial.case.classes, int)),
    }  # fmt: skip


@checks
def bad_input_is_refused(trial):
    """NaN, zero images, arrays of other lengths or dimensions, numbers outside [0, 1],
    probabilities that do not sum to 1 and classes that do not exist are refused by name.
    """
    for what, (names, change) in bad_inputs(trial).items():
        for name in names:
            named = names if what == "of one image more" else [name]
            call = partial(trial.function, **trial.arguments(**{name: change}))
            refusal(call, f"{name} {what}", *named)


@checks
def little_input_is_a_number(trial):
    """One image (of each group) is enough for a number; images of one class are enough, too, if
    all are correct or all are incorrect.
    """
    few = trial.at(replace(trial.case, images=1))
    cases = {f"one image ({quality} answers)": few.arguments(quality) for quality in QUALITIES}
    for name in trial.arrays(*CLASSES, "correct"):
        for value in (0, 1) if trial.takes[name] == "correct" or trial.case.classes > 1 else (0,):
            flat = trial.arguments(**{name: lambda array, value=value: np.full_like(array, value)})
            cases[f"images where {name} is {value} throughout"] = flat
    for what, given in cases.items():
        hold(not np.isnan(trial.value(given)).any(), f"of {what} it is NaN")
