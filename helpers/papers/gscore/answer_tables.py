"""Tables of the library's own answers: how well found, how accurate, how many and which."""

from __future__ import annotations

import pandas as pd

from helpers.papers.gscore.skills import (
    CONSTANT,
    DRAWN,
    ESTIMATOR_TITLES,
    KNOWN,
    METRIC_TITLES,
    skill_caption,
)
from helpers.report.table import DOWN, Table, categories, number

_RMSE = ("rmse_fpr95", "rmse_auroc")


def estimators(table: pd.DataFrame, skill: pd.DataFrame) -> Table:
    """Return errors and skills of the library's estimators, at a known share and at a drawn one.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier.
    skill : DataFrame
        From `helpers.papers.gscore.skills.skills_of` of it.

    Raises
    ------
    ValueError
        The table is from before the estimators, and has none.
    """
    own = table[table["variant"].isin([KNOWN, DRAWN]) & table["metric"].isin(_RMSE)]
    if own.empty:
        raise ValueError(f"table: no {' or '.join(_RMSE)} of the variants {KNOWN} and {DRAWN}")
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
