"""The papers' claims as checks over the results table.

A claim is a list of `Effect`: signed sums of numbers, each with the side of a margin on which the
claim puts it.  `evaluate` gives every effect a 95 % interval, `verdicts` turns the intervals into
one verdict for each claim.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pandas as pd

OURS = "this project, not the paper"
"""The source of a claim of our own."""
ALL = "all"
"""What `data_set` and `backbone` say where an effect is the mean over all of them."""

_DRAWS = 4000  # enough that the ends of an interval move by little more than a per cent of it
_HOLDS = {"<": operator.lt, ">": operator.gt, ">=": operator.ge}


class Verdict(StrEnum):
    """What the numbers say to a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_TESTABLE = "not testable"
    NO_DATA = "no data"


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
    """A signed sum of numbers, and where the claim expects it.

    Attributes
    ----------
    name : str
        The sum in words.
    terms : tuple of Term
        The numbers and their signs.
    relation : {"<", ">", ">="}
        How the claim relates the sum to the margin.
    margin : float
        In the unit of the metric.
    decides : bool
        False where the effect is reported beside the claim and takes no part in its verdict.
    """

    name: str
    terms: tuple[Term, ...]
    relation: str
    margin: float
    decides: bool = True

    def verdict(self, low: float, high: float) -> Verdict:
        """Return the verdict for an interval: on which side of the margin does it lie wholly?

        Examples
        --------
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
    """A sentence of a paper, made checkable.

    Attributes
    ----------
    id : str
        A short name, unique within the paper.
    text : str
        What the paper claims, in one sentence.
    source : str
        Where in the paper; of a claim of our own `OURS`.
    check : str
        What is computed, in one line.
    effects : tuple of Effect
        All of those that decide must hold for the claim to be supported.
    scope : str
        Which rows of a results table it is about, as a query of pandas; "": all.
    needs : str
        What must be in a results table for there to be numbers, where these are not terms of the
        claim's effects but derived from others.
    about : tuple of str
        What a tier must have for a verdict, of the words in `helpers.report.preconditions.LACKS`:
        "training" if the claim compares ways to train or networks trained in several ways,
        "detection" if it is about how well unknown classes are told from known ones.
    names : tuple of str
        The test sets that the sentence names, as the paper calls them.  A stand-in for one of them
        cannot contradict the claim.  A scale that the sentence names is in `scope`.
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


def evaluate(
    claims: Sequence[Claim], table: pd.DataFrame, *, seed: int = 0, intervals: bool = True
) -> pd.DataFrame:
    """Compute the effects of claims, for each data set and backbone and over all of them.

    The interval comes from a hierarchical bootstrap: we draw runs with replacement, and each drawn
    run contributes one replicate of its numbers over resampled test images.

    * Replicates are paired: within a run, replicate ``b`` of all terms stands for the same
      resampled images, across test sets, too.  All runs and backbones use the same draws.
    * Replicates are centred on the number, since the calibration error of resampled images is too
      high on average.
    * The variance of n drawn runs is n / (n - 1) times too small and is scaled up by this factor.
      The interval of two or three runs is still uncertain.
    * With one run we resample only images, and without replicates only runs; ``note`` states this.
      Data sets and backbones are not resampled.
    * A number with a ``doubt`` decides nothing; nor does a mean that contains this number.
    * An ``untestable`` number has the verdict "not testable" and is left out of the mean.
    * If one data set and backbone contradicts the mean over all, the mean is undecided.

    Parameters
    ----------
    table : DataFrame
        Results table of one paper, tier and variant; ``doubt`` and ``untestable`` are optional.
    intervals : bool
        False compares the effects with their margins, for printed numbers without runs.
    """
    cells = _cells(table)
    rows = []
    for claim in claims:
        for effect in claim.effects:
            measured = [_measure(effect, *cell, runs, seed) for cell, runs in cells.items()]
            alone = [_row(claim, effect, one, intervals) for one in measured]
            over_all = _row(claim, effect, _pool(measured), intervals)
            other = _OPPOSITE.get(over_all["verdict"])
            against = [row for row in alone if row["verdict"] == other]
            if against:
                names = "; ".join(f"{row['data_set']}, {row['backbone']}" for row in against)
                over_all["verdict"] = Verdict.UNDECIDED
                over_all["note"] = "; ".join(filter(None, [over_all["note"], f"against: {names}"]))
            rows += [*alone, over_all]
    return pd.DataFrame(rows)


