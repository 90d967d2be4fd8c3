"""From measured effects to intervals and verdicts, of an effect and of a claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from helpers.tables.table import MINUS, number
from synthesis import spread
from synthesis.effects import ALL, Claim, Effect, Judged, Verdict
from synthesis.measuring import DRAWS, cells_of, measure
from synthesis.reasons import Kind, Reason, each_once, remark
from synthesis.rendering import render
from synthesis.spread import Spread, Trainings

#: Share of an interval's width: no effect is decided if an end is nearer to the margin.
_NEAR = 0.1
_TOO_NEAR = Reason(Kind.WEAKNESS, "the interval ends within a tenth of its width of the margin")
# of several effects, the first verdict in this order is the verdict of their claim
_DECISIVE = ["contradicted", "no data", "not testable", "undecided", "supported"]
_TURNED = {">": "<", "<": ">", ">=": "<="}
_NEEDS = {">": "more than", "<": "less than", ">=": "at least", "<=": "at most"}
OPPOSITE = {"supported": "contradicted", "contradicted": "supported"}


def evaluate(
    claims: Iterable[Claim],
    table: pd.DataFrame,
    *,
    intervals: bool = True,
    trainings: Trainings | None = None,
) -> list[Judged]:
    """Compute the effects of claims, for each data set and backbone and for their mean.

    `table` has one tier and variant, and ``reasons`` as an optional column.  Without `intervals` we
    compare the effects themselves with their margins.  An interval comes from a hierarchical
    bootstrap: we draw runs with replacement, and each drawn run contributes one replicate of its
    numbers over resampled test images or test sets.

    * Replicates are paired: within a run, replicate ``b`` of all numbers uses the same resampled
      images, across test sets, too.  All runs and backbones use the same draws.
    * Replicates are centred on the number, since the calibration error of resampled images is too
      high on average.
    * The variance of n drawn runs is n / (n - 1) times too small and is scaled up by this factor,
      and by its uncertainty, as in Student's t.
    * Methods that are different `trainings` are compared by their means over runs, whose spread
      between runs is in `synthesis.spread`.
    * With one run no training is resampled, and without replicates only runs; a remark says so.
    * A run in which the effect is not finite lacks it.
    * A number with a doubt leaves its effect undecided; so does a mean that contains it.
    * An interval that ends within a tenth of its width of the margin is undecided.
    * An untestable number has the verdict "not testable" and is left out of the mean.
    * If one data set and backbone contradicts the mean over all, the mean is undecided.
    * A claim about "models" also resamples the backbones of the mean, by Student's t.
    * An existential claim has no mean: the one cell decides that shows all of its effects most
      clearly, with an interval for the best of so many cells.  Other cells do not count.
    """
    cells = cells_of(table)
    judged = []
    for claim in claims:
        measured = {
            effect.name: [
                measure(Judged(claim, effect, cell), runs, trainings)
                for cell, runs in cells.items()
            ]
            for effect in claim.effects
        }
        alone = {
            name: [_decide(each, intervals) for each in every] for name, every in measured.items()
        }
        example = _example(alone, intervals) if claim.existential else None
        for effect in claim.effects:
            if example is not None:
                over_all = _as_example(measured[effect.name], example)
            else:
                over_all = _pool(Judged(claim, effect, (ALL, ALL)), measured[effect.name])
            over_all = _decide(over_all, intervals)
            opposite = OPPOSITE.get(over_all.verdict)
            against = [each.cell for each in alone[effect.name] if each.verdict == opposite]
            if against and example is None:
                over_all = over_all.left_undecided(remark("against:", *against))
            judged += [*alone[effect.name], over_all]
    return judged


def _example(effects: Mapping[str, Sequence[Judged]], intervals: bool) -> int | None:
    """Return the position of the cell that shows all effects of a claim most clearly, if any does.

    The clearance of an effect is its distance from the margin in parts of its half interval, or
    without `intervals` the distance itself.
    """
    clearances = []
    for judged in effects.values():
        row = []
        for each in judged:
            sign = -1 if each.effect.relation == "<" else 1
            half = max((each.high - each.low) / 2, 1e-12) if intervals else 1.0
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

    The cell was chosen among several, so its interval is as much wider (Bonferroni), by Student's t
    if the runs vary.
    """
    choices = sum(each.runs > 0 for each in measured)
    chosen = measured[position]
    shown = (remark("example:", chosen.cell),) if choices > 1 else ()
    reasons = (*shown, *chosen.reasons)
    freedom = chosen.runs - 1 if chosen.varied else np.inf
    stretch = stdtrit(freedom, 1 - 0.025 / choices) / stdtrit(freedom, 0.975)
    cells = (chosen.cell,)
    return replace(chosen, cell=(ALL, ALL), cells=cells, reasons=reasons, stretch=stretch)


