"""The papers' claims as checks over the results table.

A claim is a small function of `Effect`: each compares a `Number` with a margin.  `evaluate` gives
every effect a 95 % interval, `summarise` turns the intervals into one verdict for each claim.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain, islice
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from helpers.checks import known_name
from synthesis import spread
from synthesis.reasons import Cell, Evidence, Kind, Note, Reason, in_words, remark
from synthesis.spread import WITHOUT_RUN, Spread, Trainings, Values

#: `data_set` and `backbone` of an effect that is the mean over all of them.
ALL = "all"

_DRAWS = 4000  # the ends of an interval then move by about one per cent of its width
#: Least correlation that is called strong, in every chapter: a line explains 64 % of the variance.
STRONG = 0.8
#: Share of an interval's width: no effect is decided if an end is nearer to the margin.
_NEAR = 0.1
_HOLDS = {"<": operator.lt, ">": operator.gt, ">=": operator.ge}
CELL = ["data_set", "backbone"]
#: The sources of variation of a claim.
SUBJECTS = ("training", "models", "families", "runs")
_KEY = ["method", "calibration", "metric", "test_set"]
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
# of several effects, the first verdict in this order is the verdict of their claim
_DECISIVE = ["contradicted", "no data", "not testable", "undecided", "supported"]
_OPPOSITE = {"supported": "contradicted", "contradicted": "supported"}


class Key(NamedTuple):
    """The columns that identify a number of the results table within a cell and run."""

    method: str
    calibration: str
    metric: str
    test_set: str


def _the_number(values: np.ndarray) -> np.ndarray:
    """Return the replicates of one number as they are."""
    return np.asarray(values)


@dataclass(frozen=True)
class Number:
    """A number of the results table, or a function of several: see `number` and `combine`.

    `compute` maps the arrays of the keys, each [1 + replicates], to one such array.  The array of a
    number without replicates has length 1.
    """

    keys: tuple[Key, ...]
    compute: Callable[..., np.ndarray] = _the_number

    def __sub__(self, other: Number) -> Number:
        if not isinstance(other, Number):
            return NotImplemented
        return combine(operator.sub, self, other)


def number(metric: str, method: str, test_set: str = "test", calibration: str = "") -> Number:
    """Return a number, by the columns of its row of the results table."""
    return Number((Key(method, calibration, metric, test_set),))


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


@dataclass(frozen=True)
class Effect:
    """A number and its `relation` (<, > or >=) to a margin.

    An effect that does not decide is shown and does not influence the verdict.  Intervals stay
    within the `limits`, which are the range of the number.
    """

    name: str
    number: Number
    relation: str
    margin: float
    decides: bool = True
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
        holds = {bool(_HOLDS[self.relation](end, self.margin)) for end in (low, high)}
        if len(holds) == 2:
            return Verdict.UNDECIDED
        return Verdict.SUPPORTED if holds.pop() else Verdict.CONTRADICTED

    @property
    def words(self) -> Wording:
        """The wording, or "NAME is SIZE"."""
        return self.wording or Wording(f"{self.name} is {{size}}", f"{self.name} is −{{size}}")


@dataclass(frozen=True)
class Claim:
    """A testable sentence of a paper: `text`, its `source`, and the `check` in one line.

    `scope` is true for the data sets of the claim; `needs` are required in a table if the effects
    are derived.  `about` is the source of variation: "training", "models", "families" or
    "runs".  A claim that one example proves ("depends on") is `existential`.  `names` are test sets
    without stand-ins; `departure` describes how our method differs from the paper's.  `stands_for`
    describes the images that stand for the paper's.  `fine_tuned` says that the authors of the
    method fine-tune as well.  `any_schedule` proves that a longer training changes nothing.
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
    any_schedule: str = ""

    def __post_init__(self) -> None:
        for word in self.about:
            known_name("about", word, SUBJECTS)
        names = [effect.name for effect in self.effects]
        if not names or len({*names}) < len(names):
            raise ValueError(
                f"claim {self.id}: effects with different names expected, got {names or 'none'}"
            )


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
    evidence: Evidence | None = None
    #: The effect by second numbers, in words.
    second: str | None = None
    #: Draws of the effect, if anything was resampled.
    draws: np.ndarray | None = field(default=None, repr=False, compare=False)

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
    """Return judged effects as a table for notebooks and figures, one row each.

    The columns ``evidence`` and ``second`` are there if an effect has them.
    """
    judged = list(judged)
    rows = []
    for each in judged:
        row: dict[str, Any] = {"claim": each.claim.id, "check": each.effect.name}
        row |= dict(zip(CELL, each.cell, strict=True))
        row |= {"effect": each.size, "runs": each.runs, "note": each.note}
        row |= {"doubt": in_words(each.note.of(Kind.DOUBT))}
        row |= {"untestable": in_words(each.note.of(Kind.UNTESTABLE))}
        row |= {"low": each.low, "high": each.high, "verdict": each.verdict}
        row |= {name: getattr(each.effect, name) for name in ("relation", "margin", "decides")}
        rows.append(row)
    table = pd.DataFrame(rows)
    for column in ("second", "evidence"):
        values = [getattr(each, column) for each in judged]
        if any(value is not None for value in values):
            table[column] = values
    return table


