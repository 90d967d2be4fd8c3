"""Tables of detection error rates over many networks: all of them, and their means."""

from collections.abc import Mapping, Sequence

import pandas as pd

from helpers.metrics.ranks import mean_ranks
from helpers.papers.human_centric.parameters import FRESH, METHODS, PAPER_METHODS, TEXTS, ModelName
from helpers.tables import printed_numbers, results
from helpers.tables.comparisons import counted_networks, runs_in_words
from helpers.tables.table import Table, categories, mark_best, number

_MEANS = ("input-shifted", "label-shifted", "near", "far", "average")  # over sets


def cases(table: pd.DataFrame) -> pd.DataFrame:
    """Return the average DER99 of each network and score, float64 [networks, scores].

    Means over runs and data sets; scores in the order of `METHODS`, NaN if a network lacks a score.
    """
    rows = table[(table["metric"] == "der99") & (table["test_set"] == "average")]
    if rows.empty:
        raise ValueError("table: no der99 on the test set average")
    wide = rows.pivot_table("value", "backbone", "method", aggfunc="mean", sort=False)
    return wide[[name for name in METHODS if name in wide]].rename_axis(index=None, columns=None)


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
    return Table(cells, lines, ["method"], name=name, caption=caption, data=means)


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return the scores' error rates over normally trained networks, the paper's in brackets."""
    table = table[table["data_set"] == parameters.data_set]
    primary = table[table["variant"] == "primary"]
    errors = cases(primary)
    errors = errors[[name for name in PAPER_METHODS if name in errors]].dropna()
    ours = errors[[ModelName.parse(name).strategy == "normal" for name in errors.index]]
    paper_values = cases(printed_numbers.with_averages(printed_numbers.load("human_centric")))
    wide = over_networks(ours) + " (" + over_networks(paper_values[list(ours)]) + ")"
    if table["variant"].eq(FRESH).any():
        fresh = cases(table[table["variant"] == FRESH]).loc[ours.index]
        wide[FRESH] = (100 * fresh[list(ours)].mean()).map("{:.1f}".format)
    accuracies = primary[primary["metric"] == "accuracy"]
    correct = accuracies.pivot_table("value", "backbone", "test_set").loc[ours.index]
    rates = primary[(primary["metric"] == "der99") & (primary["method"] == "msp")]
    sets = [name for name in rates["test_set"].unique() if name not in _MEANS]
    # no prediction of a label-shifted set is correct: it has no accuracy
    rejecting = 100 * (correct.sum(axis=1) / len(sets)).mean()
    wide = wide.rename(PAPER_METHODS)
    for rule, rate in {"accept": 100 - rejecting, "reject": rejecting}.items():
        wide.loc[f"{rule} everything"] = [f"{rate:.1f}", *[""] * (wide.shape[1] - 1)]
    caption = TEXTS["main"].format(
        networks=_networks_in_words(ours.index, parameters),
        tier=parameters.tier,
        least=f"{100 * correct['test'].min():.0f}",
        most=f"{100 * correct['test'].max():.0f}",
        data_set=parameters.data_set,
        input_shifted=", ".join(name for name in sets if name in correct and name != "test"),
        label_shifted=", ".join(name for name in sets if name not in correct),
        printed=len(paper_values),
        failures=_failures(primary[primary["method"].isin([*PAPER_METHODS])]),
    )
    cells = wide.rename_axis("method").reset_index().melt("method", value_name="text")
    name = f"{parameters.tier}-error-rates"
    return Table(cells, ["method"], ["variable"], name=name, caption=caption, data=ours)


def each_network(table: pd.DataFrame) -> dict[str, Table]:
    """Return the paper's scores on each network by the source of the threshold, as `zoo`."""
    of_scores = table["method"].isin(PAPER_METHODS) & (table["metric"] != "failed")
    table = table[of_scores | (table["method"] == "network")]
    variants = [name for name in ("primary", FRESH) if table["variant"].eq(name).any()]
    return {name: zoo(table[table["variant"] == name], methods=PAPER_METHODS) for name in variants}


def over_networks(errors: pd.DataFrame) -> pd.DataFrame:
    """Return mean, mean rank and number of wins of each score, from [networks, scores], as text.

    >>> print(over_networks(pd.DataFrame({"msp": [0.25, 0.5], "vim": [0.25, 0.625]})))
        average DER99, % mean rank best on
    msp             37.5       1.2       2
    vim             43.8       1.8       1
    """
    return pd.DataFrame(
        {
            "average DER99, %": (100 * errors.mean()).map("{:.1f}".format),
            "mean rank": mean_ranks(errors, lower_is_better=True).map("{:.1f}".format),
            "best on": errors.eq(errors.min(axis=1), axis=0).sum().map(str),
        }
    )


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
