"""All algorithms, scores and measures side by side: do the measures agree on who is best?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers import cache
from helpers.checks import known_name
from helpers.files import project_root, sha256_file
from helpers.papers import PAPERS, TIERS
from helpers.report import results
from helpers.report.ledger import PUBLISHED, ledger, tally
from helpers.report.table import DOWN, UP, Table, categories, single
from known_unknowns.across.measures import COMPARED, MEASURES
from known_unknowns.across.parameters import ALGORITHMS

AMONG = {
    "cells": "all algorithms and scores",
    "scores": "scores of the baseline",
    "algorithms": "algorithms with MSP",
}
"""Between what measures choose, and how that is called."""

_CHOSEN = {"scores": ("algorithm", "baseline"), "algorithms": ("score", "msp")}
_NAMES = {(one.metric, one.test_set): name for name, one in MEASURES.items()}

CORRELATIONS = {"spearman": "Spearman's ρ", "kendall": "Kendall's τ"}


def headline() -> Table:
    """Return how the claims of all papers fare by the committed results of each tier.

    Kept in the cache, since judging takes its time, until a result or the code changes.
    """
    root = project_root()
    files = {
        (tier, name): file
        for tier in TIERS
        for name, paper in PAPERS.items()
        if paper.main_claim and (file := root / "results" / tier / f"{name}.parquet").exists()
    }
    tiers = list(dict.fromkeys(tier for tier, _ in files))

    def count() -> dict[str, list]:
        found = ledger(PAPERS, {place: results.read(file) for place, file in files.items()}, tiers)
        counts = tally(found).groupby(level="tier", sort=False).sum().reset_index()
        return counts.melt("tier", var_name="verdict", value_name="claims").to_dict("list")

    content = {"/".join(place): sha256_file(file) for place, file in files.items()}
    key = cache.key(tables=content, code=results.code_version())
    counts = pd.DataFrame(cache.value("claims", key, count))
    counts["tier"] = categories(counts["tier"], {PUBLISHED: "the papers' own numbers"})
    cells = counts.assign(text=counts["claims"].astype(str))
    caption = (
        f"Claims of {sum(bool(paper.main_claim) for paper in PAPERS.values())} papers, by what the "
        "committed results of each tier say to them, and the papers' own printed numbers. “No "
        "data”: not run at this tier, or nothing printed."
    )
    return Table(cells, ["tier"], ["verdict"], name="claims", caption=caption, data=counts)


def cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over runs: a row for each algorithm and score, a column for each measure.

    Parameters
    ----------
    table : DataFrame
        A results table of the synthesis, of one tier, data set and network.

    Returns
    -------
    DataFrame of float64
        The index has the levels ``algorithm`` and ``score``, in the order of `ALGORITHMS` and of
        the table; the columns are those of `MEASURES` that the table has.  What the classifier
        decides alone is repeated for each of its scores; NaN where a cell does not apply.

    Raises
    ------
    ValueError
        The table mixes tiers, data sets or networks, or has no score.
    """
    means = results.summary(_one_benchmark(table), by=["method", "test_set", "metric"])
    return _wide(means.assign(run=0), "mean").droplevel("run")


def shown(means: pd.DataFrame) -> pd.DataFrame:
    """Return `cells` under the names that a reader knows, as a table to show.

    Returns
    -------
    DataFrame
        The columns "algorithm" and "score", then the measures by their titles; an arrow says
        which way is better.
    """
    arrows = {True: UP, False: DOWN}
    titles = {name: f"{MEASURES[name].title} {arrows[MEASURES[name].higher]}" for name in means}
    costs = {name: int for name in ("parameters", "passes") if name in means}
    table = means.astype(costs).rename(columns=titles).reset_index()
    return table.assign(algorithm=table["algorithm"].map(ALGORITHMS))


