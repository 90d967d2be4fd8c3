"""Run checks on made-up data and, after a failure, on smaller data."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from unittest import SkipTest

import numpy as np

from helpers.checks import known_name

ROOT = Path(__file__).resolve().parents[2]


class Checks(dict):
    """Checks by name, in the order of a run; each is a function with a docstring.

    A check takes a trial: `subject.at(case)`, an object on made-up data.
    """

    def __init__(self, kind: str, case, ladder: Mapping[str, tuple]):
        self.kind = kind
        self.case = case
        self.ladder = ladder

    def __call__(self, function: Callable) -> Callable:
        """Add a check, under the function's name (a decorator)."""
        self[function.__name__] = function
        return function

    def run(self, name: str, subject, case=None) -> None:
        """Run one check."""
        check = self[known_name("check", name, self)]
        least = case or self.case
        failure = _fail(check, subject, least)
        if failure is None:
            return
        if case is None:
            steps = list(self.ladder.items())
            for field, values in steps + steps:
                least, failure = self._smaller(check, subject, least, failure, field, values)
        raise AssertionError(
            f"check '{name}' of {self.kind} '{subject.name}' failed: {failure[1]}\n"
            f"What must hold: {' '.join((inspect.getdoc(check) or '').split())}\n"
            f"Smallest case: {least.in_words()}. To see it again:\n"
            f"    from known_unknowns.checks import {type(least).__name__}, check_{self.kind}\n"
            f"    check_{self.kind}({subject.given}, only='{name}', case={least})"
        )

    @staticmethod
    def _smaller(check, subject, case, failure, field: str, values: Iterable[int]) -> tuple:
        """Return the smallest case that fails for the same reason, and its failure."""
        for value in values:
            if value >= getattr(case, field):
                break
            smaller = replace(case, **{field: value})
            with suppress(SkipTest):
                again = _fail(check, subject, smaller)
                if again and again[0] == failure[0]:
                    return smaller, again
        return case, failure

    def run_all(self, subject, only: str | None = None, case=None) -> dict[str, str]:
        """Run all checks, or one check, and return the result of each in words."""
        results = {}
        failed = []
        for name in self if only is None else [only]:
            try:
                self.run(name, subject, case)
                results[name] = "holds"
            except SkipTest as reason:
                results[name] = f"does not apply: {reason}"
            except AssertionError as error:
                failed.append(str(error))
        if failed:
            raise AssertionError("\n\n".join(failed))
        return results


class Broken(AssertionError):
    """The message of a failed check."""


def hold(condition, message: str) -> None:
    """Fail with a message unless something is true."""
    if not condition:
        raise Broken(message)


def does_not_apply(reason: str) -> None:
    """End a check that does not apply, with the reason; pytest shows it as skipped."""
    raise SkipTest(reason)


def _fail(check: Callable, subject, case) -> tuple | None:
    """Return the kind of a failure, and its message; None if the check holds."""
    try:
        check(subject.at(case))
    except SkipTest:
        raise
    except Broken as error:
        return "broken", str(error)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        # paths without the folders of this machine
        file = frame.filename.rpartition("/site-packages/")[2].removeprefix(f"{ROOT}/")
        kind = f"{type(error).__name__}: {error}, in line {frame.lineno} of {file}"
        return (type(error), frame.filename, frame.lineno), f"it raised {kind}"
    return None


def refusal(call: Callable, what: str, *words: str) -> None:
    """Fail unless a call raises a `ValueError` whose message contains one of some words."""
    message = refused(call)
    if message is None:
        result = call()
        plain = isinstance(result, int | float | np.ndarray)
        shown = repr(result) if plain else type(result).__name__
        raise Broken(f"{what} is taken, and gives {shown}; a ValueError was expected")
    named = not words or any(word in message for word in words)
    hold(named, f"{what} is refused without naming {' or '.join(words)}: {message!r}")


def refused(call: Callable) -> str | None:
    """Return the message of a deliberate `ValueError`; None if a call is not refused."""
    try:
        call()
    except np.linalg.LinAlgError:  # a subclass of ValueError, but its message does not help a user
        raise
    except ValueError as error:
        return str(error)
    return None


def same(scores: np.ndarray, expected: np.ndarray, where: str, rtol: float = 0) -> None:
    """Fail unless scores are equal, to the last bit by default; name an image that differs."""
    hold(scores.shape == expected.shape, f"{where}: shape {scores.shape}, not {expected.shape}")
    other = ~np.isclose(scores, expected, rtol=rtol, atol=rtol, equal_nan=True)
    for i in np.flatnonzero(other):
        raise Broken(f"{where}: image {i} scores {scores[i]:.17g}, not {expected[i]:.17g}")


def numbers(scores: np.ndarray, count: int, where: str) -> None:
    """Fail unless there is a finite number in float64 for each image."""
    got = f"{where}: {type(scores).__name__}"
    hold(isinstance(scores, np.ndarray), f"{got}, not an array")
    hold(scores.dtype == np.float64, f"{got} of {scores.dtype}, not of float64")
    hold(scores.shape == (count,), f"{got} of shape {scores.shape}, not ({count},)")
    for i in np.flatnonzero(~np.isfinite(scores)):
        raise Broken(f"{where}: image {i} scores {scores[i]}")


def numbers_or_refusal(call: Callable, count: int, where: str) -> None:
    """Fail unless a call returns numbers, or is refused with a message."""
    message = refused(call)
    if message is None:
        numbers(call(), count, where)
    else:
        hold(len(message) > 10, f"{where}: refused without a word: {message!r}")
