"""All algorithms, scores and measures side by side: do the measures agree on who is best?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.checks import known_name
from helpers.papers import TIERS
from helpers.tables import results
from helpers.tables.table import Table, categories, single
from synthesis.across.measures import ALGORITHMS, COMPARED, MEASURES
from synthesis.ledger import PRINTED, tally, with_committed
from synthesis.spread import lengths

#: The kinds of methods that the measures rank, with their titles.
AMONG = {
    "cells": "all algorithms and scores",
    "scores": "scores of the baseline",
    "algorithms": "algorithms with MSP",
}

_DRAWS = 200  # of runs and images, for an interval
_CHOSEN = {"scores": ("algorithm", "baseline"), "algorithms": ("score", "msp")}
_NAMES = {(measure.metric, measure.test_set): name for name, measure in MEASURES.items()}


def headline() -> Table:
    """Count the verdicts on the claims of all papers, by the committed results of each tier."""
    counts = tally(judged := with_committed({}, TIERS)).groupby(level="tier", sort=False).sum()
    counts = counts[counts.drop(columns="no data").any(axis=1)].reset_index()
    counts = counts.melt("tier", var_name="verdict", value_name="claims")
    counts["tier"] = categories(counts["tier"], {PRINTED: "the papers' own numbers"})
    caption = (
        f"Verdicts on the claims of {judged['paper'].nunique()} papers by the committed results of "
        "each tier, and by the papers' own printed numbers. “No data”: not run at this tier, or "
        "nothing printed."
    )
    text = counts.assign(text=counts["claims"].astype(str))
    return Table(text, ["tier"], ["verdict"], name="claims", caption=caption)


def cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over runs: a row for each algorithm and score, a column for each measure."""
    means = results.summary(_one_benchmark(table), by=["method", "test_set", "metric"])
    return _wide(means.assign(run=0), "mean").droplevel("run")


def agreement(table: pd.DataFrame, *, among: str = "cells") -> pd.DataFrame:
    """Return Spearman's correlation of each ordered pair of measures, with 95 % intervals."""
    known_name("among", among, AMONG)
    everything = _wide(_one_benchmark(table), "value")
    values = _complete(everything[[name for name in COMPARED if name in everything]], among)
    names = list(values.columns)
    runs = values.index.unique("run").size
    points = values.to_numpy().reshape(runs, -1, len(names))
    means = points.mean(axis=0)
    replicates = {
        name: np.stack(drawn.tolist()).reshape(runs, points.shape[1], -1)
        for name, drawn in _wide(table, "bootstrap").loc[values.index, names].items()
        if drawn.map(len).min() > 0
    }
    signs = np.array([1.0 if MEASURES[name].higher else -1.0 for name in names])

    def correlate(noise: np.ndarray | float = 0.0) -> np.ndarray:
        return pd.DataFrame(signs * (means + noise)).corr("spearman").to_numpy()

    value = correlate()
    low = high = np.full_like(value, np.nan)
    if runs > 1 or replicates:
        rng = np.random.default_rng(0)
        drawn = []
        for number, longer in enumerate(lengths(runs, _DRAWS)):
            which = rng.integers(0, runs, runs)
            noise = longer * (points[which].mean(axis=0) - means)
            for name, images in replicates.items():
                replicate = images[which, :, number % images.shape[-1]]
                centred = replicate - images[which].mean(axis=-1)
                noise[:, names.index(name)] += centred.mean(axis=0)
            drawn.append(correlate(noise))
        below, above = np.quantile(drawn - np.mean(drawn, axis=0), [0.025, 0.975], axis=0)
        low = np.clip(value + below, -1, value)
        high = np.clip(value + above, value, 1)
    pairs = pd.MultiIndex.from_product([names, names], names=["first", "second"])
    columns = {"correlation": value.ravel(), "low": low.ravel(), "high": high.ravel()}
    return pd.DataFrame(columns, pairs).reset_index()


def rankable(table: pd.DataFrame) -> list[str]:
    """Return the names of `AMONG` with three or more rows in a table."""
    index = cells(table).index
    return [among for among in AMONG if _are_among(index, among).sum() >= 3]


def _wide(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return measures in columns, by run, algorithm and score; scores share model measures."""
    keys = zip(table["metric"], table["test_set"], strict=True)
    parts = table["method"].str.partition("/")
    table = table.assign(name=[_NAMES.get(key) for key in keys], algorithm=parts[0], score=parts[2])
    scored = [name for name, measure in MEASURES.items() if measure.of_score]
    of_score = table[table["name"].isin(scored)]
    alone = table[table["name"].isin(set(MEASURES) - set(scored))]
    if of_score.empty:
        raise ValueError("table: no number of a score (of a method ALGORITHM/SCORE)")
    for name in of_score["algorithm"].unique():
        known_name("algorithm", name, ALGORITHMS)
    index = ["run", "algorithm", "score"]
    wide = of_score.pivot(index=index, columns="name", values=column)
    wide = wide.join(alone.pivot(index=index[:2], columns="name", values=column), on=index[:2])
    orders = {"algorithm": list(ALGORITHMS), "score": list(dict.fromkeys(of_score["score"]))}
    wide = wide.sort_index(
        key=lambda level: level.map(orders[level.name].index) if level.name in orders else level
    )
    return wide[[name for name in MEASURES if name in wide]].rename_axis(columns=None)


def _one_benchmark(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table, and refuse a mixture of tiers, data sets, networks or variants."""
    single("table", table, "tier", "data_set", "backbone", "variant")
    places = ["run", "method", "test_set", "metric"]
    if table.duplicated(places).any():
        twice = table.loc[table.duplicated(places), places].iloc[0].tolist()
        raise ValueError(f"table: {twice} is there twice; choose one calibration")
    return table


def _are_among(index: pd.MultiIndex, among: str) -> np.ndarray:
    """Return which rows of an index are ranked."""
    level, name = _CHOSEN.get(among, ("score", index.get_level_values("score")))
    return index.get_level_values(level) == name


def _complete(values: pd.DataFrame, among: str) -> pd.DataFrame:
    """Return the ranked methods in every run, with the varying measures that all have."""
    values = values[_are_among(values.index, among)]
    values = values.loc[:, values.notna().mean() >= 0.5].dropna()
    runs = values.groupby(level=["algorithm", "score"]).transform("size")
    values = values[runs == values.index.unique("run").size]
    values = values.loc[:, values.groupby(level="run").nunique().max() > 1]
    ranked = values.index.droplevel("run").nunique()
    if values.shape[1] < 2 or ranked < 3:
        raise ValueError(
            f"table: of {AMONG[among]}, {values.shape[1]} measures of {ranked} can be ranked; two"
            " measures and three that have them are needed"
        )
    return values
