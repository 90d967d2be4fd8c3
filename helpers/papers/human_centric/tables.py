"""Tables of detection error rates over many networks: all of them, and their means."""

from collections.abc import Mapping, Sequence

import pandas as pd

from helpers.papers.human_centric.parameters import (
    FRESH,
    KINDS,
    METHODS,
    PAPER_METHODS,
    TEXTS,
    ModelName,
)
from helpers.tables import printed_numbers, results
from helpers.tables.comparisons import counted_networks, runs_in_words
from helpers.tables.table import Table, categories, mark_best, number

#: How many sets of each of `KINDS` the paper's average has.
PAPER_SETS = (1, 3, 4)
#: The metrics of the paper's tables.
METRICS = {"der95": "DER95", "der99": "DER99"}
#: The rules without a score.
ACCEPT = "accept everything"
REJECT = "reject everything"
#: Least mean error rate on unknown classes of a score that accepts almost everything.
_ACCEPTING = 0.9
#: The paper's sets of unknown classes.
_PAPER_UNKNOWN = ("textures", "inaturalist", "places", "sun")

_MEANS = ("input-shifted", "label-shifted", "near", "far", "average")  # over sets


def cases(table: pd.DataFrame, metric: str = "der99") -> pd.DataFrame:
    """Return the average error rate of each network and score, float64 [networks, scores].

    Means over runs and data sets; scores in the order of `METHODS`, NaN if a network lacks a score.
    """
    rows = table[(table["metric"] == metric) & (table["test_set"] == "average")]
    if rows.empty:
        raise ValueError(f"table: no {metric} on the test set average")
    wide = rows.pivot_table("value", "backbone", "method", aggfunc="mean", sort=False)
    return wide[[name for name in METHODS if name in wide]].rename_axis(index=None, columns=None)


def weighted_cases(table: pd.DataFrame, metric: str = "der99") -> pd.DataFrame:
    """Return the average error rate at the paper's weights of the kinds of sets, with both rules.

    One data set and variant to float64 [networks, scores and rules]; NaN if a score is missing.
    No prediction of a label-shifted set is correct, so rejecting makes no error there.
    """
    weights = pd.Series(PAPER_SETS, KINDS) / sum(PAPER_SETS)
    rates = table[(table["metric"] == metric) & table["test_set"].isin(KINDS)]
    rates = rates.pivot_table("value", ["backbone", "method"], "test_set", sort=False)
    averages = (rates.reindex(columns=weights.index) @ weights).unstack("method")
    right = table[table["metric"] == "accuracy"].pivot_table("value", "backbone", "test_set")
    kinds = pd.DataFrame(
        {"test": right["test"], "input-shifted": right.drop(columns="test").mean(axis=1)}
    )
    rejecting = (kinds @ weights[kinds.columns]).reindex(averages.index)
    averages = averages[[name for name in METHODS if name in averages]]
    averages = averages.assign(**{ACCEPT: 1 - rejecting, REJECT: rejecting})
    return averages.rename_axis(index=None, columns=None)


def printed_cases(metric: str = "der99") -> pd.DataFrame:
    """Return the paper's average error rates, computed again, and that of rejecting everything.

    The paper prints no accuracy.  On a known set, the largest DER99 among the scores that accept
    nine of ten images of unknown classes is nearly the error of the network; published errors of
    the networks differ from it by about a point.
    """
    printed = printed_numbers.with_averages(printed_numbers.load("human_centric"))
    averages = cases(printed, metric)
    rates = printed[printed["metric"].eq("der99") & printed["test_set"].ne("average")]
    rates = rates.pivot(index=["backbone", "method"], columns="test_set", values="value")
    unknown = rates[[*_PAPER_UNKNOWN]]
    known = rates.drop(columns=unknown.columns)
    errors = known[unknown.mean(axis=1) >= _ACCEPTING].groupby("backbone").max()
    rejecting = (1 - errors).sum(axis=1) / rates.shape[1]
    return averages.assign(**{REJECT: rejecting})


