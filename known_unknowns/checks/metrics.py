"""What every metric must keep to: one function an invariant, with a sentence that says it."""

from __future__ import annotations

import functools
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import astuple, is_dataclass, replace

import numpy as np

from helpers import metrics
from helpers.checks import known_name
from helpers.metrics.records import KINDS
from known_unknowns.checks.inputs import QUALITIES, MetricCase
from known_unknowns.checks.running import Checks, does_not_apply, hold

SIZES = (1, 2, 3, 4, 5, 8, 20, 50)
# Each takes a `Subject` and a case; those of metrics_refuse.py come after these.
checks = Checks("metric", MetricCase(), {"images": SIZES, "classes": SIZES})

RANKING = ("group", "scores")
BOUNDED = ("shares", "probabilities", "rows", "unknown")


class Subject:
    """A metric to be checked, and what is known of it.

    Parameters
    ----------
    function : callable
        A recorded metric, or one of somebody else's.
    takes : mapping of str to str, optional
        The arguments to call it with, each by its kind, out of `helpers.metrics.records.KINDS`.
    better, range : str, optional
        As in a record; what is not known is not checked.

    Raises
    ------
    TypeError
        It cannot be called.
    ValueError
        A kind that there is not, or none for a function without a record.
    """

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

    def must_take(self, *kinds: str) -> list[str]:
        """Return the names of the arrays of some kinds; leave the check where there are none."""
        return self.arrays(*kinds) or does_not_apply(f"it takes no {' or '.join(kinds)}")

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


def rearranged(subject, case, change: Callable[[np.ndarray], object], what: str, rtol=1e-12):
    """Fail unless arrays that are given in another form give the same."""
    given = case.arguments(subject.takes)
    changed = dict(given)
    for name in subject.arrays():
        changed[name] = change(given[name])
    close(subject(changed), subject(given), what, rtol)


@checks
def result_is_float64(subject, case):
    """The result is a float, or floats and arrays: of float64, or of whole numbers that count,
    and not NaN."""
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
    and always right is better than always wrong."""
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
    then not told from unknown ones."""
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


@checks
def read_only_arrays_do(subject, case):
    """Arrays that cannot be written to give the same."""

    def lock(array):
        array = array.copy()
        array.flags.writeable = False
        return array

    rearranged(subject, case, lock, "of read-only arrays", rtol=0)


@checks
def strided_arrays_do(subject, case):
    """Arrays that do not lie in one piece, and rows in Fortran's order, give the same."""

    def spread(array):
        wide = np.repeat(array, 2, axis=0)
        return np.asfortranarray(wide)[::2]

    rearranged(subject, case, spread, "of arrays with gaps")


@checks
def lists_do(subject, case):
    """Lists give the same as arrays."""
    rearranged(subject, case, lambda array: array.tolist(), "of lists", rtol=0)


@checks
def float32_is_float64(subject, case):
    """Numbers that single precision holds exactly give the same in it: sums are in float64."""

    def single(array):
        return array.astype(np.float32) if array.dtype.kind == "f" else array

    rearranged(subject, case, single, "of float32")


@checks
def zero_and_one_are_false_and_true(subject, case):
    """Right and wrong may be given as 1 and 0."""
    given = case.arguments(subject.takes)
    for name in subject.must_take("correct"):
        for kind in (int, float):
            found = subject(given | {name: given[name].astype(kind)})
            close(found, subject(given), f"of {name} as {kind.__name__}", rtol=0)


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
