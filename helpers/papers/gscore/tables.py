"""Tables of the evaluation without labels, similar to the tables of Zhang et al. (2023)."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from helpers.labelfree import EVALUATORS
from helpers.networks.zoo_records import records
from helpers.papers.gscore import PAPER
from helpers.papers.gscore.errors import CONSTANT, METRIC_TITLES, constant_errors, set_errors
from helpers.tables import comparisons, printed_numbers, results
from helpers.tables.table import Table, categories, numbers

_BASELINES = {name: name.replace("_", "-") for name in (CONSTANT, "confidence", "auto_evaluation")}
#: Titles of the baselines and of the evaluators.
EVALUATOR_TITLES = _BASELINES | EVALUATORS

_MAIN = (
    *_BASELINES,
    "kmeans_l2",
    "gmm_wasserstein",
    "ude_wasserstein",
    "ude_l2",
    "statistic_mean",
    "statistic_moment",
    "statistic_share",
)
_RMSE = ("rmse_fpr95", "rmse_auroc")


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return the errors of predictions for one detector, next to the paper's Table 1."""
    table = table[table["data_set"] == parameters.data_set]
    primary = table[table["variant"] == "primary"]
    detector = parameters.detectors[0]
    names = primary["backbone"].drop_duplicates()
    others = int(names.isin(list(records())).sum())
    trained = len(names) - others
    networks = comparisons.counted_networks(
        {
            f"on four fifths of {parameters.data_set}": trained,
            f"that others have trained on {parameters.data_set}": others,
        }
    )
    tier = f"tier `{parameters.tier}`"
    if trained:
        tier += f", {parameters.training['epochs']} epochs"
    accuracies = 100 * primary.loc[primary["metric"] == "accuracy", "value"]
    number = ["method", "metric"]
    means = pd.concat([primary[primary["test_set"] == "all"], _constant(table, detector)])
    means = means.groupby(number, as_index=False).agg(
        mean=("value", "mean"), rows=("row", " ".join)
    )
    printed = printed_numbers.load("gscore").query("table == '1'")
    printed = printed.rename(columns={"value": "paper"})
    errors = means[means["metric"].isin(_RMSE)]
    errors = errors.merge(printed[[*number, "paper"]], how="left", on=number)
    parts = errors["method"].str.partition("/")
    errors = errors.assign(evaluator=parts[2], std=float("nan"), paper_std=float("nan"))
    errors = errors[parts[0].eq(detector) & errors["evaluator"].isin(_MAIN)]
    titles = {name: f"RMSE of {METRIC_TITLES[name.removeprefix('rmse_')]}" for name in _RMSE}
    rows = comparisons.stack_sources(errors)
    cells = rows.assign(
        text=numbers(rows, 100, ".1f"),
        evaluator=categories(rows["evaluator"], EVALUATOR_TITLES),
        metric=categories(rows["metric"], titles),
        source=categories(rows["source"], comparisons.SOURCES),
    )
    sets = table.loc[(table["variant"] == "test") & (table["metric"] == "auroc"), "test_set"]
    caption = (
        f"{networks} "
        f"({accuracies.min():.0f} to {accuracies.max():.0f} % correct), mixed with each of "
        f"{sets.nunique()} unlabelled data sets; {tier}. Error (RMSE, points) of the predicted "
        f"FPR95 and AUROC of the detector {detector} on sets that the regression has not seen: "
        f"means over networks and {parameters.repeats} divisions of the sets. The paper has one "
        "network and 200 sets (its Table 1)."
    )
    name = f"gscore-{parameters.tier}-main"
    across = ["metric", "source"]
    return Table(cells, ["evaluator"], across, name=name, caption=caption)


def _constant(table: pd.DataFrame, detector: str) -> pd.DataFrame:
    """Return rows with the error of the constant, the mean over the sets that teach."""
    rows = table[table["method"].isin([detector, f"{detector}/ude_wasserstein"])]
    errors = constant_errors(set_errors(rows), ["backbone", "run", "metric"])
    errors = errors.assign(method=f"{detector}/{CONSTANT}", metric="rmse_" + errors["metric"])
    return errors.rename(columns={"constant": "value"})


def over_test_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Return predictions and truths as means over the test sets of each run, for a `comparison`."""
    primary = table[table["variant"] == "primary"]
    predicted = primary[primary["metric"].str.startswith("predicted_")]
    if predicted.empty:
        raise ValueError("table: no predictions")
    cell = [name for name in results.IDENTITY if name != "run"]
    true = table[table["variant"] == "test"].assign(variant="primary")[[*cell, "value", "row"]]
    keys = predicted.assign(
        metric=predicted["metric"].str.removeprefix("predicted_"),
        method=predicted["method"].str.partition("/")[0],
    )[[*cell, "run"]]
    truths = keys.drop_duplicates().merge(true, on=cell)
    both = pd.concat([truths, predicted]).assign(test_set="all")
    means = both.groupby(list(results.IDENTITY), sort=False, as_index=False).agg(
        value=("value", "mean"), row=("row", " ".join)
    )
    accuracy = table[(table["method"] == "network") & (table["metric"] == "accuracy")]
    return pd.concat([accuracy[means.columns], means], ignore_index=True)


def rows_beside(table: pd.DataFrame) -> list[tuple[pd.DataFrame, Mapping[str, str]]]:
    """Return the rows of a results table to compare with printed numbers, with their networks.

    The first network of a data set represents DLA in correlations and errors.  On data sets other
    than CIFAR-10 it represents everything, because the paper uses no other network there.
    """
    primary = table[table["variant"] == "primary"]
    fits = primary["metric"].str.contains("^(?:rmse|pearson|spearman)_")
    first = primary["backbone"] == primary.groupby("data_set")["backbone"].transform("first")
    dla = dict.fromkeys(primary.loc[first, "backbone"], "DLA")
    means = over_test_sets(table)
    several = means["data_set"].map(PAPER.data_sets) == "CIFAR-10"
    return [(primary[fits & first], dla), (means[several], PAPER.networks), (means[~several], dla)]


def compare(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return comparisons of errors and correlations, and of means, with the paper's numbers."""
    printed = printed_numbers.load("gscore")
    compared = []
    for rows, families in rows_beside(table):
        if len(rows):
            names = PAPER.published_as
            compared.append(
                comparisons.comparison(rows, printed, published_as=names, families=families)
            )
    fits, *means = compared
    return fits[fits["data_set"] == table["data_set"].iloc[0]], pd.concat(means, ignore_index=True)
