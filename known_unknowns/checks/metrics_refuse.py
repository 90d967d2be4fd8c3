"""What every metric must refuse, by the argument's name, and what it must not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from helpers.metrics.records import KINDS
from known_unknowns.checks.inputs import QUALITIES
from known_unknowns.checks.metrics import BOUNDED, RANKING, checks, close
from known_unknowns.checks.running import does_not_apply, hold, refusal, refused


def each_refused(subject, case, names, change: Callable, what: str, named=()) -> None:
    """Fail unless an argument that is spoilt is refused by name, or by one of the names `named`."""
    if not names:
        does_not_apply("it takes nothing that could be like that")
    for name in names:
        given = case.arguments(subject.takes)
        given[name] = change(given[name])
        call = functools.partial(subject.function, **given)
        refusal(call, f"{name} {what}", *(named or [name]))


def first_becomes(value: float, kind: type = float) -> Callable[[np.ndarray], np.ndarray]:
    """Return what replaces the first number of an array, all of a kind."""

    def change(array):
        array = array.astype(kind)
        array.flat[0] = value
        return array

    return change


@checks
def nan_is_refused(subject, case):
    """NaN is refused, in every argument that can hold it, and by the argument's name."""
    names = subject.arrays(*RANKING, *BOUNDED, "correct")
    each_refused(subject, case, names, first_becomes(np.nan), "with NaN")


@checks
def infinity_ranks_or_is_refused(subject, case):
    """An infinite score counts as one above or below all others, or is refused; an infinite
    share or probability is refused."""
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


@checks
def empty_is_refused(subject, case):
    """No image at all is refused, by the argument's name."""
    each_refused(subject, case, subject.arrays(), lambda array: array[:0], "without images")


@checks
def other_lengths_are_refused(subject, case):
    """Arrays of the same images that differ in length are refused, by an argument's name."""
    kinds = [kind for kind in KINDS if kind not in ("group", "number")]
    names = subject.arrays(*kinds)
    names = names if len(names) > 1 else []

    def longer(array):
        return np.concatenate([array, array[:1]])

    each_refused(subject, case, names, longer, "of one image more", names)


@checks
def other_shapes_are_refused(subject, case):
    """An array of another number of dimensions is refused, by the argument's name."""
    each_refused(subject, case, subject.arrays(), lambda array: array[None], "of shape [1, …]")


@checks
def out_of_range_is_refused(subject, case):
    """Numbers outside [0, 1], probabilities that do not sum to 1, classes that there are not,
    right and wrong other than 1 and 0 are refused, by the argument's name."""
    spoil = {kind: [first_becomes(1.5), first_becomes(-0.5)] for kind in BOUNDED}
    spoil["probabilities"].append(lambda array: array / 2)
    spoil["correct"] = [first_becomes(0.5), first_becomes(2)]
    for kind in ("labels", "open labels", "answers"):
        spoil[kind] = [first_becomes(-2, int), first_becomes(case.classes, int)]
    for name in subject.must_take(*spoil):
        for change in spoil[subject.takes[name]]:
            each_refused(subject, case, [name], change, "out of range")


@checks
def one_image_is_a_number(subject, case):
    """One image, of each group, is enough for a number."""
    for quality in QUALITIES:
        found = subject(replace(case, images=1).arguments(subject.takes, quality))
        hold(not np.isnan(found).any(), f"of one image ({quality} answers) it is NaN")


@checks
def one_class_is_a_number(subject, case):
    """All images of one class; all right, or all wrong: there is a number all the same."""
    for name in subject.must_take("labels", "open labels", "answers", "correct"):
        for value in (0, 1) if subject.takes[name] == "correct" or case.classes > 1 else (0,):
            given = case.arguments(subject.takes)
            given[name] = np.full_like(given[name], value)
            found = subject(given)
            hold(not np.isnan(found).any(), f"where {name} is {value} throughout it is NaN")