def zoo(table: pd.DataFrame, *, methods: Mapping[str, str] = METHODS) -> Table:
    """Return accuracy and average DER99 of all networks; failed networks come last."""
    error = (table["metric"] == "der99") & (table["test_set"] == "average")
    accuracy = (table["metric"] == "accuracy") & (table["test_set"] == "test")
    means = results.summary(table[error | accuracy])
    if not means["method"].isin(list(methods)).any():
        raise ValueError("table: no average der99 of these scores")
    titles = {"network": "accuracy ↑", **methods}
    failed = table.query("metric == 'failed' and method == 'network' and test_set == 'test'")
    cells = pd.concat([means[means["method"].isin(list(titles))], failed], ignore_index=True)
    of_scores = cells["mean"].where(cells["method"] != "network")
    cells = cells.assign(
        text=[number(100 * share, ".1f") for share in cells["mean"]],
        bold=mark_best(-of_scores, cells["data_set"], cells["backbone"]),
        method=categories(cells["method"], titles),
    )
    tiers = sorted(table["tier"].unique())
    variants = [name for name in table["variant"].unique() if name != "primary"]
    caption = TEXTS["zoo"].format(
        tiers=", ".join(tiers),
        runs=runs_in_words(means, deviations=False),
        failures=_failures(table),
    )
    name = "-".join(["zoo", *tiers, *variants])
    lines = ["data_set", "backbone"] if cells["data_set"].nunique() > 1 else ["backbone"]
    return Table(cells, lines, ["method"], name=name, caption=caption)


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return the scores' error rates over normally trained networks, next to the paper's."""
    table = table[table["data_set"] == parameters.data_set]
    primary = table[table["variant"] == "primary"]
    every = weighted_cases(primary)
    scores = [name for name in PAPER_METHODS if name in every]
    every = every[[*scores, ACCEPT, REJECT]].dropna()
    ours = every[[ModelName.parse(name).strategy == "normal" for name in every.index]]
    fresh = table[table["variant"] == FRESH]
    means = {}
    for metric, title in METRICS.items():
        means[title] = weighted_cases(primary, metric).loc[ours.index].mean()
        means[f"{title} (paper)"] = printed_cases(metric).mean()
        if len(fresh):
            of_fresh = weighted_cases(fresh, metric).loc[ours.index]
            means[f"{title}, fresh threshold"] = of_fresh.mean()
    wide = (100 * pd.DataFrame(means)).loc[[*ours]].map("{:.1f}".format).replace("nan", "")
    wide = wide.rename(PAPER_METHODS)
    accuracies = primary[primary["metric"] == "accuracy"]
    correct = accuracies.pivot_table("value", "backbone", "test_set").loc[ours.index]
    rates = primary[(primary["metric"] == "der99") & (primary["method"] == "msp")]
    sets = [name for name in rates["test_set"].unique() if name not in _MEANS]
    caption = TEXTS["main"].format(
        networks=_networks_in_words(ours.index, parameters),
        tier=parameters.tier,
        least=f"{100 * correct['test'].min():.0f}",
        most=f"{100 * correct['test'].max():.0f}",
        data_set=parameters.data_set,
        input_shifted=", ".join(name for name in sets if name in correct and name != "test"),
        label_shifted=", ".join(name for name in sets if name not in correct),
        printed=len(printed_cases()),
        failures=_failures(primary[primary["method"].isin([*PAPER_METHODS])]),
    )
    cells = wide.rename_axis("method").reset_index().melt("method", value_name="text")
    name = f"{parameters.tier}-error-rates"
    return Table(cells, ["method"], ["variable"], name=name, caption=caption)


def each_network(table: pd.DataFrame) -> dict[str, Table]:
    """Return the paper's scores on each network by the source of the threshold, as `zoo`."""
    of_scores = table["method"].isin(PAPER_METHODS) & (table["metric"] != "failed")
    table = table[of_scores | (table["method"] == "network")]
    variants = [name for name in ("primary", FRESH) if table["variant"].eq(name).any()]
    return {name: zoo(table[table["variant"] == name], methods=PAPER_METHODS) for name in variants}


def _networks_in_words(names: Sequence[str], parameters) -> str:
    """Return how many networks there are, and how many of them others trained, in words."""
    here = {*parameters.architectures, *parameters.exported}
    trained = sum(ModelName.parse(name).architecture in here for name in names)
    kinds = {"that others trained": len(names) - trained, "trained here": trained}
    return counted_networks(kinds)


def _failures(table: pd.DataFrame) -> str:
    """Return which networks, sets and scores of a results table failed, and why, for a caption."""
    failed = table[table["metric"] == "failed"]
    networks = failed.groupby("method")["backbone"].transform("nunique")
    everywhere = networks == table["backbone"].nunique()
    of_network = failed["method"] == "network"
    of_test = failed["test_set"] == "test"
    names = failed["method"] + " of " + failed["backbone"]
    names = names.mask(everywhere, failed["method"])
    names = names.mask(of_network, failed["test_set"].mask(of_test, failed["backbone"]))
    groups = names.groupby(failed["notes"], sort=False).unique()
    return "".join(f" Failed: {', '.join(group)} ({why})." for why, group in groups.items())