def summarise(claims: Sequence[Claim], checks: pd.DataFrame) -> pd.DataFrame:
    """Return one verdict for each claim, from its effects over all cells.

    `checks` is a table from `as_table`.  An effect that contradicts the claim decides the verdict.
    Otherwise, a claim is not testable if an effect is not testable or lacks numbers, and supported
    if every effect is.
    """
    over_all = checks[checks["data_set"] == ALL]
    rows = []
    for claim in claims:
        pooled = [*over_all[over_all["claim"] == claim.id].assign(printed=np.nan).itertuples()]
        verdict = _combine(row.verdict for row in pooled)
        sentence = " ".join(f"{_in_words(row, claim)}." for row in pooled)
        rows.append((claim.id, claim.text, verdict, sentence))
    return pd.DataFrame(rows, columns=["claim", "text", "verdict", "sentence"])


def _pool(empty: Judged, measured: Sequence[Judged]) -> Judged:
    """Return the mean effect over the testable cells, or over all if none is testable."""
    numbers = [each for each in measured if each.runs]
    untestable = [each.cell for each in numbers if each.note.of(Kind.UNTESTABLE)]
    counted = [each for each in numbers if each.cell not in untestable] or numbers
    if not counted:
        reasons = dict.fromkeys(chain.from_iterable(each.reasons for each in measured))
        return replace(empty, reasons=(*reasons,) or (remark("the table has no rows"),))
    draws = [each.draws for each in counted if each.draws is not None]
    reasons = each_once(each.note.of(Kind.REMARK) for each in counted)
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
        deviation = np.sqrt([sizes.var(ddof=1) / len(sizes)])
        of_cells = Spread(deviation, len(sizes) - 1, "cells")
        means = means + spread.draw(of_cells, len(sizes), DRAWS)
    return replace(
        empty,
        size=float(sizes.mean()),
        draws=means,
        runs=min(each.runs for each in counted),
        cells=tuple(each.cell for each in counted),
        varied=all(each.varied for each in counted),
        reasons=(*reasons,),
    )


def _decide(measured: Judged, intervals: bool) -> Judged:
    """Return a measured effect with its interval and verdict."""
    if not measured.runs:
        needs = measured.claim.needs
        return replace(measured, reasons=(remark(f"needs {needs}"),)) if needs else measured
    low = high = np.nan
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
        if verdict != measured.effect.verdict(low, high):
            reasons = (*reasons, _TOO_NEAR)
    return replace(measured, low=low, high=high, verdict=verdict, reasons=reasons)


def _combine(verdicts: Iterable[Verdict]) -> Verdict:
    every = {*verdicts}
    first = min(every, key=_DECISIVE.index, default=Verdict.NO_DATA)
    return Verdict.NOT_TESTABLE if first == Verdict.NO_DATA and len(every) > 1 else first


def _in_words(row, claim: Claim) -> str:
    """Return the sentence of one effect of a claim."""
    if row.verdict == Verdict.NO_DATA:
        return f"{row.check}: no data ({row.note})"
    (effect,) = [each for each in claim.effects if each.name == row.check]
    return measured(row, effect)


def measured(line, effect: Effect) -> str:
    """Return a sentence: an effect, its interval, and the paper's effect.

    `line` is a row of the ledger, or of the table of a claim's effects, with the column
    ``printed``.  A sentence that names the direction of an effect has its size without a sign.
    """
    words = effect.words
    plain = f"{MINUS}{{size}}" in words.below
    turned = line.effect < 0 and not plain
    sign = -1 if turned else 1
    text, opposite = words.above, words.below
    if turned:
        text, opposite = opposite, text

    def in_unit(value: float, pattern: str = f".{words.digits}f") -> str:
        return number(words.factor * value + 0.0, pattern)

    def shown(sign: int, value: float, ends: Sequence, unit: str = "") -> str:
        """Return a number with its interval, if it has one; the sign -1 turns both."""
        bounds = [in_unit(sign * end) for end in ends[::sign] if pd.notna(end)]
        interval = f" [{', '.join(bounds)}]" if bounds else ""
        return f"{in_unit(sign * value)}{unit}{interval}"

    size = shown(sign, line.effect, (line.low, line.high), words.unit)
    relation = _TURNED[line.relation] if turned else line.relation
    seconds = []
    for each in sorted(line.second, key=lambda each: sign * each.size < 0):
        ends = (each.low, each.high) if len(line.second) <= 2 else ()
        if sign * each.size < 0 and not plain:
            other = opposite.format(size=shown(-sign, each.size, ends, words.unit))
            seconds.append(f"by the {each.name}, {other}")
        else:
            seconds.append(f"{shown(sign, each.size, ends)} by the {each.name}")
    printed = ""
    if sign * line.printed < 0 and not plain:
        printed = f", {opposite.format(size=in_unit(abs(line.printed)) + words.unit)}"
    elif not np.isnan(line.printed):
        printed = f" {in_unit(sign * line.printed)}"
    needs = ""
    if sign * line.margin < 0 and not plain:
        limit = f"{_NEEDS[_TURNED[relation]]} {in_unit(abs(line.margin), 'g')}{words.unit}"
        needs = f"that {opposite.format(size=limit)}"
    elif line.margin or plain:
        needs = f"{_NEEDS[relation]} {in_unit(sign * line.margin, 'g')}"
    return render(
        "measured.md",
        line=line,
        text=text.format(size=size),
        seconds=seconds,
        needs=needs,
        printed=printed,
    )
