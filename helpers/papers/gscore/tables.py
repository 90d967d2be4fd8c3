"""Tables of the evaluation without labels, as those of Zhang et al. 2023: ours above the paper's.

Numbers are in per cent, but for correlations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from helpers.labelfree import EVALUATORS
from helpers.networks.published import records
from helpers.papers.gscore import PAPER
from helpers.papers.gscore.parameters import DETECTORS
from helpers.papers.gscore.skills import (
    CONSTANT,
    METRIC_TITLES,
    set_errors,
    skill_caption,
    with_constant,
)
from helpers.report import published, results
from helpers.report.table import DOWN, UP, Table, categories, mark_best, numbers
from helpers.report.tables import comparisons

EVALUATOR_TITLES = {
    "confidence": "confidence",
    "auto_evaluation": "auto-evaluation",
    **EVALUATORS,
}
"""The evaluators and before them the baselines, and how they are called."""

_PROPOSED = "ude_wasserstein"
_MAIN_DATA_SET, _MAIN_NETWORK = "CIFAR-10", "DLA"
_RMSE = ("rmse_fpr95", "rmse_auroc")
_CORRELATIONS = {"pearson": "Pearson", "spearman": "Spearman"}
_NETWORKS = {
    "accuracy": f"ACC {UP} (%)",
    "fpr95": f"FPR95 {DOWN}, true (%)",
    "predicted_fpr95": "FPR95, predicted (%)",
    "skill": "skill of the prediction",
}


def rmse(part: pd.DataFrame, skill: pd.DataFrame | None = None) -> Table:
    """Return the root-mean-square errors of all evaluators, the constant before them.

    Each evaluator has a row of ours (mean ± standard deviation over runs), below it its skill, and
    the paper's; what has no number is left out.  Columns are detectors, for FPR95 and then
    for AUROC.  The lowest of a column is bold, among ours and among the paper's.
    """
    part = _of(part, _RMSE)
    own = comparisons.stack_sources(part)
    own = own.assign(
        text=numbers(own, 100, ".2f"),
        bold=mark_best(-own["mean"], own["source"], own["metric"], own["detector"]),
    )
    own = pd.concat([own, _skill_cells(own, skill, "rmse_")], ignore_index=True)
    cells = own.assign(
        source=categories(own["source"], {"ours": "ours", "skill": "skill", "paper": "paper"}),
        evaluator=categories(own["evaluator"], {CONSTANT: CONSTANT, **EVALUATOR_TITLES}),
        detector=categories(own["detector"], DETECTORS),
        metric=categories(own["metric"].str.removeprefix("rmse_"), METRIC_TITLES),
    )
    caption = (
        f"{comparisons.caption_of(part)} Root-mean-square error over the test sets of"
        f" predicted FPR95 and AUROC {DOWN}, in points. Bold: lowest of the column."
    ) + skill_caption(skill)
    lines, columns = ["evaluator", "source"], ["metric", "detector"]
    name = f"gscore-{comparisons.name_of(part, 'rmse')}"
    return Table(cells, lines, columns, name=name, caption=caption, data=part)


def correlations(part: pd.DataFrame, skill: pd.DataFrame | None = None) -> Table:
    """Return the correlations of the proposed Gscores with the six metrics.

    Rows are Pearson's and Spearman's correlation over the meta-training sets for each detector,
    ours (mean ± standard deviation over runs) and below it the paper's, and the skill of the line's
    predictions; columns are metrics.
    """
    part = _of(part, [f"{kind}_{name}" for kind in _CORRELATIONS for name in METRIC_TITLES])
    part = part[part["evaluator"] == _PROPOSED]
    if part.empty:
        raise ValueError(f"part: no correlation of {_PROPOSED}")
    own = comparisons.stack_sources(part)
    own = own.assign(text=numbers(own))
    own = pd.concat([own, _skill_cells(own, skill, "skill_")], ignore_index=True)
    kinds = own["metric"].str.partition("_")
    cells = own.assign(
        source=own["source"].replace("skill", "ours"),
        detector=categories(own["detector"], DETECTORS),
        kind=categories(kinds[0], _CORRELATIONS | {"skill": "skill"}),
        metric=categories(kinds[2], METRIC_TITLES),
    )
    caption = (
        f"{comparisons.caption_of(part)} Correlation of the Gscore by"
        f" {EVALUATOR_TITLES[_PROPOSED]} with each metric, over the meta-training sets."
    ) + skill_caption(skill)
    name = f"gscore-{comparisons.name_of(part, 'correlations', _PROPOSED)}"
    lines = ["detector", "kind", "source"]
    return Table(cells, lines, ["metric"], name=name, caption=caption, data=part)


def networks(part: pd.DataFrame, skill: pd.DataFrame | None = None) -> Table:
    """Return accuracy and true and predicted FPR95 of networks, and the predictions' skill.

    Each data set and backbone has a row of ours (mean ± standard deviation over runs) and below
    it the paper's, if it has one to set beside it.
    """
    part = _of(part, _NETWORKS)
    methods = {"accuracy": "network", "fpr95": "msp", "predicted_fpr95": f"msp/{_PROPOSED}"}
    part = part[part["method"] == part["metric"].map(methods)]
    part = part[part["test_set"].isin(["all", "test"])]
    if part.empty:
        raise ValueError(f"part: no accuracy or FPR95 of msp and msp/{_PROPOSED}")
    own = comparisons.stack_sources(part)
    theirs = own["paper_data_set"] + ", " + own["paper_backbone"]
    alone = theirs == own["data_set"] + ", " + own["backbone"]
    source = own["source"].where(alone | (own["source"] == "ours"), "paper, " + theirs)
    own = own.assign(text=numbers(own, 100, ".2f"), source=source)
    if skill is not None:
        rows = own[(own["metric"] == "predicted_fpr95") & (own["rows"] != "")]
        asked = skill[(skill["detector"] == "msp") & (skill["evaluator"] == _PROPOSED)]
        asked = asked[(asked["metric"] == "fpr95") & (asked["variant"] == "primary")]
        asked = asked[["data_set", "backbone", "text"]]
        beside = rows.drop(columns="text").merge(asked, on=["data_set", "backbone"])
        own = pd.concat([own, beside.assign(metric="skill")], ignore_index=True)
    cells = own.assign(metric=categories(own["metric"], _NETWORKS))
    ours = part[part["runs"] > 0]
    over = f"Ours: {comparisons.runs_in_words(ours)} and over test sets. " if len(ours) else ""
    return Table(
        cells,
        ["data_set", "backbone", "source"],
        ["metric"],
        name="-".join(filter(None, ["gscore", *sorted(part["tier"].unique()), "networks"])),
        caption=f"{over}Paper: {comparisons.tables_in_words(part)}. FPR95 of MSP, true and"
        f" as predicted by {EVALUATOR_TITLES[_PROPOSED]}.{skill_caption(skill)}",
        data=part,
    )


def _skill_cells(own: pd.DataFrame, skill: pd.DataFrame | None, prefix: str) -> pd.DataFrame:
    """Return the skills of the evaluators of a table as cells of it, metrics with a prefix."""
    if skill is None:
        return own.iloc[:0]
    place = own.iloc[0]
    asked = skill[(skill["data_set"] == place["data_set"]) & (skill["variant"] == "primary")]
    asked = asked[asked["backbone"] == place["backbone"]]
    pairs = own[["detector", "evaluator"]].drop_duplicates()
    asked = asked.merge(pairs, on=["detector", "evaluator"])
    metrics = prefix + asked["metric"]
    if prefix == "rmse_":
        asked, metrics = asked[metrics.isin(_RMSE)], metrics[metrics.isin(_RMSE)]
    return asked.assign(metric=metrics, source="skill", rows="", bold=False)[
        ["detector", "evaluator", "metric", "source", "text", "rows", "bold"]
    ]


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return the errors of predictions for one detector, the paper's of Table 1 in brackets."""
    table = table[table["data_set"] == parameters.data_set]
    own, detector = table[table["variant"] == "primary"], parameters.detectors[0]
    names = own["backbone"].drop_duplicates()
    others, tier = int(names.isin(list(records())).sum()), f"tier `{parameters.tier}`"
    kinds = {f"on four fifths of {parameters.data_set}": len(names) - others,
             f"that others have trained on {parameters.data_set}": others}  # fmt: skip
    kinds = [f"{n} network{'s' * (n > 1)} {what}" for what, n in kinds.items() if n]
    if others < len(names):
        tier += f", {parameters.training['epochs']} epochs"
    right = own.loc[own["metric"] == "accuracy", "value"]
    means = own[own["test_set"] == "all"].groupby(["method", "metric"], as_index=False)
    means = means.agg(mean=("value", "mean"), rows=("row", " ".join))
    printed = published.load("gscore").query("table == '1'").rename(columns={"value": "paper"})
    part = _of(printed.drop(columns="std").merge(means, on=["method", "metric"]), _RMSE)
    part = part[part["detector"] == detector].assign(std=float("nan"))
    titles = {name: f"RMSE of {METRIC_TITLES[name.removeprefix('rmse_')]}" for name in _RMSE}
    cells = part.assign(
        text=comparisons.numbers_beside(part, 100, ".1f"),
        evaluator=categories(part["evaluator"], EVALUATOR_TITLES),
        metric=categories(part["metric"], titles),
    )
    sets = table.loc[(table["variant"] == "test") & (table["metric"] == "auroc"), "test_set"]
    caption = (
        f"{' and '.join(kinds)} "
        f"({100 * right.min():.0f} to {100 * right.max():.0f} % right), mixed with each of "
        f"{sets.nunique()} unlabelled data sets; {tier}. Error (RMSE, points) of the predicted "
        f"FPR95 and AUROC of the detector {detector} on sets that the regression has not seen: "
        f"means over networks and {parameters.repeats} divisions of the sets; in brackets the "
        "paper's, for one network and 200 sets (its Table 1)."
    )
    if frozen := comparisons.frozen_in_words(parameters, table):
        caption += f" {frozen}"
    name = f"gscore-{parameters.tier}-main"
    return Table(cells, ["evaluator"], ["metric"], name=name, caption=caption, data=part)