def agreement(
    table: pd.DataFrame,
    *,
    among: str = "cells",
    correlation: str = "spearman",
    draws: int = 200,
) -> pd.DataFrame:
    """Return how far measures agree on who is better: their rank correlations, with intervals.

    Measures of which lower is better are turned round, so that 1 is the same order and −1 the
    opposite one.  The 95 % intervals are those of a bootstrap: of the runs, and of the images for
    the measures whose rows all have replicates.  With two runs they say little.

    Parameters
    ----------
    table : DataFrame
        As for `cells`.
    among : {"cells", "scores", "algorithms"}
        What is ranked, see `AMONG`.
    correlation : {"spearman", "kendall"}
        Kendall's is τ-b; both count ties.
    draws : int
        Of the bootstrap; without draws there are no intervals.

    Returns
    -------
    DataFrame
        One row per ordered pair of `COMPARED`, but for those that fewer than half of the ranked
        have, and those that are the same for all: ``first``, ``second``, ``correlation``, ``low``
        and ``high`` (NaN without draws, or with one run and no replicates), ``ranked`` (how many
        have all the measures), ``runs``.

    Raises
    ------
    ValueError
        An unknown name, fewer than two measures or three of what is ranked, or as `cells`.

    Notes
    -----
    Spearman 1904; Kendall 1938.  Each draw adds noise to what is in the table already, and noise
    makes any two orders less alike; the draws are therefore centred on the value.  The interval
    speaks of these algorithms, scores and test sets with other seeds or images, not of other ones.
    """
    known_name("among", among, AMONG)
    known_name("correlation", correlation, CORRELATIONS)
    everything = _wide(_one_benchmark(table), "value")
    values = _complete(everything[[name for name in COMPARED if name in everything]], among)
    names, runs = list(values.columns), values.index.unique("run")
    ranked = len(values) // len(runs)
    shape = (len(runs), ranked)
    points = values.to_numpy().reshape(*shape, len(names))
    replicates = {
        name: np.stack(drawn.tolist()).reshape(*shape, -1)
        for name, drawn in _wide(table, "bootstrap").loc[values.index, names].items()
        if drawn.map(len).min() > 0
    }
    signs = np.array([1.0 if MEASURES[name].higher else -1.0 for name in names])
    means = points.mean(axis=0)
    found = rank_correlations(signs * means, correlation)

    low = high = np.full_like(found, np.nan)
    if draws and (len(runs) > 1 or replicates):
        rng, drawn = np.random.default_rng(0), []
        spread = np.sqrt(len(runs) / max(1, len(runs) - 1))  # of as many runs is too small by this
        for number in range(draws):
            which = rng.integers(0, len(runs), len(runs))
            noise = spread * (points[which].mean(axis=0) - means)
            for name, images in replicates.items():
                one = images[which, :, number % images.shape[-1]]
                noise[:, names.index(name)] += (one - images[which].mean(axis=-1)).mean(axis=0)
            drawn.append(rank_correlations(signs * (means + noise), correlation))
        low, high = _interval(found, np.array(drawn))
    pairs = pd.MultiIndex.from_product([names, names], names=["first", "second"])
    columns = {"correlation": found.ravel(), "low": low.ravel(), "high": high.ravel()}
    return pd.DataFrame(columns, pairs).reset_index().assign(ranked=ranked, runs=len(runs))


def rankable(table: pd.DataFrame) -> list[str]:
    """Return the names of `AMONG` of which a table has three or more, as for `cells`."""
    index = cells(table).index.to_frame()
    chosen = {among: _CHOSEN.get(among) for among in AMONG}
    counts = {
        among: len(index) if one is None else (index[one[0]] == one[1]).sum()
        for among, one in chosen.items()
    }
    return [among for among, count in counts.items() if count >= 3]


def rank_correlations(values: np.ndarray, correlation: str) -> np.ndarray:
    """Return the rank correlations between columns of [ranked, measures]: [measures, measures]."""
    if correlation == "spearman":
        from scipy.stats import rankdata  # here, since SciPy takes long to import

        scores = rankdata(values, axis=0)
        scores -= scores.mean(axis=0)
    else:  # Kendall's τ-b is the correlation of the signs of all differences
        scores = np.sign(values[:, None] - values[None]).reshape(-1, values.shape[1])
    products = scores.T @ scores
    norms = np.sqrt(np.diag(products))
    return products / np.outer(norms, norms)


