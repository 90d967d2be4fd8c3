"""The papers' claims as checks over the results table.

A claim is a list of `Effect`: signed sums of numbers, each with the side of a margin on which the
claim puts it.  `evaluate` gives every effect a 95 % interval, `verdicts` turns the intervals into
one verdict for each claim.
"""

from __future__ import annotations

import functools
import operator
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pandas as pd

#: `data_set` and `backbone` of an effect that is the mean over all of them.
ALL = "all"

_DRAWS = 4000  # the ends of an interval then move by about one per cent of its width
#: Share of an interval's width: no effect is decided if an end is nearer to the margin.
_NEAR = 0.1
_HOLDS = {"<": operator.lt, ">": operator.gt, ">=": operator.ge}
CELL = ["data_set", "backbone"]
_NUMBER = ["method", "calibration", "metric", "test_set"]


class Verdict(StrEnum):
    """Result of testing a claim on numbers."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_TESTABLE = "not testable"
    NO_DATA = "no data"


# of several effects, the first verdict in this order is the verdict of their claim
_DECISIVE = ["contradicted", "no data", "not testable", "undecided", "supported"]
_OPPOSITE = {"supported": "contradicted", "contradicted": "supported"}


class Term(NamedTuple):
    """One number of an effect, in the words of the results table; `sign` is 1 or -1."""

    sign: int
    method: str
    metric: str
    calibration: str = ""
    test_set: str = "test"

    @property
    def number(self) -> tuple[str, ...]:
        """The term without its sign: the columns `_NUMBER` of its row."""
        return (self.method, self.calibration, self.metric, self.test_set)


@dataclass(frozen=True)
class Effect:
    """A signed sum of numbers, and its `relation` (<, > or >=) to a margin.

    An effect that does not decide is shown, but has no influence on the verdict.
    """

    name: str
    terms: tuple[Term, ...]
    relation: str
    margin: float
    decides: bool = True

    def verdict(self, low: float, high: float) -> Verdict:
        """Return the verdict for an interval: the side of the margin with the whole interval.

        >>> effect = Effect("accuracy gained", (Term(1, "a", "accuracy"),), ">", 0.0)
        >>> [str(effect.verdict(*ends)) for ends in ((0.1, 0.2), (-0.1, 0.2), (-0.1, 0.0))]
        ['supported', 'undecided', 'contradicted']
        """
        holds = {bool(_HOLDS[self.relation](end, self.margin)) for end in (low, high)}
        if len(holds) == 2:
            return Verdict.UNDECIDED
        return Verdict.SUPPORTED if holds.pop() else Verdict.CONTRADICTED


@dataclass(frozen=True)
class Claim:
    """A testable sentence of a paper: `text`, its `source`, and the `check` in one line.

    `scope` selects rows of a results table as a query of pandas ("": all); `needs` are required in
    a table if the effects are derived.  `about` is the source of variation: "training", "models",
    "families" or "runs".  A claim that one example proves ("depends on") is `existential`.  `names`
    are test sets without stand-ins; `departure` describes how our method differs from the paper's.
    """

    id: str
    text: str
    source: str
    check: str
    effects: tuple[Effect, ...]
    scope: str = ""
    needs: str = ""
    about: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    existential: bool = False
    departure: str = ""


class _Measured(NamedTuple):
    """An effect in one cell (or over all): its size, and draws of it if anything was resampled."""

    data_set: str
    backbone: str
    effect: float = float("nan")
    draws: np.ndarray | None = None
    runs: int = 0
    note: str = ""
    doubt: str = ""
    untestable: str = ""


def evaluate(
    claims: Sequence[Claim], table: pd.DataFrame, *, intervals: bool = True
) -> pd.DataFrame:
    """Compute the effects of claims, for each data set and backbone and for their mean.

    `table` has one tier and variant; ``doubt`` and ``untestable`` are optional columns.  Without
    `intervals` we compare the effects themselves with their margins.  An interval comes from a
    hierarchical bootstrap: we draw runs with replacement, and each drawn run contributes one
    replicate of its numbers over resampled test images.

    * Replicates are paired: within a run, replicate ``b`` of all terms uses the same resampled
      images, across test sets, too.  All runs and backbones use the same draws.
    * Replicates are centred on the number, since the calibration error of resampled images is too
      high on average.
    * The variance of n drawn runs is n / (n - 1) times too small and is scaled up by this factor.
      The interval of two or three runs is still uncertain.
    * With one run we resample only images, and without replicates only runs; ``note`` states this.
      Data sets and backbones are not resampled.
    * A number with a ``doubt`` leaves its effect undecided; so does a mean that contains it.
    * An interval that ends within a tenth of its width of the margin is undecided.
    * An ``untestable`` number has the verdict "not testable" and is left out of the mean.
    * If one data set and backbone contradicts the mean over all, the mean is undecided.
    """
    cells = _cells(table)
    rows = []
    for claim in claims:
        for effect in claim.effects:
            measured = [_measure(effect, *cell, runs) for cell, runs in cells.items()]
            alone = [_row(claim, effect, cell, intervals) for cell in measured]
            over_all = _row(claim, effect, _pool(measured), intervals)
            opposite = _OPPOSITE.get(over_all["verdict"])
            if against := [row for row in alone if row["verdict"] == opposite]:
                note = join_texts(over_all["note"], f"against: {_places(against)}")
                over_all |= {"verdict": Verdict.UNDECIDED, "note": note}
            rows += [*alone, over_all]
    return pd.DataFrame(rows)


def verdicts(claims: Sequence[Claim], checks: pd.DataFrame) -> pd.DataFrame:
    """Return one verdict for each claim, from its deciding effects over all cells.

    An effect that contradicts the claim decides the verdict.  Otherwise, a claim is not testable if
    an effect is not testable or lacks numbers, and supported if every effect is.
    """
    rows, deciding = [], defaultdict(lambda: defaultdict(list))  # by claim and cell
    for check in checks[checks["decides"]].to_dict("records"):
        deciding[check["claim"]][check["data_set"], check["backbone"]].append(check)
    for claim in claims:
        cells = deciding[claim.id]
        pooled = cells.pop((ALL, ALL), [])
        alone = [_combine(check["verdict"] for check in cell) for cell in cells.values()]
        verdict = _combine(check["verdict"] for check in pooled)
        row = {"claim": claim.id, "text": claim.text, "source": claim.source, "check": claim.check}
        row |= {f"cells {kind}": alone.count(kind) for kind in _OPPOSITE}
        row |= {"verdict": verdict, "cells": len(alone)}
        sentence = "; ".join(map(_in_words, pooled)) + "."
        rows.append(row | {"sentence": sentence})
    return pd.DataFrame(rows)


def join_texts(*texts: str) -> str:
    """Return the texts that are not empty, with semicolons between them."""
    return "; ".join(filter(None, texts))


def refuse_duplicates(table: pd.DataFrame, levels: list[str]) -> None:
    """Raise a ValueError for the first duplicate row, where `levels` identify rows."""
    twice = table.loc[table.duplicated(levels), levels]
    if len(twice):
        names = ", ".join(f"{name} {value}" for name, value in twice.iloc[0].items() if value != "")
        raise ValueError(f"table: a number is there twice: {names}")


def _cells(table: pd.DataFrame) -> dict:
    """Return {(data set, backbone): {run: {columns of `_NUMBER`: number}}}.

    A number consists of value, replicates, doubt and the reason why it is untestable.
    """
    cells: dict = {}
    table = table.assign(**{name: "" for name in ("doubt", "untestable") if name not in table})
    columns = [*CELL, "run", *_NUMBER, "value", "bootstrap", "doubt", "untestable"]
    lists = [table[name].tolist() for name in columns]  # much faster than rows of pandas
    for data_set, backbone, run, *row in zip(*lists, strict=True):
        numbers = cells.setdefault((data_set, backbone), {}).setdefault(run, {})
        if (key := tuple(row[:-4])) in numbers:
            refuse_duplicates(table, [*CELL, "run", *_NUMBER])
        numbers[key] = row[-4:]
    return cells


def _measure(effect: Effect, data_set: str, backbone: str, runs: dict) -> _Measured:
    keys = [term.number for term in effect.terms]
    complete = [run for run in sorted(runs) if all(key in runs[run] for key in keys)]
    if not complete:
        return _Measured(data_set, backbone, note="no run has all of its numbers")

    points, deviations, used = [], [], []
    for run in complete:
        numbers = [(term, *runs[run][term.number]) for term in effect.terms]
        used += numbers
        points.append(sum(term.sign * value for term, value, *_ in numbers))
        signed = [term.sign * np.asarray(drawn, dtype=np.float64)
                  for term, _, drawn, *_ in numbers if len(drawn)]  # fmt: skip
        if len(set(map(len, signed))) > 1:
            raise ValueError(
                f"table: the numbers of {data_set}, {backbone}, run {run} have different numbers"
                f" of bootstrap replicates, which cannot be paired"
            )
        total = np.sum(signed, axis=0) if signed else np.empty(0)
        deviations.append(total - total.mean() if signed else total)
    fixed = {term.metric for term, _, drawn, *_ in used if not len(drawn)}
    doubts, reasons = ({number[column] for number in used} for column in (-2, -1))
    shortest = min(map(len, deviations))
    images = np.array([drawn[:shortest] for drawn in deviations])
    notes = []
    if left := sorted(set(runs) - set(complete)):
        notes.append(f"incomplete, left out: run {', '.join(map(str, left))}")
    if len(complete) == 1:
        notes.append("one run: only images resampled" if shortest else "one run, no replicates")
    elif not shortest:
        notes.append("no replicates: only runs resampled")
    if shortest and fixed:
        notes.append(f"without replicates, held fixed: {', '.join(sorted(fixed))}")
    draws = _draw(np.array(points), images) if len(complete) > 1 or shortest else None
    texts = (join_texts(*notes), *(join_texts(*sorted(given)) for given in (doubts, reasons)))
    return _Measured(data_set, backbone, float(np.mean(points)), draws, len(complete), *texts)


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


def _pool(measured: list[_Measured]) -> _Measured:
    """Return the mean effect over the testable cells, or over all if none is testable."""
    numbers = [cell for cell in measured if cell.runs]
    counted = [cell for cell in numbers if not cell.untestable] or numbers
    if not counted:
        reasons = sorted({cell.note for cell in measured}) or ["the table has no rows"]
        return _Measured(ALL, ALL, note="; ".join(reasons))
    draws = [cell.draws for cell in counted]
    draws = None if any(drawn is None for drawn in draws) else np.mean(draws, axis=0)
    notes = sorted({cell.note for cell in counted})
    if lacking := [cell._asdict() for cell in measured if not cell.runs]:
        notes.append(f"no data for {_places(lacking)}")
    if len(counted) < len(numbers):
        left = [cell._asdict() for cell in numbers if cell.untestable]
        notes.append(f"left out since not testable, {_places(left)}")
    doubts = [f"{cell.doubt} of {cell.data_set}, {cell.backbone}" for cell in counted if cell.doubt]
    reasons = dict.fromkeys(cell.untestable for cell in counted)
    texts = (join_texts(*given) for given in (notes, doubts, reasons))
    mean, runs = np.mean([cell.effect for cell in counted]), min(cell.runs for cell in counted)
    return _Measured(ALL, ALL, float(mean), draws, runs, *texts)


def _row(claim: Claim, effect: Effect, measured: _Measured, intervals: bool) -> dict:
    row = {"claim": claim.id, "check": effect.name} | measured._asdict()
    draws, low, high = row.pop("draws"), float("nan"), float("nan")
    if intervals and draws is not None:
        low, high = np.quantile(draws, [0.025, 0.975]).tolist()
    if not measured.runs:
        verdict = Verdict.NO_DATA
    elif measured.untestable:
        verdict = Verdict.NOT_TESTABLE
    elif not intervals:
        verdict = effect.verdict(measured.effect, measured.effect)
    elif draws is None or measured.doubt:  # without an interval the effect is undecided
        verdict = Verdict.UNDECIDED
    else:
        width = _NEAR * (high - low)
        verdict = effect.verdict(low - width, high + width)
    notes = [measured.note if intervals or not measured.runs else ""]
    notes += [measured.doubt and f"doubted: {measured.doubt}"]
    notes += [measured.untestable and f"not testable: {measured.untestable}"]
    row |= {"low": low, "high": high, "verdict": verdict, "note": join_texts(*notes)}
    return row | {name: vars(effect)[name] for name in ("relation", "margin", "decides")}


def _combine(verdicts: Iterable[Verdict]) -> Verdict:
    verdicts = {*verdicts}
    first = min(verdicts, key=_DECISIVE.index, default=Verdict.NO_DATA)
    return Verdict.NOT_TESTABLE if first == Verdict.NO_DATA and len(verdicts) > 1 else first


def _places(rows: Iterable[dict]) -> str:
    return "; ".join(f"{row['data_set']}, {row['backbone']}" for row in rows)


def _in_words(row: dict) -> str:
    if row["verdict"] == Verdict.NO_DATA:
        return f"{row['check']}: no data ({row['note']})"
    interval = "" if np.isnan(row["low"]) else f" [{row['low']:+.3f}, {row['high']:+.3f}]"
    expected = f"expected {row['relation']} {row['margin']:g}"
    why = join_texts(row["doubt"], row["untestable"])
    why = f" ({why})" if why else ""
    return f"{row['check']}: {row['effect']:+.3f}{interval}, {expected}, {row['verdict']}{why}"
