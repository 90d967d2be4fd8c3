"""The papers' claims as checks over the results table.

A claim is a small function of `Effect`: each compares a `Number` with a margin.  A `Judged` is an
effect with its size, interval and verdict (`synthesis.judging`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from helpers.checks import known_name
from synthesis.reasons import Cell, Kind, Note, Reason, in_words

#: `data_set` and `backbone` of an effect that is the mean over all of them.
ALL = "all"

#: Least correlation that is called strong, in every chapter: a line explains 64 % of the variance.
STRONG = 0.8
_HOLDS = {"<": operator.lt, ">": operator.gt, ">=": operator.ge}
CELL = ["data_set", "backbone"]
#: Replicates of the numbers that claims and the front page compute.
REPLICATES = 1000
#: The sources of variation of a claim.
SUBJECTS = ("training", "models", "families", "runs")
_NAN = float("nan")


def on_data_set(name: str) -> Callable[[str], bool]:
    """Return whether a data set has this name, in our spelling or in a paper's.

    >>> [on_data_set("cifar10")(name) for name in ("CIFAR-10", "cifar10_mini", "cifar100")]
    [True, True, False]
    """

    def is_this(data_set: str) -> bool:
        letters = re.sub("[^a-z0-9]", "", data_set.lower())
        return letters.removesuffix("mini") == name

    return is_this


class Verdict(StrEnum):
    """Result of testing a claim on numbers."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_TESTABLE = "not testable"
    NO_DATA = "no data"


#: The verdicts that settle a claim.
SETTLED = (Verdict.SUPPORTED, Verdict.CONTRADICTED)


class Key(NamedTuple):
    """The columns that identify a number of the results table within a cell and run."""

    method: str
    calibration: str
    metric: str
    test_set: str


@dataclass(frozen=True)
class Number:
    """A number of the results table, or a function of several: see `number` and `combine`.

    `compute` maps the arrays of the keys, each [1 + replicates], to one such array.  The array of a
    number without replicates has length 1.
    """

    keys: tuple[Key, ...]
    compute: Callable[..., np.ndarray]

    def __sub__(self, other: Number) -> Number:
        if not isinstance(other, Number):
            return NotImplemented
        return combine(operator.sub, self, other)


def number(metric: str, method: str, test_set: str = "test", calibration: str = "") -> Number:
    """Return a number, by the columns of its row of the results table."""
    return Number((Key(method, calibration, metric, test_set),), np.asarray)


def combine(function: Callable[..., np.ndarray], *numbers: Number) -> Number:
    """Return a function of numbers, computed within each run and each replicate.

    >>> share = combine(lambda a, b: 1 - a / b, number("ece", "after"), number("ece", "before"))
    >>> share.compute(np.array([1.0, 3.0]), np.array([4.0]))
    array([0.75, 0.25])
    """

    def compute(*arrays: np.ndarray) -> np.ndarray:
        rest = iter(arrays)
        return function(*(each.compute(*islice(rest, len(each.keys))) for each in numbers))

    return Number(tuple(chain.from_iterable(each.keys for each in numbers)), compute)


class Wording(NamedTuple):
    """The sentences of an effect above and below zero, with ``{size}`` for its size and unit."""

    above: str
    below: str
    unit: str = ""
    factor: float = 1
    digits: int = 3


#: Unit, factor and digits of a share.
POINTS = (" points", 100, 1)
#: Metrics whose numbers are no shares.
_NO_SHARES = re.compile("correlation|least_of|mixed|nll|skill")


@dataclass(frozen=True)
class Effect:
    """A number and its `relation` (<, > or >=) to a margin.

    Intervals stay within the `limits`, which are the range of the number.
    """

    name: str
    number: Number
    relation: str
    margin: float
    wording: Wording | None = None
    limits: tuple[float, float] = (-np.inf, np.inf)

    def __post_init__(self) -> None:
        known_name("relation", self.relation, _HOLDS)
        for text in self.words[:2]:
            if "{size}" not in text:
                raise ValueError(f"wording: a sentence with {{size}} expected, got {text!r}")

    def verdict(self, low: float, high: float) -> Verdict:
        """Return the verdict for an interval: the side of the margin with the whole interval.

        >>> effect = Effect("accuracy gained", number("accuracy", "a"), ">", 0.0)
        >>> [str(effect.verdict(*ends)) for ends in ((0.1, 0.2), (-0.1, 0.2), (-0.1, 0.0))]
        ['supported', 'undecided', 'contradicted']
        """
        if np.isnan([low, high]).any():
            raise ValueError(f"effect {self.name!r}: an interval expected, got [{low}, {high}]")
        holds = {bool(_HOLDS[self.relation](end, self.margin)) for end in (low, high)}
        if len(holds) == 2:
            return Verdict.UNDECIDED
        return Verdict.SUPPORTED if holds.pop() else Verdict.CONTRADICTED

    @property
    def words(self) -> Wording:
        """The wording, or "NAME is SIZE"; shares are in points."""
        if self.wording:
            return self.wording
        name = re.sub(", from (above|below)$", "", self.name)
        unit = () if any(_NO_SHARES.search(key.metric) for key in self.number.keys) else POINTS
        return Wording(f"{name} is {{size}}", f"{name} is −{{size}}", *unit)


