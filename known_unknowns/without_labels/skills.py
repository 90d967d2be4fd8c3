"""Errors of the estimates and of the constant, by protocol."""

from __future__ import annotations

import pandas as pd

from helpers.labelfree import PREDICTED
from helpers.papers.gscore import skills as gscore
from helpers.papers.gscore.skills import COLUMNS, CONSTANT, KEY

KNOWN, DRAWN = "share known", "share drawn"
"""The two protocols of every detector, as variants of the results table."""
OTHER_KIND = f"{DRAWN}, other kinds"
"""The protocol in which drawn sets teach and all others test."""
ESTIMATED = "prior_corrected_estimated"
ESTIMATOR_TITLES = {
    "constant": "constant",
    "confidence": "confidence",
    ESTIMATED: "prior-corrected, share estimated",
    "prior_corrected": "prior-corrected, share told",
    "gscore": "Gscore line",
    "curve_regression": "regression on the P–P curve",
}
"""Titles of the estimators; those without meta sets follow the constant."""


def set_errors(table: pd.DataFrame) -> pd.DataFrame:
    """Return the error of every prediction and of the constant, of every set and protocol.

    `table` has the rows of the Gscore paper, which hold the truths, and the rows of this
    package; the columns are those of `helpers.papers.gscore.skills.set_errors`.
    """
    errors = gscore.set_errors(table, PREDICTED, ("primary", KNOWN, DRAWN))
    tables = [each for each in (errors, _of_other_protocols(table)) if len(each)]
    return pd.concat(tables or [errors], ignore_index=True)


def _of_other_protocols(table: pd.DataFrame) -> pd.DataFrame:
    """Return the errors where sets, or ID images, are others: each table of them has its constant.

    Truths too are in the table where the ID images are not those of ``test``.
    """
    kinds, names = table["metric"].str.partition("_"), table["method"].str.partition("/")
    table = table.assign(what=kinds[0], of=kinds[2], detector=names[0], evaluator=names[2])
    other = table["variant"].str.startswith(f"{DRAWN}, ") & table["of"].isin(list(PREDICTED))
    other = table[other & table["what"].isin(["predicted", "true"])]
    other = other.assign(metric=other["of"])
    if other.empty:
        return pd.DataFrame(columns=COLUMNS)
    place = [*KEY, "variant"]
    shared = other.pivot(index=place, columns="evaluator", values="value")
    shared = shared.reindex(columns=[CONSTANT, "truth"])
    usual = table[(table["variant"] == "test") & (table["evaluator"] == "")]
    keys = [name for name in KEY if name != "run"]
    usual = usual.set_index(keys)[["value", "row"]].rename(columns={"value": "right"})
    stated = other[other["what"] == "predicted"].drop(columns="row").join(usual, on=keys)
    stated = stated.rename(columns={"value": "stated"}).join(shared, on=place)
    right = stated["truth"].fillna(stated["right"])
    stated = stated.assign(error=stated["stated"] - right, guessed=stated[CONSTANT] - right)
    return stated.dropna(subset=["error", "guessed"])[COLUMNS]
