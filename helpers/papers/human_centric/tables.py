"""Tables of detection error rates, as those of Zhu et al. 2022: scores on one model, and a zoo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.metrics.ranks import mean_ranks
from helpers.papers.human_centric.claims import cases
from helpers.papers.human_centric.parameters import METHODS, PAPER_METHODS, ModelName
from helpers.report import published, results
from helpers.report.table import DOWN, UP, Table, categories, mark_best, number
from helpers.report.tables import comparisons

_RATES = ("der99", "der95")  # as the paper's cells have them
_MEANS = ("input-shifted", "label-shifted", "near", "far")  # over sets; the paper prints none
_ACCEPTING = "accept everything"


def error_rates(
    part: pd.DataFrame, table: pd.DataFrame, *, methods: Mapping[str, str] = METHODS
) -> Table:
    """Return the detection error rates of one model.

    Each score has a row of ours and below it the paper's; one of the two is left out where it has
    no number at all.  Columns are test sets and, last, the average; a cell is "DER99 | DER95" in
    per cent, means over runs.  Among ours and among the paper's the lowest DER99 and the lowest
    DER95 of a column are bold.  The last row is the rule that accepts every image: it errs where
    the model does, and on all images of a label-shifted set.

    Parameters
    ----------
    part : DataFrame
        The rows of one data set and one model of a `comparison`, or of `printed_alone`.
    table : DataFrame
        The results table that `part` is of, whose accuracies the last row is taken from; a test
        set without accuracy is a label-shifted one.  Without the accuracy of this model there is
        no such row.
    methods : mapping of str to str
        Names and titles of the scores, in the order of the rows; others are left out.

    Raises
    ------
    ValueError
        `part` has none of the numbers asked for, or it is empty or holds several data sets or
        models.
    """
    caption = comparisons.caption_of(part, deviations=False)
    own = comparisons.stack_sources(part)
    own = own[own["metric"].isin(_RATES) & own["method"].isin(list(methods))]
    own = own[~own["test_set"].isin(_MEANS)]
    if own.empty:
        raise ValueError("part: no detection error rate of these scores")
    sets = sorted(own["test_set"].unique(), key="average".__eq__)
    own = own.assign(bold=mark_best(-own["mean"], own["source"], own["metric"], own["test_set"]))
    accepting = _accept_everything(part, table, sets)
    cells = pd.concat([own.sort_values("metric", ascending=False, kind="stable"), accepting])
    cells, across = comparisons.head_stand_ins(cells)
    cells = cells.assign(
        text=[number(100 * share, ".2f") for share in cells["mean"]],
        method=categories(cells["method"], methods),
        test_set=categories(cells["test_set"], sets),
    )
    return Table(
        cells,
        ["method", "source"],
        across,
        name=comparisons.name_of(part, "der"),
        caption=f"{caption} DER99 | DER95 in per cent {DOWN}; bold: lowest of the column.",
        data=part,
    )


def zoo(table: pd.DataFrame, *, methods: Mapping[str, str] = METHODS) -> Table:
    """Return average DER99 of all scores on all models.

    Rows are models, with their accuracy on the test images before the scores, all in per cent and
    means over runs.  The lowest of a model is bold.  Models that could not be evaluated come last
    on their data set, without numbers; the caption has what went wrong.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and variant.
    methods : mapping of str to str
        Names and titles of the scores, in the order of the columns; others are left out.

    Raises
    ------
    ValueError
        The table has none of the numbers asked for.
    """
    error = (table["metric"] == "der99") & (table["test_set"] == "average")
    accuracy = (table["metric"] == "accuracy") & (table["test_set"] == "test")
    means = results.summary(table[error | accuracy])
    if not means["method"].isin(list(methods)).any():
        raise ValueError("table: no average der99 of these scores")
    titles = {"network": f"accuracy {UP}", **methods}
    failed = table[(table["metric"] == "failed") & (table["method"] == "network")]
    failed = failed[failed["test_set"] == "test"]  # others say of a set that it is not at hand
    cells = pd.concat([means[means["method"].isin(list(titles))], failed], ignore_index=True)
    of_scores = cells["mean"].where(cells["method"] != "network")
    tiers = sorted(table["tier"].unique())
    variants = [name for name in table["variant"].unique() if name != "primary"]
    return Table(
        cells.assign(
            text=[number(100 * share, ".1f") for share in cells["mean"]],
            bold=mark_best(-of_scores, cells["data_set"], cells["backbone"]),
            method=categories(cells["method"], titles),
        ),
        ["data_set", "backbone"] if cells["data_set"].nunique() > 1 else ["backbone"],
        ["method"],
        name="-".join(["zoo", *tiers, *variants]),
        caption=(
            f"Tier {', '.join(tiers)}: accuracy {UP} and average DER99 {DOWN} in per cent,"
            f" {comparisons.runs_in_words(means, deviations=False)}. Bold: lowest of the model."
            f"{_failures(table)}"
        ),
        data=means,
    )


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return the error rates of the paper's scores over networks, the paper's in brackets.

    As in the paper's tables these are networks of ordinary training; the average of those that were
    trained by one of its strategies, if there are any, is a column of its own.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier, with the variant of the held-out threshold; rows of other
        data sets than the main one are left out.
    parameters
        Those that it was made with.
    """
    table = table[table["data_set"] == parameters.data_set]
    primary = table[table["variant"] == "primary"]
    every = cases(primary)[list(PAPER_METHODS)].dropna()
    normal = [ModelName.parse(name).strategy == "normal" for name in every.index]
    ours, by_strategy = every[normal], every[np.logical_not(normal)]
    theirs = cases(published.with_averages(published.load("human_centric")))
    wide = over_networks(ours) + " (" + over_networks(theirs) + ")"
    held = cases(table[table["variant"] == "held-out threshold"]).loc[ours.index]
    wide["held-out threshold"] = (100 * held.mean()).map("{:.1f}".format)
    also = ""
    if len(by_strategy):
        wide["by strategies"] = (100 * by_strategy.mean()).map("{:.1f}".format)
        also = f" The last column is of {_networks_in_words(by_strategy.index, parameters)}, each "
        also += "by one of the paper's strategies."
    right = primary[primary["metric"] == "accuracy"].pivot_table("value", "backbone", "test_set")
    right = right.loc[ours.index]  # a label-shifted set has no accuracy: all answers are wrong
    rates = primary[(primary["metric"] == "der99") & (primary["method"] == "msp")]
    sets = [name for name in rates["test_set"].unique() if name not in (*_MEANS, "average")]
    shifted = [name for name in sets if name in right and name != "test"]
    accepting = 100 * (1 - right.sum(axis=1) / len(sets)).mean()
    wide = wide.rename(PAPER_METHODS)
    wide.loc[_ACCEPTING] = [f"{accepting:.1f}", *[""] * (wide.shape[1] - 1)]
    caption = (
        f"Average DER99 (detection error rate) of {_networks_in_words(ours.index, parameters)}, "
        f"tier `{parameters.tier}`; they are right on {100 * right['test'].min():.0f} to "
        f"{100 * right['test'].max():.0f} % of the test images of {parameters.data_set}. "
        f"Input-shifted: {', '.join(shifted)}; "
        f"label-shifted: {', '.join(name for name in sets if name not in right)}. Means over "
        "networks, mean rank among these scores, and on how many networks a score is the best; "
        f"in brackets the paper's, of {len(theirs)} networks on its own sets (its Tables 1 and "
        "2, averages taken anew). Compare the order, not the height. A held-out threshold "
        f"comes from training images that the score was not fitted to.{also}"
    )
    cells = wide.rename_axis("method").reset_index().melt("method", value_name="text")
    name = f"{parameters.tier}-error-rates"
    return Table(cells, ["method"], ["variable"], name=name, caption=caption, data=ours)