def prediction_errors(means: pd.DataFrame) -> pd.DataFrame:
    """Return how far off AUROCs are that were predicted without labels, by algorithm.

    Parameters
    ----------
    means : DataFrame
        From `cells`.

    Returns
    -------
    DataFrame of float64
        By titles of algorithms with three scores or more: ``rank correlation`` of predicted and
        true AUROC, and ``mean distance`` of the two.
    """
    both = means[["auroc", "predicted_auroc"]].dropna()
    distances = (both["predicted_auroc"] - both["auroc"]).abs()
    rows = {
        ALGORITHMS[name]: {
            "rank correlation": part["auroc"].corr(part["predicted_auroc"], "spearman"),
            "mean distance": distances[part.index].mean(),
        }
        for name, part in both.groupby(level="algorithm", sort=False)
        if len(part) > 2
    }
    return pd.DataFrame(rows).T


def scaling(table: pd.DataFrame, score: str = "msp") -> pd.DataFrame:
    """Return what temperature scaling does to the calibration error, without and with unknowns.

    Parameters
    ----------
    table : DataFrame
        As for `cells`, with all its variants.
    score : str
        That gives the probability of "unknown".

    Returns
    -------
    DataFrame of float64
        By titles of algorithms, means over runs: ``temperature``, and the errors ``ECE`` and
        ``open-set ECE``, each also ``scaled``; the latter are NaN without near images, or where
        the score does not apply.

    Raises
    ------
    ValueError
        The table mixes tiers, data sets or networks.
    """
    single("table", table, "tier", "data_set", "backbone")
    means = table.groupby(["method", "metric", "variant"])["value"].mean()
    rows = {
        ALGORITHMS[name]: {
            "temperature": means[name, "temperature", "scaled"],
            "ECE": means[name, "ece", "primary"],
            "ECE, scaled": means[name, "ece", "scaled"],
            "open-set ECE": means.get((f"{name}/{score}", "open_set_ece", "primary")),
            "open-set ECE, scaled": means.get((f"{name}/{score}", "open_set_ece", "scaled")),
        }
        for name in ALGORITHMS
        if (name, "temperature", "scaled") in means
    }
    return pd.DataFrame.from_dict(rows, orient="index", dtype=np.float64)


def leaders(means: pd.DataFrame) -> pd.DataFrame:
    """Return which algorithm and score each measure calls the best, and its places by the others.

    Parameters
    ----------
    means : DataFrame
        From `cells`; the measures are those of `COMPARED` that it has.

    Returns
    -------
    DataFrame
        One row per measure: ``measure`` (its title), ``algorithm``, ``score``, ``value``, and
        ``worst place``, the lowest place of that cell by another measure, as in "12 of 40", with
        ``by``, the title of that measure.  Ties share their best place; the first of a tie leads.
    """
    measures = [name for name in COMPARED if name in means]
    signs = {name: -1 if MEASURES[name].higher else 1 for name in measures}
    places = (means[measures] * signs).rank(method="min")
    rows = []
    for name in measures:
        best = places[name].idxmin()
        others = places.loc[best].drop(name).dropna()
        row = {
            "measure": MEASURES[name].title,
            "algorithm": ALGORITHMS[best[0]],
            "score": best[1],
            "value": means.loc[best, name],
        }
        if len(others):
            other = others.idxmax()
            row["worst place"] = f"{others[other]:.0f} of {places[other].count()}"
            row["by"] = MEASURES[other].title
        rows.append(row)
    return pd.DataFrame(rows)