def over_test_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Return predictions and truths as means over the test sets of each run, for a `comparison`."""
    predicted = table[
        table["metric"].str.startswith("predicted_") & (table["variant"] == "primary")
    ]
    if predicted.empty:
        raise ValueError("table: no predictions")
    true = table[table["variant"] == "test"].assign(variant="primary")
    asked = predicted.assign(
        metric=predicted["metric"].str.removeprefix("predicted_"),
        method=predicted["method"].str.partition("/")[0],
    )
    where = [name for name in results.IDENTITY if name != "run"]
    # one truth answers several evaluators' predictions of a set
    asked = asked[[*where, "run"]].drop_duplicates()
    found = asked.merge(true[[*where, "value", "row"]], how="left", on=where)
    if found["value"].isna().any():
        one = found[found["value"].isna()].iloc[0]
        raise ValueError(
            f"table: no {one['metric']} of {one['method']} on {one['test_set']}, which is predicted"
        )
    both = pd.concat([found, predicted]).assign(test_set="all")
    means = both.groupby(list(results.IDENTITY), sort=False, as_index=False).agg(
        value=("value", "mean"), row=("row", " ".join)
    )
    accuracy = table[(table["method"] == "network") & (table["metric"] == "accuracy")]
    return pd.concat([accuracy[means.columns], means], ignore_index=True)


def rows_beside(table: pd.DataFrame) -> list[tuple[pd.DataFrame, Mapping[str, str]]]:
    """Return the rows of a results table that the paper prints the like of, with their networks.

    The first network of a data set stands for DLA in correlations and errors, and on all data sets
    but CIFAR-10, where the paper has no other network.
    """
    primary = table[table["variant"] == "primary"]
    own = primary["metric"].str.contains("^(?:rmse|pearson|spearman)_")
    first = primary["backbone"] == primary.groupby("data_set")["backbone"].transform("first")
    dla = dict.fromkeys(primary.loc[first, "backbone"], _MAIN_NETWORK)
    means = over_test_sets(table)
    several = means["data_set"].map(PAPER.data_sets) == _MAIN_DATA_SET
    return [
        (primary[own & first], dla), (means[several], PAPER.networks), (means[~several], dla)
    ]  # fmt: skip


def compare(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Put a results table beside the paper's numbers."""
    table = with_constant(table, set_errors(table))
    own, *means = [
        comparisons.comparison(
            rows, published.load("gscore"), published_as=PAPER.published_as, families=networks
        )
        for rows, networks in rows_beside(table)
        if len(rows)
    ]
    return own[own["data_set"] == table["data_set"].iloc[0]], pd.concat(means, ignore_index=True)


def _of(part: pd.DataFrame, metrics: Iterable[str]) -> pd.DataFrame:
    """Return the rows of these metrics and whose detectors and evaluators they are."""
    own = part[part["metric"].isin(list(metrics))]
    if own.empty:
        raise ValueError(f"part: no {' or '.join(metrics)}")
    names = own["method"].str.partition("/")
    return own.assign(detector=names[0], evaluator=names[2])