def near_and_far(table: pd.DataFrame, *, methods: Mapping[str, str] = METHODS) -> Table:
    """Return how often scores accept images of near and of far sets, and how they rank them.

    Rows are scores; columns DER99, the share that is accepted, and AUROC over the near and over
    the far sets, in per cent; means over models.

    Parameters
    ----------
    table : DataFrame
        Rows of one tier, data set and variant of a results table, with means over near and far
        sets.
    methods : mapping of str to str
        Names and titles of the scores, in the order of the rows; others are left out.

    Raises
    ------
    ValueError
        The table has no such means.
    """
    own = table[table["test_set"].isin(["near", "far"]) & table["metric"].isin(["der99", "auroc"])]
    own = own[own["method"].isin(list(methods))]
    if own.empty:
        raise ValueError("table: no means over near and far sets of these scores")
    columns = {
        (metric, name): f"{metric.upper()} {sign}, {name}"
        for metric, sign in (("der99", DOWN), ("auroc", UP))
        for name in ("near", "far")
    }
    means = own.groupby(["method", "metric", "test_set"], as_index=False)["value"].mean()
    column = [columns[pair] for pair in zip(means["metric"], means["test_set"], strict=True)]
    ranked = means["value"].where(means["metric"] == "auroc", -means["value"])
    cells = means.assign(
        text=[number(100 * share, ".1f") for share in means["value"]],
        bold=mark_best(ranked, means["metric"], means["test_set"]),
        method=categories(means["method"], methods),
        column=categories(pd.Series(column), {name: name for name in columns.values()}),
    )
    count, (variant,) = own["backbone"].nunique(), own["variant"].unique()
    caption = f"Near and far sets, means over {count} networks, in per cent; variant `{variant}`."
    return Table(cells, ["method"], ["column"], name="near-far", caption=caption, data=means)