def best_scores(means: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return each algorithm with its best score by a measure: one row of `cells` each.

    Raises
    ------
    ValueError
        `means` has no such measure.
    """
    known_name("measure", measure, means.columns)
    signed = means[measure] * (1 if MEASURES[measure].higher else -1)
    best = signed.dropna().groupby(level="algorithm", sort=False).idxmax()
    return means.loc[best.tolist()]


def pareto(means: pd.DataFrame, measures: Sequence[str]) -> pd.Series:
    """Return what is on the Pareto front: no other is as good by all measures and better by one.

    Parameters
    ----------
    means : DataFrame
        From `cells`, or some rows of it.
    measures : sequence of str
        Of `MEASURES` and columns of `means`.

    Returns
    -------
    Series of bool
        With the index of `means`; a row that lacks a measure is not on the front, and of equal
        rows all are.

    Raises
    ------
    ValueError
        Unknown measures, or none.

    Examples
    --------
    >>> means = pd.DataFrame({"accuracy": [0.9, 0.8, 0.7], "ece": [0.2, 0.1, 0.1]})
    >>> pareto(means, ["accuracy", "ece"]).tolist()
    [True, True, False]
    """
    if not measures:
        raise ValueError("measures: empty")
    for name in measures:
        known_name("measure", name, [one for one in MEASURES if one in means])
    signs = np.array([1 if MEASURES[name].higher else -1 for name in measures])
    values = signs * means[list(measures)].to_numpy(dtype=np.float64)
    no_worse = (values[None] >= values[:, None]).all(axis=2)
    better = (values[None] > values[:, None]).any(axis=2)
    beaten = (no_worse & better).any(axis=1) | np.isnan(values).any(axis=1)
    return pd.Series(~beaten, index=means.index, name="on the front")


def _wide(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return measures across, by run, algorithm and score; what has no score goes to all."""
    keys = zip(table["metric"], table["test_set"], strict=True)
    parts = table["method"].str.partition("/")
    table = table.assign(name=[_NAMES.get(key) for key in keys], algorithm=parts[0], score=parts[2])
    # an algorithm alone has passes of its own too, and they are none of its scores'
    scored = [name for name, one in MEASURES.items() if one.of_score]
    of_score = table[table["name"].isin(scored) & (table["score"] != "")]
    alone = table[table["name"].isin(set(MEASURES) - set(scored)) & (table["score"] == "")]
    if of_score.empty:
        raise ValueError("table: no number of a score (of a method ALGORITHM/SCORE)")
    index = ["run", "algorithm", "score"]
    wide = of_score.pivot(index=index, columns="name", values=column)
    wide = wide.join(alone.pivot(index=index[:2], columns="name", values=column), on=index[:2])
    for name in wide.index.unique("algorithm"):
        known_name("algorithm", name, ALGORITHMS)
    order = {
        "algorithm": {name: place for place, name in enumerate(ALGORITHMS)},
        "score": {name: place for place, name in enumerate(dict.fromkeys(of_score["score"]))},
    }
    wide = wide.sort_index(
        key=lambda level: level.map(order[level.name]) if level.name in order else level
    )
    return wide[[name for name in MEASURES if name in wide]].rename_axis(columns=None)


def _one_benchmark(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table, or say what it mixes."""
    single("table", table, "tier", "data_set", "backbone", "variant")
    places = ["run", "method", "test_set", "metric"]
    if table.duplicated(places).any():
        twice = table.loc[table.duplicated(places), places].iloc[0].tolist()
        raise ValueError(f"table: {twice} is there twice; choose one calibration")
    return table


def _complete(values: pd.DataFrame, among: str) -> pd.DataFrame:
    """Return what is ranked, in every run, by measures that all of it has and that vary."""
    level, one = _CHOSEN.get(among, (None, None))
    if level:
        values = values[values.index.get_level_values(level) == one]
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


def _interval(found: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper ends about what was found, from draws [draws, ...]."""
    noise = np.quantile(drawn - drawn.mean(axis=0), [0.025, 0.975], axis=0)
    low, high = np.clip(found + noise, -1, 1)
    return np.minimum(low, found), np.maximum(high, found)