def evaluate(
    claims: Iterable[Claim],
    table: pd.DataFrame,
    *,
    intervals: bool = True,
    resampled: str = "images",
    trainings: Trainings | None = None,
) -> list[Judged]:
    """Compute the effects of claims, for each data set and backbone and for their mean.

    `table` has one tier and variant, and ``reasons`` as an optional column.  Without `intervals` we
    compare the effects themselves with their margins.  An interval comes from a hierarchical
    bootstrap: we draw runs with replacement, and each drawn run contributes one replicate of its
    numbers over `resampled` units, usually test images.

    * Replicates are paired: within a run, replicate ``b`` of all numbers uses the same resampled
      images, across test sets, too.  All runs and backbones use the same draws.
    * Replicates are centred on the number, since the calibration error of resampled images is too
      high on average.
    * The variance of n drawn runs is n / (n - 1) times too small and is scaled up by this factor.
      The interval of two or three runs is still uncertain.
    * Methods that are different `trainings` are compared by their means over runs, whose spread
      between runs is in `synthesis.spread`.
    * With one run we resample only images, and without replicates only runs; a remark states this.
    * A run in which the effect is not finite lacks it.
    * A number with a doubt leaves its effect undecided; so does a mean that contains it.
    * An interval that ends within a tenth of its width of the margin is undecided.
    * An untestable number has the verdict "not testable" and is left out of the mean.
    * If one data set and backbone contradicts the mean over all, the mean is undecided.
    * A claim about "models" also resamples the backbones of the mean, by Student's t.
    * An existential claim has no mean: the one cell decides that shows all of its effects most
      clearly, with an interval for the best of so many cells.  Other cells do not count.
    """
    cells = _cells(table)
    judged = []
    for claim in claims:
        measured = {
            effect.name: [
                _measure(Judged(claim, effect, cell), runs, resampled, trainings)
                for cell, runs in cells.items()
            ]
            for effect in claim.effects
        }
        alone = {
            name: [_decide(each, intervals) for each in every] for name, every in measured.items()
        }
        example = _example(alone) if claim.existential else None
        for effect in claim.effects:
            if example is not None:
                over_all = _as_example(measured[effect.name], example)
            else:
                over_all = _pool(Judged(claim, effect, (ALL, ALL)), measured[effect.name])
            over_all = _decide(over_all, intervals)
            opposite = _OPPOSITE.get(over_all.verdict)
            against = [each.cell for each in alone[effect.name] if each.verdict == opposite]
            if against and example is None:
                over_all = over_all.left_undecided(remark("against:", *against))
            judged += [*alone[effect.name], over_all]
    return judged


def _example(effects: Mapping[str, Sequence[Judged]]) -> int | None:
    """Return the position of the cell that shows all effects of a claim most clearly, if any does.

    The clearance of an effect is its distance from the margin in parts of its half interval.
    """
    clearances = []
    for judged in effects.values():
        row = []
        for each in judged:
            sign = -1 if each.effect.relation == "<" else 1
            half = max((each.high - each.low) / 2, 1e-12)
            clearance = sign * (each.size - each.effect.margin) / half
            testable = each.verdict not in (Verdict.NOT_TESTABLE, Verdict.NO_DATA)
            row.append(clearance if testable and np.isfinite(clearance) else -np.inf)
        clearances.append(row)
    least = np.min(clearances, axis=0)
    if not least.size or np.isneginf(least).all():
        return None
    return int(least.argmax())


def _as_example(measured: Sequence[Judged], position: int) -> Judged:
    """Return the effect of one cell as that of the claim.

    The cell was chosen among several, so its interval is as much wider (Bonferroni).
    """
    choices = sum(each.runs > 0 for each in measured)
    chosen = measured[position]
    shown = (remark("example:", chosen.cell),) if choices > 1 else ()
    reasons = (*shown, *chosen.reasons)
    normal = NormalDist()
    stretch = normal.inv_cdf(1 - 0.025 / choices) / normal.inv_cdf(0.975)
    return replace(chosen, cell=(ALL, ALL), reasons=reasons, stretch=stretch)