def over_networks(errors: pd.DataFrame) -> pd.DataFrame:
    """Return of each score, in words, what its error rates [networks, scores] are together.

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
    """Say how many networks there are, and how many of them others trained."""
    parsed = [ModelName.parse(name) for name in names]
    own = sum(one.architecture in parameters.architectures for one in parsed)
    tuned = sum(
        one.architecture not in parameters.architectures
        and name.partition("+")[2] in parameters.strategies
        for name, one in zip(names, parsed, strict=True)
    )
    others = len(parsed) - own - tuned
    kinds = {
        "trained here": own,
        "that others trained": others,
        "fine-tuned from these": tuned,
    }
    there = {what: count for what, count in kinds.items() if count}
    all_of_them = f"{len(parsed)} network{'s' * (len(parsed) != 1)}"
    if len(there) == 1:
        return f"{all_of_them} {next(iter(there))}"
    return ", ".join([all_of_them, *(f"{count} {what}" for what, count in there.items())])


def _accept_everything(part: pd.DataFrame, table: pd.DataFrame, sets: list[str]) -> pd.DataFrame:
    """Return the error rate on each test set of the rule that accepts every image."""
    first = comparisons.one_table(part)
    own = table[(table["metric"] == "accuracy") & (table["backbone"] == first["backbone"])]
    own = own[own["data_set"] == first["data_set"]]
    if own.empty:
        return pd.DataFrame()
    accuracy = results.summary(own).set_index("test_set")
    errors = (1 - accuracy["mean"]).reindex(sets).fillna(1.0)
    errors["average"] = errors.drop("average", errors="ignore").mean()
    line = pd.DataFrame({"mean": errors[sets], "rows": accuracy["rows"].reindex(sets)})
    own = line.rename_axis("test_set").reset_index()
    return own.assign(method=_ACCEPTING, source="ours", bold=False)


def _failures(table: pd.DataFrame) -> str:
    """Return which models, sets and scores of a results table failed, and why, for a caption."""
    failed = table[table["metric"] == "failed"]
    of_models = failed["method"] == "network"
    sets = failed[of_models & (failed["test_set"] != "test")].drop_duplicates("test_set")
    missing = [f"{row.test_set} ({row.notes})" for row in sets.itertuples()]
    models = failed[of_models & (failed["test_set"] == "test")]
    models = models.drop_duplicates(["data_set", "backbone"])
    lost = [f"{row.backbone} ({row.notes})" for row in models.itertuples()]
    groups = failed[~of_models].groupby(["method", "notes"], sort=False)["backbone"]
    scores = [f"{method} of {', '.join(own.unique())} ({why})" for (method, why), own in groups]
    found = {"Not evaluated": lost, "Not at hand, and in no mean": missing}
    found |= {"Could not be had": scores}
    return "".join(f" {what}: {'; '.join(which)}." for what, which in found.items() if which)
