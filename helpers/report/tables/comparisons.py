"""Our means beside a paper's printed numbers, one row per number."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from helpers.checks import known_name
from helpers.report import results
from helpers.report.table import PLUS_MINUS, number, numbers, single

_PLACE = ["data_set", "test_set", "backbone"]
_CELL = ["method", "calibration", "metric"]
COLUMNS = [
    "table", "tier", *_PLACE, *(f"paper_{name}" for name in _PLACE), *_CELL,
    "mean", "std", "runs", "rows", "paper", "paper_std", "difference",
]  # fmt: skip
"""The columns of a comparison; `comparison` says what each of them holds."""


def comparison(
    table: pd.DataFrame,
    published: pd.DataFrame,
    *,
    published_as: Mapping[str, str],
    families: Mapping[str, str],
) -> pd.DataFrame:
    """Put means over runs beside a paper's printed numbers."""
    for name, mapping, columns in (
        ("data set of the paper", published_as, ["data_set", "test_set"]),
        ("backbone of the paper", families, ["backbone"]),
    ):
        for theirs in mapping.values():
            known_name(name, theirs, {one for column in columns for one in published[column]})
    single("table", table, "paper", "tier", "variant")

    ours = results.summary(table[table["metric"].isin(published["metric"])])
    ours["paper_data_set"] = ours["data_set"].map(lambda name: published_as.get(name, ""))
    ours["paper_test_set"] = ours["test_set"].map(lambda name: published_as.get(name, name))
    ours["paper_backbone"] = ours["backbone"].map(lambda name: families.get(name, ""))
    # `paper` was the paper's name up to here; in what is shown it is the paper's number
    theirs = _printed(published).assign(order=range(len(published)))
    keys = [*(f"paper_{name}" for name in _PLACE), *_CELL]
    joined = ours.drop(columns="paper").merge(theirs, how="left", on=keys)
    joined = joined.sort_values("order", kind="stable", na_position="last", ignore_index=True)
    joined["table"] = joined["table"].fillna("")
    joined["difference"] = joined["mean"] - joined["paper"]
    return joined[COLUMNS]


def printed_alone(published: pd.DataFrame) -> pd.DataFrame:
    """Return a paper's printed numbers in the form of a `comparison` with no number of ours."""
    alone = _printed(published)
    alone[_PLACE] = alone[[f"paper_{name}" for name in _PLACE]]
    nothing = float("nan")
    alone = alone.assign(tier="", rows="", runs=0, mean=nothing, std=nothing, difference=nothing)
    return alone[COLUMNS].reset_index(drop=True)


def stack_sources(part: pd.DataFrame) -> pd.DataFrame:
    """Return our numbers of a `comparison` and below them the paper's: one ``source`` a row.

    Rows without a number are left out; those of the paper have no ``rows`` behind them.
    """
    ours = part.assign(source="ours")
    theirs = part.assign(source="paper", mean=part["paper"], std=part["paper_std"], rows="")
    return pd.concat([ours, theirs], ignore_index=True).dropna(subset="mean", ignore_index=True)


def head_stand_ins(part: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return numbers from `stack_sources` with what their test sets stand in for."""
    own = part[part["paper"].notna() & (part["test_set"] != part["paper_test_set"])]
    beside = dict(zip(own["test_set"], "for " + own["paper_test_set"], strict=True))
    part = part.assign(beside=part["test_set"].map(lambda name: beside.get(name, "")))
    return part, ["test_set", "beside"] if beside else ["test_set"]


def numbers_beside(part: pd.DataFrame, scale: float, pattern: str) -> list[str]:
    """Return our mean and deviation of each row, with the paper's number in brackets."""
    printed = (number(scale * value, pattern) for value in part["paper"])
    ours = numbers(part, scale, pattern)
    return [f"{one} ({other})" for one, other in zip(ours, printed, strict=True)]


def name_of(part: pd.DataFrame, *words: str) -> str:
    """Return the name of a table of one data set and backbone: tier, both, and these words."""
    first = one_table(part)
    return "-".join(filter(None, [first["tier"], first["data_set"], first["backbone"], *words]))


def one_table(part: pd.DataFrame) -> dict:
    """Return what all rows of a part of a `comparison` share: one data set and backbone.

    ``table`` and the paper's names are those of the first row that the paper has too.
    """
    single("part", part, "data_set", "backbone")
    return part.sort_values("table", ascending=False, kind="stable").iloc[0].to_dict()


def caption_of(part: pd.DataFrame, *, deviations: bool = True) -> str:
    """Return the beginning of a caption: what is ours, over how many runs, and what the paper's."""
    first = one_table(part)
    theirs = f"{tables_in_words(part)}, {first['paper_data_set']} with {first['paper_backbone']}"
    if not first["runs"]:
        return f"The paper's {theirs}, alone: there is no run of ours at this scale."
    beside = f", above the paper's {theirs}" if first["table"] else "; the paper has no such table"
    ours = f"{first['data_set']} with {first['backbone']}, tier {first['tier']}"
    text = f"{ours}: {runs_in_words(part, deviations=deviations)}{beside}."
    if (part["paper"].notna() & (part["test_set"] != part["paper_test_set"])).any():
        text += " Below a test set that stands in for one of the paper, that one is named."
    return text


def tables_in_words(part: pd.DataFrame) -> str:
    """Return which of the paper's tables a part of a `comparison` is of."""
    found = sorted(set(part["table"]) - {""})
    return f"Table{'s' * (len(found) > 1)} {' and '.join(found)}" if found else "no table"


def frozen_in_words(parameters, table: pd.DataFrame) -> str:
    """Return what must be said of heads on features of a frozen network, "" of other networks.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> table = pd.DataFrame({"backbone": ["lite0", "lite0"]})
    >>> frozen_in_words(SimpleNamespace(), table)
    ''
    >>> frozen_in_words(SimpleNamespace(features={"lite0": {}, "lite1": {}}), table)[:62]
    'Heads on the stored features of a network that has learnt Imag'
    """
    names = [name for name in getattr(parameters, "features", {}) if name in {*table["backbone"]}]
    if not names:
        return ""
    one = "a network that has" if len(names) == 1 else "networks that have"
    return (
        f"Heads on the stored features of {one} learnt ImageNet's classes ({', '.join(names)}): to "
        "it, unknown classes that are among these are not new."
    ).replace("to it,", "to it," if len(names) == 1 else "to them,")


def runs_in_words(part: pd.DataFrame, *, deviations: bool = True) -> str:
    """Return what a mean of ours is over, as a caption says it."""
    fewest, most = part["runs"].min(), part["runs"].max()
    if most == 1:
        return "1 run"
    many = most if fewest == most else f"{fewest} to {most}"
    what = f"mean {PLUS_MINUS} standard deviation" if deviations else "means"
    return f"{what} over {many} runs"


def _printed(published: pd.DataFrame) -> pd.DataFrame:
    """Return printed numbers under the names that the columns of a comparison have."""
    names = {name: f"paper_{name}" for name in (*_PLACE, "std")} | {"value": "paper"}
    return published.drop(columns="source").rename(columns=names)