def summarise(claims: Sequence[Claim], checks: pd.DataFrame) -> pd.DataFrame:
    """Return one verdict for each claim, from its deciding effects over all cells.

    `checks` is a table from `as_table`.  An effect that contradicts the claim decides the verdict.
    Otherwise, a claim is not testable if an effect is not testable or lacks numbers, and supported
    if every effect is.
    """
    deciding = checks[checks["decides"]]
    rows = []
    for claim in claims:
        of_claim = deciding[deciding["claim"] == claim.id]
        over_all = of_claim["data_set"] == ALL
        pooled = of_claim[over_all].to_dict("records")
        cells = of_claim[~over_all].groupby(CELL, sort=False)["verdict"].agg(_combine)
        row: dict[str, Any] = {"claim": claim.id, "text": claim.text}
        row |= {"source": claim.source, "check": claim.check}
        row |= {f"cells {kind}": int((cells == kind).sum()) for kind in _OPPOSITE}
        verdict = _combine(check["verdict"] for check in pooled)
        sentence = "; ".join(map(_in_words, pooled)) + "."
        rows.append(row | {"verdict": verdict, "cells": len(cells), "sentence": sentence})
    return pd.DataFrame(rows)


def refuse_duplicates(table: pd.DataFrame, levels: list[str]) -> None:
    """Raise a ValueError for the first duplicate row, where `levels` identify rows."""
    twice = table.loc[table.duplicated(levels), levels]
    if len(twice):
        names = ", ".join(f"{name} {value}" for name, value in twice.iloc[0].items() if value != "")
        raise ValueError(
            f"table: one row for each number expected, but it has two rows for {names}"
        )


class _Entry(NamedTuple):
    value: float
    bootstrap: Sequence[float]
    reasons: tuple[Reason, ...]

    def array(self) -> np.ndarray:
        """Return the value and its replicates, [1 + replicates]."""
        return np.array([self.value, *self.bootstrap], dtype=np.float64)


_Runs = dict[int, dict[Key, _Entry]]


def _cells(table: pd.DataFrame) -> dict[Cell, _Runs]:
    """Return the numbers of each data set and backbone, by run and key."""
    cells: dict[Cell, _Runs] = {}
    if "reasons" not in table:
        table = table.assign(reasons=[()] * len(table))
    columns = [*CELL, "run", *_KEY, *_Entry._fields]
    lists = [table[name].tolist() for name in columns]  # much faster than rows of pandas
    for data_set, backbone, run, *row in zip(*lists, strict=True):
        numbers = cells.setdefault((data_set, backbone), {}).setdefault(run, {})
        key = Key(*row[: len(_KEY)])
        if key in numbers:
            refuse_duplicates(table, [*CELL, "run", *_KEY])
        numbers[key] = _Entry(*row[len(_KEY) :])
    return cells