def verdicts(claims: Sequence[Claim], checks: pd.DataFrame) -> pd.DataFrame:
    """Return one verdict for each claim, from its effects over all data sets and backbones.

    A claim is supported when every deciding effect is, contradicted when any is, has no data when
    any lacks numbers, is not testable when any is, and is undecided otherwise.
    """
    rows = []
    for claim in claims:
        own = checks[(checks["claim"] == claim.id) & checks["decides"]]
        pooled = own["data_set"] == ALL
        verdict = _combine(own.loc[pooled, "verdict"])
        alone = [_combine(cell["verdict"]) for _, cell in own[~pooled].groupby(_CELL)]
        rows.append(
            {
                "claim": claim.id,
                "text": claim.text,
                "source": claim.source,
                "check": claim.check,
                "verdict": verdict,
                "agreeing": alone.count(verdict),
                "cells": len(alone),
                "sentence": "; ".join(map(_words, own[pooled].to_dict("records"))) + ".",
            }
        )
    return pd.DataFrame(rows)


_CELL = ["data_set", "backbone"]
_NUMBER = ["method", "calibration", "metric", "test_set"]
_OPPOSITE = {
    Verdict.SUPPORTED: Verdict.CONTRADICTED,
    Verdict.CONTRADICTED: Verdict.SUPPORTED,
}


@dataclass(frozen=True)
class _Measured:
    """An effect in one cell (or over all): its size, and draws of it if anything was resampled."""

    data_set: str
    backbone: str
    effect: float | None
    draws: np.ndarray | None
    runs: int
    note: str
    doubt: str = ""
    untestable: str = ""


def _cells(table: pd.DataFrame) -> dict:
    """Return {(data set, backbone): {run: {columns of `_NUMBER`: number}}}.

    A number is its value, its replicates, its doubt and the reason why it is untestable.
    """
    cells: dict = {}
    table = table.assign(**{name: "" for name in ("doubt", "untestable") if name not in table})
    columns = [*_CELL, "run", *_NUMBER, "value", "bootstrap", "doubt", "untestable"]
    for data_set, backbone, run, *key, value, replicates, doubt, untestable in zip(
        *(table[name] for name in columns), strict=True
    ):
        numbers = cells.setdefault((data_set, backbone), {}).setdefault(run, {})
        if tuple(key) in numbers:
            what = f"{_number_words(tuple(key))} of {data_set}, {backbone}, run {run}"
            raise ValueError(f"table: {what} is there twice")
        replicates = np.asarray(replicates, dtype=np.float64)
        numbers[tuple(key)] = (value, replicates, doubt, untestable)
    return cells


