"""Tables of the library's own answers: how well found, how accurate, how many and which."""

from __future__ import annotations

import pandas as pd

from helpers.papers.gscore.parameters import DETECTORS
from helpers.papers.gscore.skills import CONSTANT, METRIC_TITLES, pooled_skill, skill_caption
from helpers.report.table import DOWN, Table, categories, number
from known_unknowns.without_labels.accuracy import ACCURACY_ESTIMATORS
from known_unknowns.without_labels.answers import BOUNDS, LISTS
from known_unknowns.without_labels.skills import DRAWN, ESTIMATOR_TITLES, KNOWN

_RMSE = ("rmse_fpr95", "rmse_auroc")


def estimators(table: pd.DataFrame, skill: pd.DataFrame) -> Table:
    """Return errors and skills of estimators at a known and at a drawn share, first detector.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier.
    skill : DataFrame
        From `known_unknowns.without_labels.skills.skills_of` of it.

    Raises
    ------
    ValueError
        The table is from before the estimators, and has none.
    """
    own = table[table["variant"].isin([KNOWN, DRAWN]) & table["metric"].isin(_RMSE)]
    if own.empty:
        raise ValueError(f"table: no {' or '.join(_RMSE)} of the variants {KNOWN} and {DRAWN}")
    first = own["method"].iloc[0].partition("/")[0]
    own = own[own["method"].str.startswith(f"{first}/")]
    place = ["data_set", "backbone", "variant", "method", "metric"]
    means = own.groupby(place, sort=False, as_index=False).agg(
        mean=("value", "mean"), rows=("row", " ".join)
    )
    names = means["method"].str.partition("/")
    means = means.assign(
        detector=names[0], evaluator=names[2], metric=means["metric"].str.removeprefix("rmse_")
    )
    keys = ["data_set", "backbone", "variant", "detector", "evaluator", "metric"]
    means = means.merge(skill[[*keys, "text"]], how="left", on=keys)
    errors = (number(100 * value, ".1f") for value in means["mean"])
    said = means["text"].where(means["text"].notna() & (means["evaluator"] != CONSTANT), "")
    text = [
        f"{one}; skill {other}" if other else one for one, other in zip(errors, said, strict=True)
    ]
    means = means.assign(text=text)
    cells = means.assign(
        estimator=categories(means["evaluator"], ESTIMATOR_TITLES),
        metric=categories(means["metric"], METRIC_TITLES),
        variant=categories(means["variant"], {KNOWN: KNOWN, DRAWN: DRAWN}),
    )
    lines = ["backbone", "variant", "estimator"]
    if means["data_set"].nunique() > 1:
        lines = ["data_set", *lines]
    caption = (
        f"Error (RMSE, points {DOWN}) of estimated FPR95 and AUROC of the detector"
        f" {means['detector'].iloc[0]}, mean over divisions of the sets; and skill. {KNOWN}:"
        f" mixtures of one to one, as in the paper; {DRAWN}: every set in a share of its own, which"
        " nobody is told but where it says so." + skill_caption(skill)
    )
    name = f"gscore-{table['tier'].iloc[0]}-estimators"
    return Table(cells, lines, ["metric"], name=name, caption=caption, data=means)


def protocols(errors: pd.DataFrame) -> Table:
    """Return the skill of every estimator in every protocol, by detector, over all networks.

    Parameters
    ----------
    errors : DataFrame
        From `known_unknowns.without_labels.skills.set_errors`, of one tier.

    Raises
    ------
    ValueError
        No errors of estimators.
    """
    own = errors[errors["variant"].str.startswith(("share ",)) & (errors["evaluator"] != CONSTANT)]
    if own.empty:
        raise ValueError("errors: none of any protocol of the estimators")
    rows = []
    for (variant, detector, evaluator, metric), one in own.groupby(
        ["variant", "detector", "evaluator", "metric"], sort=False
    ):
        if text := pooled_skill(one):
            rows.append((variant, DETECTORS.get(detector, detector), evaluator, metric, text))
    cells = pd.DataFrame(rows, columns=["variant", "detector", "evaluator", "metric", "text"])
    cells = cells.assign(
        estimator=categories(cells["evaluator"], ESTIMATOR_TITLES),
        metric=categories(cells["metric"], METRIC_TITLES),
        rows="",
    )
    caption = (
        "Skill of estimated FPR95 and AUROC, over all networks. Every protocol but the first draws"
        " a share for each set; by size, with at most so many images; under a shift, known images"
        " that neither validation nor meta sets have; other kinds, drawn families that teach and"
        " all other sets that test."
    ) + skill_caption(errors)
    lines = ["variant", "detector", "estimator"]
    return Table(cells, lines, ["metric"], name="gscore-protocols", caption=caption, data=cells)