def _measure(
    empty: Judged, runs: _Runs, resampled: str, trainings: Trainings | None = None
) -> Judged:
    """Return the effect of `empty` with its size, draws and reasons, from the runs of its cell."""
    number = empty.effect.number
    if trainings and len({trainings.of(key.method) for key in number.keys}) > 1:
        return _compare(empty, runs, resampled, trainings)
    used: list[tuple[Key, _Entry]] = []
    computed: dict[int, np.ndarray] = {}
    for run in sorted(runs):
        entries = [runs[run][key] for key in number.keys if key in runs[run]]
        if len(entries) < len(number.keys):
            continue
        arrays = [entry.array() for entry in entries]
        if len({len(array) for array in arrays} - {1}) > 1:
            raise ValueError(
                f"table: the numbers of {', '.join(empty.cell)}, run {run} have different numbers"
                f" of bootstrap replicates, which cannot be paired"
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            values = number.compute(*arrays)
        if np.shape(values) != (max(map(len, arrays)),):
            raise ValueError(
                f"effect {empty.effect.name!r}: its function must return an array of the value and"
                f" its replicates, got the shape {np.shape(values)}"
            )
        if np.isfinite(values).all():
            computed[run] = values
            used += zip(number.keys, entries, strict=True)
    if not computed:
        return replace(empty, reasons=(remark("no run has all of its numbers"),))

    points = np.array([values[0] for values in computed.values()])
    replicates = min(map(len, computed.values())) - 1
    images = np.array([_centred(values[1:])[:replicates] for values in computed.values()])
    remarks = []
    if left := sorted(set(runs) - set(computed)):
        remarks.append(remark(f"incomplete, left out: run {', '.join(map(str, left))}"))
    if len(computed) == 1:
        lack = f"one run: only {resampled} resampled" if replicates else "one run, no replicates"
        remarks.append(remark(lack))
    elif not replicates:
        remarks.append(remark("no replicates: only runs resampled"))
    fixed = sorted({key.metric for key, entry in used if not len(entry.bootstrap)})
    if replicates and fixed:
        remarks.append(remark(f"without replicates, held fixed: {', '.join(fixed)}"))
    reasons = chain.from_iterable(sorted({entry.reasons for _, entry in used}, key=in_words))
    return replace(
        empty,
        size=float(np.mean(points)),
        draws=_draw(points, images) if len(computed) > 1 or replicates else None,
        runs=len(computed),
        varied=len(computed) > 1,
        reasons=(*remarks, *dict.fromkeys(reasons)),
    )


def _compare(empty: Judged, runs: _Runs, resampled: str, trainings: Trainings) -> Judged:
    """Return an effect of means over runs, of methods that are different trainings."""
    keys = empty.effect.number.keys
    entries = {key: _by_run(runs, key) for key in keys}
    if not all(entries.values()):
        return replace(empty, reasons=(remark("no run has all of its numbers"),))
    used = [entry for by_run in entries.values() for entry in by_run.values()]
    replicates = min(len(entry.bootstrap) for entry in used)
    _, replicate = _picks(1, replicates)
    between_runs = _spreads(entries, runs, trainings)
    means = []
    deviations = []
    for position, (key, by_run) in enumerate(entries.items()):
        arrays = np.array([entry.array()[: 1 + replicates] for entry in by_run.values()])
        means.append(arrays[:, 0].mean())
        deviation = np.zeros(_DRAWS)
        if replicates:
            deviation += _centred(arrays[:, 1:].mean(axis=0))[replicate[:, 0]]
        if between_runs:
            deviation += spread.draw(between_runs[key], position, _DRAWS)
        deviations.append(deviation)
    compute = empty.effect.number.compute
    size = float(compute(*(np.array([mean]) for mean in means))[0])
    pairs = zip(means, deviations, strict=True)
    draws = compute(*(mean + deviation for mean, deviation in pairs))
    fewest = min(map(len, entries.values()))
    remarks = []
    if not between_runs:
        lack = f"one run: only {resampled} resampled" if replicates else "one run, no replicates"
        remarks.append(remark(lack))
    elif fewest == 1:
        remarks.append(remark("a method with one run has the spread of the others' runs"))
    reasons = chain.from_iterable(sorted({entry.reasons for entry in used}, key=in_words))
    return replace(
        empty,
        size=size,
        draws=draws if between_runs or replicates else None,
        runs=fewest,
        varied=bool(between_runs),
        reasons=(*remarks, *dict.fromkeys(reasons)),
    )


def _by_run(runs: _Runs, key: Key) -> dict[int, _Entry]:
    return {run: numbers[key] for run, numbers in sorted(runs.items()) if key in numbers}


def _spreads(
    entries: dict[Key, dict[int, _Entry]], runs: _Runs, trainings: Trainings
) -> dict[Key, Spread]:
    """Return the spread between runs of each number; none if it is not known for one of them."""
    metrics: dict[tuple[str, ...], dict[str, Values]] = {}
    for key, by_run in entries.items():
        without = _by_run(runs, key._replace(calibration=WITHOUT_RUN))
        metrics.setdefault(key[1:], {})[key.method] = Values(_values(by_run), _values(without))
    result: dict[Key, Spread] = {}
    for columns, methods in metrics.items():
        others = []
        if trainings.baseline not in map(trainings.of, methods):
            baseline = _by_run(runs, Key(trainings.baseline, *columns))
            others = [_values(baseline)] if baseline else []
        known = spread.spreads(methods, others)
        if not known:
            return {}
        result |= {Key(method, *columns): known[method] for method in methods}
    return result


def _values(by_run: dict[int, _Entry]) -> np.ndarray:
    return np.array([entry.value for entry in by_run.values()])


def _centred(replicates: np.ndarray) -> np.ndarray:
    return replicates - replicates.mean() if len(replicates) else replicates


def _draw(points: np.ndarray, images: np.ndarray) -> np.ndarray:
    """Return draws of the mean over runs from `points` [runs] and `images` [runs, replicates].

    All cells use the same seed, so that shared splits and test images vary together.
    """
    runs, replicates = images.shape
    picks, replicate = _picks(runs, replicates)
    centre = points.mean()
    draws = points[picks].mean(axis=1)
    if runs > 1:
        draws = centre + (draws - centre) * np.sqrt(runs / (runs - 1))
    if replicates:
        draws += images[picks, replicate].mean(axis=1)
    return draws


@functools.cache
def _picks(runs: int, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    # the drawn runs [draws, runs], and a replicate for each draw [draws, 1]
    generator = np.random.default_rng(0)
    picks = generator.integers(runs, size=(_DRAWS, runs))
    return picks, generator.integers(max(1, replicates), size=(_DRAWS, 1))


def _pool(empty: Judged, measured: Sequence[Judged]) -> Judged:
    """Return the mean effect over the testable cells, or over all if none is testable."""
    numbers = [each for each in measured if each.runs]
    untestable = [each.cell for each in numbers if each.note.of(Kind.UNTESTABLE)]
    counted = [each for each in numbers if each.cell not in untestable] or numbers
    if not counted:
        reasons = dict.fromkeys(chain.from_iterable(each.reasons for each in measured))
        return replace(empty, reasons=(*reasons,) or (remark("the table has no rows"),))
    draws = [each.draws for each in counted if each.draws is not None]
    remarks = sorted({each.note.of(Kind.REMARK) for each in counted}, key=in_words)
    reasons = dict.fromkeys(chain.from_iterable(remarks))
    if lacking := [each.cell for each in measured if not each.runs]:
        reasons[remark("no data for", *lacking)] = None
    if len(counted) < len(numbers):
        reasons[remark("left out since not testable,", *untestable)] = None
    for each in counted:
        for doubt in each.note.of(Kind.DOUBT):
            reasons[Reason(Kind.DOUBT, f"{doubt.text} of", (each.cell,))] = None
    for each in counted:
        reasons |= dict.fromkeys(each.note.of(Kind.UNTESTABLE))
    sizes = np.array([each.size for each in counted])
    means = np.mean(draws, axis=0) if len(draws) == len(counted) else None
    if means is not None and "models" in empty.claim.about and len(counted) > 1:
        of_cells = Spread(sizes.var(ddof=1) / len(sizes), len(sizes) - 1, "cells")
        means = means + spread.draw(of_cells, len(sizes), _DRAWS)
    return replace(
        empty,
        size=float(sizes.mean()),
        draws=means,
        runs=min(each.runs for each in counted),
        varied=all(each.varied for each in counted),
        reasons=(*reasons,),
    )


def _decide(measured: Judged, intervals: bool) -> Judged:
    """Return a measured effect with its interval and verdict."""
    if not measured.runs:
        needs = measured.claim.needs
        return replace(measured, reasons=(remark(f"needs {needs}"),)) if needs else measured
    low = high = _NAN
    if intervals and measured.draws is not None:
        ends = np.quantile(measured.draws, [0.025, 0.975])
        ends = measured.size + measured.stretch * (ends - measured.size)
        low, high = np.clip(ends, *measured.effect.limits).tolist()
    reasons = measured.reasons
    if not intervals:
        reasons = tuple(reason for reason in reasons if reason.kind != Kind.REMARK)
    if measured.note.of(Kind.UNTESTABLE):
        verdict = Verdict.NOT_TESTABLE
    elif not intervals:
        verdict = measured.effect.verdict(measured.size, measured.size)
    elif measured.draws is None or measured.note.of(Kind.DOUBT):
        verdict = Verdict.UNDECIDED  # without an interval, or with a doubt
    else:
        width = _NEAR * (high - low)
        verdict = measured.effect.verdict(low - width, high + width)
    return replace(measured, low=low, high=high, verdict=verdict, reasons=reasons)


def _combine(verdicts: Iterable[Verdict]) -> Verdict:
    every = {*verdicts}
    first = min(every, key=_DECISIVE.index, default=Verdict.NO_DATA)
    return Verdict.NOT_TESTABLE if first == Verdict.NO_DATA and len(every) > 1 else first


def _in_words(row: dict) -> str:
    if row["verdict"] == Verdict.NO_DATA:
        return f"{row['check']}: no data ({row['note']})"
    interval = "" if np.isnan(row["low"]) else f" [{row['low']:+.3f}, {row['high']:+.3f}]"
    expected = f"expected {row['relation']} {row['margin']:g}"
    why = in_words(row["note"].of(Kind.DOUBT, Kind.UNTESTABLE))
    why = f" ({why})" if why else ""
    return f"{row['check']}: {row['effect']:+.3f}{interval}, {expected}, {row['verdict']}{why}"