def _measure(effect: Effect, data_set: str, backbone: str, runs: dict, seed: int) -> _Measured:
    keys = [term.number for term in effect.terms]
    signs = [term.sign for term in effect.terms]
    complete = [run for run in sorted(runs) if all(key in runs[run] for key in keys)]
    if not complete:
        absent = [key for key in keys if not any(key in numbers for numbers in runs.values())]
        what = "; ".join(map(_number_words, absent or keys))
        return _Measured(data_set, backbone, None, None, 0, f"no run has: {what}")

    notes = []
    if len(complete) < len(runs):
        left = sorted(set(runs) - set(complete))
        notes.append(f"incomplete, left out: run {', '.join(map(str, left))}")
    points, deviations, fixed, doubted, barred = [], [], set(), set(), set()
    for run in complete:
        values, replicates, doubts, reasons = zip(*(runs[run][key] for key in keys), strict=True)
        doubted |= {*doubts} - {""}
        barred |= {*reasons} - {""}
        points.append(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        fixed |= {
            term.metric for term, one in zip(effect.terms, replicates, strict=True) if not len(one)
        }
        signed = [s * one for s, one in zip(signs, replicates, strict=True) if len(one)]
        if len({len(one) for one in signed}) > 1:
            raise ValueError(
                f"table: the numbers of {data_set}, {backbone}, run {run} have different numbers"
                f" of bootstrap replicates, which cannot be paired"
            )
        together = np.sum(signed, axis=0) if signed else np.empty(0)
        deviations.append(together - together.mean() if signed else together)
    shortest = min(map(len, deviations))
    images = np.array([one[:shortest] for one in deviations])
    if len(complete) == 1:
        notes.append("one run: only images resampled" if shortest else "one run, no replicates")
    elif not shortest:
        notes.append("no replicates: only runs resampled")
    if shortest and fixed:
        notes.append(f"without replicates, held fixed: {', '.join(sorted(fixed))}")
    draws = None
    if len(complete) > 1 or shortest:
        draws = _draw(np.array(points), images, seed)
    note = "; ".join(notes)
    mean, *why = float(np.mean(points)), *("; ".join(sorted(one)) for one in (doubted, barred))
    return _Measured(data_set, backbone, mean, draws, len(complete), note, *why)


def _draw(points: np.ndarray, images: np.ndarray, seed: int) -> np.ndarray:
    """Return draws of the mean over runs from `points` [runs] and `images` [runs, replicates].

    All cells use the same seed, so that shared splits and test images vary together.
    """
    generator = np.random.default_rng(seed)
    runs, replicates = images.shape
    picks = generator.integers(runs, size=(_DRAWS, runs))
    centre = points.mean()
    draws = points[picks].mean(axis=1)
    if runs > 1:
        draws = centre + (draws - centre) * np.sqrt(runs / (runs - 1))
    if replicates:
        replicate = generator.integers(replicates, size=(_DRAWS, 1))
        draws += images[picks, replicate].mean(axis=1)
    return draws


def _pool(measured: list[_Measured]) -> _Measured:
    """Return the mean effect over the cells that are testable, or over all if none is.

    It is without an interval if one of them has none.
    """
    numbers = [one for one in measured if one.effect is not None]
    there = [one for one in numbers if not one.untestable] or numbers
    if not there:
        reasons = sorted({one.note for one in measured}) or ["the table has no rows"]
        return _Measured(ALL, ALL, None, None, 0, "; ".join(reasons))
    draws = None
    if all(one.draws is not None for one in there):
        draws = np.mean([one.draws for one in there], axis=0)
    notes = sorted({one.note for one in there} - {""})
    for what, left in (
        ("no data for", [one for one in measured if one.effect is None]),
        ("left out since not testable,", [one for one in numbers if one not in there]),
    ):
        if left:
            names = "; ".join(f"{one.data_set}, {one.backbone}" for one in left)
            notes.append(f"{what} {names}")
    effect, runs = float(np.mean([one.effect for one in there])), min(one.runs for one in there)
    doubts = [f"{one.doubt} of {one.data_set}, {one.backbone}" for one in there if one.doubt]
    reasons = dict.fromkeys(one.untestable for one in there if one.untestable)
    words = ("; ".join(one) for one in (notes, doubts, reasons))
    return _Measured(ALL, ALL, effect, draws, runs, *words)


def _row(claim: Claim, effect: Effect, measured: _Measured, intervals: bool) -> dict:
    low = high = float("nan")
    note = measured.note if intervals or measured.effect is None else ""
    if measured.doubt:
        note = "; ".join(filter(None, [note, f"doubted: {measured.doubt}"]))
    if measured.untestable:
        note = "; ".join(filter(None, [note, f"not testable: {measured.untestable}"]))
    if intervals and measured.draws is not None:
        low, high = map(float, np.quantile(measured.draws, [0.025, 0.975]))
    if measured.effect is None:
        verdict = Verdict.NO_DATA
    elif measured.untestable:
        verdict = Verdict.NOT_TESTABLE
    elif not intervals:
        verdict = effect.verdict(measured.effect, measured.effect)
    elif measured.draws is None:
        verdict = Verdict.UNDECIDED  # without an interval nothing is decided
    else:
        verdict = Verdict.UNDECIDED if measured.doubt else effect.verdict(low, high)
    return {
        "claim": claim.id,
        "check": effect.name,
        "data_set": measured.data_set,
        "backbone": measured.backbone,
        "effect": float("nan") if measured.effect is None else measured.effect,
        "low": low,
        "high": high,
        "relation": effect.relation,
        "margin": effect.margin,
        "decides": effect.decides,
        "runs": measured.runs,
        "verdict": verdict,
        "doubt": measured.doubt,
        "untestable": measured.untestable,
        "note": note,
    }


def _combine(found) -> Verdict:
    found = set(found)
    if found == {Verdict.SUPPORTED}:
        return Verdict.SUPPORTED
    for verdict in (Verdict.CONTRADICTED, Verdict.NO_DATA, Verdict.NOT_TESTABLE):
        if verdict in found:
            return verdict
    return Verdict.UNDECIDED if found else Verdict.NO_DATA


def _number_words(key: tuple[str, ...]) -> str:
    """Return the columns `_NUMBER` of a row in words, as in "odin auroc on near"."""
    *what, test_set = filter(None, key)
    return " ".join(what if test_set == "test" else [*what, "on", test_set])


def _words(row: dict) -> str:
    if row["verdict"] == Verdict.NO_DATA:
        return f"{row['check']}: no data ({row['note']})"
    interval = "" if np.isnan(row["low"]) else f" [{row['low']:+.3f}, {row['high']:+.3f}]"
    expected = f"expected {row['relation']} {row['margin']:g}"
    why = "; ".join(filter(None, [row["doubt"], row["untestable"]]))
    why = f" ({why})" if why else ""
    return f"{row['check']}: {row['effect']:+.3f}{interval}, {expected}, {row['verdict']}{why}"