@dataclass(frozen=True)
class Claim:
    """A testable sentence of a paper: `text`, its `source`, and the `check` in one line.

    `scope` is true for the data sets of the claim; `needs` are required in a table if the effects
    are derived.  `about` is the source of variation: "training", "models", "families" or
    "runs".  A claim that one example proves ("depends on") is `existential`.  `names` are test sets
    without stand-ins; `departure` describes how our method differs from the paper's.  `stands_for`
    describes the images that stand for the paper's.  `fine_tuned` states that the authors of the
    method fine-tune as well.
    """

    id: str
    text: str
    source: str
    check: str
    effects: tuple[Effect, ...]
    scope: Callable[[str], bool] | None = None
    needs: str = ""
    about: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    existential: bool = False
    departure: str = ""
    stands_for: str = ""
    fine_tuned: bool = False

    def __post_init__(self) -> None:
        for word in self.about:
            known_name("about", word, SUBJECTS)
        names = [effect.name for effect in self.effects]
        if not names or len({*names}) < len(names):
            raise ValueError(
                f"claim {self.id}: effects with different names expected, got {names or 'none'}"
            )


@dataclass(frozen=True)
class Reading:
    """The size of an effect by second numbers, which have a `name`, and its interval, if any."""

    name: str
    size: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Judged:
    """An effect of a claim in one cell, or its mean over all: size, interval, verdict, reasons."""

    claim: Claim
    effect: Effect
    cell: Cell
    size: float = _NAN
    low: float = _NAN
    high: float = _NAN
    verdict: Verdict = Verdict.NO_DATA
    runs: int = 0
    #: Whether the interval contains the variation between runs.
    varied: bool = False
    #: How much longer the interval is, since the cell was chosen among several.
    stretch: float = 1
    reasons: tuple[Reason, ...] = ()
    #: The cells behind a mean or an example, and the networks behind the numbers.
    cells: tuple[Cell, ...] = ()
    networks: tuple[str, ...] = ()
    #: The effect by second numbers.
    second: tuple[Reading, ...] = ()
    #: Draws of the effect, if anything was resampled.
    draws: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> tuple[str, str, Cell]:
        """The names of the claim, the effect and the cell."""
        return self.claim.id, self.effect.name, self.cell

    @property
    def note(self) -> Note:
        """The reasons, to print them."""
        return Note(self.reasons)

    def left_undecided(self, *reasons: Reason) -> Judged:
        """Return this effect undecided for these reasons, if there are any and it is settled."""
        if not reasons or self.verdict not in SETTLED:
            return self
        return replace(self, verdict=Verdict.UNDECIDED, reasons=self.reasons + reasons)


def as_table(judged: Iterable[Judged]) -> pd.DataFrame:
    """Return judged effects as a table for notebooks and figures, one row each."""
    taken = "low high verdict runs note second cells networks".split()
    rows = []
    for each in judged:
        row: dict[str, Any] = {
            "claim": each.claim.id,
            "check": each.effect.name,
            "effect": each.size,
            "relation": each.effect.relation,
            "margin": each.effect.margin,
            "untestable": in_words(each.note.of(Kind.UNTESTABLE)),
        }
        row |= zip(CELL, each.cell, strict=True)
        rows.append(row | {name: getattr(each, name) for name in taken})
    return pd.DataFrame(rows)


def refuse_duplicates(table: pd.DataFrame, levels: list[str]) -> None:
    """Raise a ValueError for the first duplicate row, where `levels` identify rows."""
    twice = table.loc[table.duplicated(levels), levels]
    if len(twice):
        names = ", ".join(f"{name} {value}" for name, value in twice.iloc[0].items() if value != "")
        raise ValueError(
            f"table: one row for each number expected, but it has two rows for {names}"
        )