def accuracy(table: pd.DataFrame) -> Table:
    """Return how far estimates of the accuracy are off, of all images and of the accepted ones.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier.

    Raises
    ------
    ValueError
        The table has no such number.
    """
    columns = {"rmse_accuracy": f"RMSE {DOWN}", "bias_accuracy": "too high by",
               "coverage_accuracy": "truths held (%)", "width_accuracy": "width"}  # fmt: skip
    titles = {"accuracy": "all images", "accepted": "accepted, times the share of known ones"}
    own = _means(table, columns, [*titles])
    own = own[own["what"].isin([*ACCURACY_ESTIMATORS])]
    cells = own.assign(
        images=categories(own["kind"], titles),
        estimator=categories(own["what"], ACCURACY_ESTIMATORS),
        metric=categories(own["metric"], columns),
        text=[number(100 * value, ".1f") for value in own["value"]],
    )
    caption = (
        "Estimated accuracy of mixtures with a drawn share of unknown images, which are never"
        " right, in points: means over sets and networks. Intervals of estimators without labels"
        " are those of drawing images, and know nothing of what is assumed."
    )
    lines = ["images", "estimator"]
    name = f"gscore-{table['tier'].iloc[0]}-accuracy"
    return Table(cells, lines, ["metric"], name=name, caption=caption, data=own)


def shares_and_lists(table: pd.DataFrame) -> Table:
    """Return what bounds of the share are worth, and lists of suspected images, by network.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier.

    Raises
    ------
    ValueError
        The table has no such number.
    """
    columns = {
        "coverage_share": "bounds that hold (%)", "part_share": "of the share, shown (%)",
        "rmse_share": f"RMSE of the share {DOWN}", "known_listed": "known on the list (%)",
        "power": "of the unknown, listed (%)",
    }  # fmt: skip
    titles = {**BOUNDS, "estimate_share": "estimate", **LISTS}
    kinds = {method.partition("/")[0] for method in table["method"]}
    own = _means(table, columns, sorted(kinds), "backbone")
    own = own[own["what"].isin([*titles])]
    cells = own.assign(
        what=categories(own["what"], titles),
        metric=categories(own["metric"], columns),
        text=[number(100 * value, ".1f") for value in own["value"]],
    )
    caption = (
        "The share of images unlike the validation images, and lists of them with at most a tenth"
        " of known images on average: means over mixtures of all sets, each in a drawn share."
    )
    name = f"gscore-{table['tier'].iloc[0]}-shares"
    return Table(cells, ["backbone", "what"], ["metric"], name=name, caption=caption, data=own)


def _means(table: pd.DataFrame, metrics, kinds: list[str], *also: str) -> pd.DataFrame:
    """Return means over networks of what is said of the drawn mixtures, with the rows behind it."""
    own = table[(table["variant"] == DRAWN) & (table["test_set"] == "all")]
    own = own[own["metric"].isin(list(metrics))]
    if own.empty:
        raise ValueError(f"table: no {' or '.join(metrics)} of the variant {DRAWN}")
    names = own["method"].str.partition("/")
    own = own.assign(kind=names[0], what=names[2])
    own = own[own["kind"].isin(kinds)]
    return own.groupby([*also, "kind", "what", "metric"], sort=False, as_index=False).agg(
        value=("value", "mean"), rows=("row", " ".join)
    )
