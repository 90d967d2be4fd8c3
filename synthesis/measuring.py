"""The size of an effect in one cell, and how much it varies, from the runs of the cell."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from synthesis import spread
from synthesis.effects import CELL, Judged, Key, refuse_duplicates
from synthesis.reasons import Cell, Reason, each_once, remark
from synthesis.spread import WITHOUT_RUN, Spread, Trainings, Values

DRAWS = 4000  # the ends of an interval then move by one to three per cent of its width


class _Entry(NamedTuple):
    value: float
    bootstrap: Sequence[float]
    reasons: tuple[Reason, ...]

    def array(self) -> np.ndarray:
        """Return the value and its replicates, [1 + replicates]."""
        return np.array([self.value, *self.bootstrap], dtype=np.float64)


Runs = dict[int, dict[Key, _Entry]]


def cells_of(table: pd.DataFrame) -> dict[Cell, Runs]:
    """Return the numbers of each data set and backbone, by run and key."""
    cells: dict[Cell, Runs] = {}
    if "reasons" not in table:
        table = table.assign(reasons=[()] * len(table))
    columns = [*CELL, "run", *Key._fields, *_Entry._fields]
    lists = [table[name].tolist() for name in columns]  # much faster than rows of pandas
    for data_set, backbone, run, *row in zip(*lists, strict=True):
        numbers = cells.setdefault((data_set, backbone), {}).setdefault(run, {})
        key = Key(*row[: len(Key._fields)])
        if key in numbers:
            refuse_duplicates(table, [*CELL, "run", *Key._fields])
        numbers[key] = _Entry(*row[len(Key._fields) :])
    return cells


def measure(empty: Judged, runs: Runs, trainings: Trainings | None = None) -> Judged:
    """Return the effect of `empty` with its size, draws and reasons, from the runs of its cell."""
    number = empty.effect.number
    if trainings and len({trainings.of(key.method) for key in number.keys}) > 1:
        return _compare(empty, runs, trainings)
    used: list[tuple[Key, _Entry]] = []
    computed: dict[int, np.ndarray] = {}
    for run in sorted(runs):
        entries = [runs[run][key] for key in number.keys if key in runs[run]]
        if len(entries) < len(number.keys):
            continue
        arrays = [entry.array() for entry in entries]
        _replicates(entries, f"{', '.join(empty.cell)}, run {run}")
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
        return _without(empty)

    points = np.array([values[0] for values in computed.values()])
    replicates = min(map(len, computed.values())) - 1
    images = np.array([_centred(values[1:])[:replicates] for values in computed.values()])
    remarks = []
    if left := sorted(set(runs) - set(computed)):
        remarks.append(remark(f"incomplete, left out: run {', '.join(map(str, left))}"))
    if len(computed) == 1:
        remarks.append(_one_run(replicates))
    elif not replicates:
        remarks.append(remark("no replicates: only runs resampled"))
    fixed = sorted({key.metric for key, entry in used if not len(entry.bootstrap)})
    if replicates and fixed:
        remarks.append(remark(f"without replicates, held fixed: {', '.join(fixed)}"))
    reasons = each_once(entry.reasons for _, entry in used)
    return replace(
        empty,
        size=float(np.mean(points)),
        draws=_draw(points, images) if len(computed) > 1 or replicates else None,
        runs=len(computed),
        varied=len(computed) > 1,
        reasons=(*remarks, *reasons),
    )


def _without(empty: Judged) -> Judged:
    return replace(empty, reasons=(remark("no run has all of its numbers"),))


def _one_run(replicates: int) -> Reason:
    return remark("one run: no training resampled" if replicates else "one run, no replicates")


def _compare(empty: Judged, runs: Runs, trainings: Trainings) -> Judged:
    """Return an effect of means over runs, of methods that are different trainings."""
    keys = empty.effect.number.keys
    entries = {key: _by_run(runs, key) for key in keys}
    if not all(entries.values()):
        return _without(empty)
    used = [entry for by_run in entries.values() for entry in by_run.values()]
    replicates = _replicates(used, ", ".join(empty.cell))
    _, replicate = _picks(1, replicates)
    between_runs = _spreads(entries, runs, trainings)
    means = []
    deviations = []
    fixed: list[str] = []
    for position, (key, by_run) in enumerate(entries.items()):
        means.append(_values(by_run).mean())
        deviation = np.zeros(DRAWS)
        if drawn := [entry.bootstrap for entry in by_run.values() if len(entry.bootstrap)]:
            deviation += _centred(np.mean(drawn, axis=0))[replicate[:, 0]]
        elif replicates:
            fixed.append(key.metric)
        if between_runs:
            deviation += spread.draw(between_runs[key], position, DRAWS)
        deviations.append(deviation)
    compute = empty.effect.number.compute
    size = float(compute(*(np.array([mean]) for mean in means))[0])
    pairs = zip(means, deviations, strict=True)
    draws = compute(*(mean + deviation for mean, deviation in pairs))
    if not np.isfinite([size, *draws]).all():
        return _without(empty)
    # an ensemble has the spread of its members
    fewest = min(
        between_runs[key].freedom + 1 if between_runs and between_runs[key].group else len(by_run)
        for key, by_run in entries.items()
    )
    most = max((each.freedom for each in between_runs.values()), default=0)
    remarks = []
    if fixed:
        remarks.append(remark(f"without replicates, held fixed: {', '.join(fixed)}"))
    if not between_runs:
        remarks.append(_one_run(replicates))
    elif 2 * (fewest - 1) < most:
        remarks.append(remark("a method with few runs is given the spread of the others' runs"))
    reasons = each_once(entry.reasons for entry in used)
    return replace(
        empty,
        size=size,
        draws=draws if between_runs or replicates else None,
        runs=fewest,
        varied=bool(between_runs),
        reasons=(*remarks, *reasons),
    )


def _replicates(entries: Sequence[_Entry], where: str) -> int:
    """Return how many replicates the numbers have that have any; refuse unequal counts."""
    counts = {len(entry.bootstrap) for entry in entries} - {0}
    if len(counts) > 1:
        raise ValueError(
            f"table: the numbers of {where} have different numbers of bootstrap replicates, which"
            " cannot be paired"
        )
    return max(counts, default=0)


def _by_run(runs: Runs, key: Key) -> dict[int, _Entry]:
    return {run: numbers[key] for run, numbers in sorted(runs.items()) if key in numbers}


def _spreads(
    entries: dict[Key, dict[int, _Entry]], runs: Runs, trainings: Trainings
) -> dict[Key, Spread]:
    """Return the spread between runs of each number; none if it is not known for one of them."""
    metrics: dict[tuple[str, ...], dict[str, Values]] = {}
    for key, by_run in entries.items():
        without = _by_run(runs, key._replace(calibration=WITHOUT_RUN))
        metrics.setdefault(key[1:], {})[key.method] = Values(_values(by_run), _values(without))
    result: dict[Key, Spread] = {}
    for columns, methods in metrics.items():
        members = any(len(values.without) for values in methods.values())
        for name, values in methods.items():
            of_baseline = trainings.of(name) == trainings.baseline
            if of_baseline and (members or name != trainings.baseline) and len(values.runs) > 1:
                methods[name] = values._replace(without=spread.leave_out(values.runs))
        others = []
        if trainings.baseline not in methods:
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
    draws = centre + (draws - centre) * spread.lengths(runs, DRAWS)
    if replicates:
        draws += images[picks, replicate].mean(axis=1)
    return draws


@functools.cache
def _picks(runs: int, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    # the drawn runs [draws, runs], and a replicate for each draw [draws, 1], for any number of runs
    picks = np.random.default_rng(0).integers(runs, size=(DRAWS, runs))
    return picks, np.random.default_rng(1).integers(max(1, replicates), size=(DRAWS, 1))
