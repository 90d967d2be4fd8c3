"""Run checks on made-up data and, after a failure, on smaller data."""

from __future__ import annotations

import inspect
import traceback
import unittest
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from helpers.checks import known_name

ROOT = Path(__file__).resolve().parents[2]


class Checks(dict):
    """Checks by name, in the order in which they are run; each is a function of its docstring."""

    def __init__(self, kind: str, case, ladder: Mapping[str, tuple]):
        self.kind, self.case, self.ladder = kind, case, ladder

    def __call__(self, function: Callable) -> Callable:
        """Add a check, under the function's name (a decorator)."""
        self[function.__name__] = function
        return function

    def run(self, name: str, subject, case=None) -> None:
        """Run one check."""
        check = self[known_name("check", name, self)]
        found = failure(check, subject, case or self.case)
        if found is None:
            return
        least = case or self.case
        for field, values in () if case else [*self.ladder.items()] * 2:
            for value in values:
                smaller = replace(least, **{field: value})
                if value >= getattr(least, field):
                    break
                try:
                    one = failure(check, subject, smaller)
                except unittest.SkipTest:
                    continue
                if one and one[0] == found[0]:  # and not for another reason
                    found, least = one, smaller
                    break
        raise AssertionError(
            f"check '{name}' of {self.kind} '{subject.name}' failed: {found[1]}\n"
            f"What must hold: {' '.join(inspect.getdoc(check).split())}\n"
            f"Smallest case: {least.in_words()}. To see it again:\n"
            f"    from known_unknowns.checks import {type(least).__name__}, check_{self.kind}\n"
            f"    check_{self.kind}({subject.given}, only='{name}', case={least})"
        )

    def run_all(self, subject, only: str | None = None, case=None) -> dict[str, str]:
        """Run all checks, or one of them, and return what came of each, in words."""
        found, failed = {}, []
        for name in self if only is None else [only]:
            try:
                self.run(name, subject, case)
                found[name] = "holds"
            except unittest.SkipTest as reason:
                found[name] = f"does not apply: {reason}"
            except AssertionError as error:
                failed.append(str(error))
        if failed:
            raise AssertionError("\n\n".join(failed))
        return found


class Broken(AssertionError):
    """The message of a failed check."""


def hold(condition, message: str) -> None:
    """Fail with a message unless something is true."""
    if not condition:
        raise Broken(message)


def does_not_apply(reason: str) -> None:
    """Leave a check with the reason why there is nothing to check; pytest shows it as skipped."""
    raise unittest.SkipTest(reason)


def failure(check: Callable, subject, case) -> tuple | None:
    """Return what kind of failure there is, and what it says; None where the check holds."""
    try:
        check(subject, case)
    except unittest.SkipTest:
        raise
    except Broken as error:
        return "broken", str(error)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        # without the folders of this machine
        file = place.filename.rpartition("/site-packages/")[2].removeprefix(f"{ROOT}/")
        kind = f"{type(error).__name__}: {error}, in line {place.lineno} of {file}"
        return (type(error), place.filename, place.lineno), f"it raised {kind}"
    return None


def refusal(call: Callable, what: str, *words: str) -> None:
    """Fail unless a call is refused, by a `ValueError` that says any of some words."""
    message = refused(call)
    if message is None:
        found = call()
        shown = repr(found) if isinstance(found, int | float | np.ndarray) else type(found).__name__
        raise Broken(f"{what} is taken, and gives {shown}; a ValueError was expected")
    named = not words or any(word in message for word in words)
    hold(named, f"{what} is refused without naming {' or '.join(words)}: {message!r}")


def refused(call: Callable) -> str | None:
    """Return how a call is refused, by a `ValueError` that was meant; None where it is not."""
    try:
        call()
    except np.linalg.LinAlgError:  # a ValueError to NumPy, which says nothing to a user
        raise
    except ValueError as error:
        return str(error)
    return None


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


def numbers_or_refusal(call: Callable, count: int, where: str) -> None:
    """Fail unless a call gives numbers, or is refused in words."""
    message = refused(call)
    if message is None:
        numbers(call(), count, where)
    else:
        hold(len(message) > 10, f"{where}: refused without a word: {message!r}")
