"""Our means, alone or next to a paper's printed numbers, one row per number."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from helpers.checks import known_name
from helpers.tables import results
from helpers.tables.table import PLUS_MINUS, single

_PLACE = ["data_set", "test_set", "backbone"]
_PAPER_PLACE = [f"paper_{name}" for name in _PLACE]
_CELL = ["method", "calibration", "metric"]
#: The columns of a comparison.
COLUMNS = [
    "table",
    "tier",
    *_PLACE,
    *_PAPER_PLACE,
    *_CELL,
    "mean",
    "std",
    "runs",
    "rows",
    "paper",
    "paper_std",
    "difference",
]


def comparison(
    table: pd.DataFrame,
    printed: pd.DataFrame,
    *,
    published_as: Mapping[str, str],
    families: Mapping[str, str],
) -> pd.DataFrame:
    """Compare means over runs with a paper's printed numbers."""
    sets = {*printed["data_set"], *printed["test_set"]}
    for title in published_as.values():
        known_name("data set of the paper", title, sets)
    for title in families.values():
        known_name("backbone of the paper", title, {*printed["backbone"]})
    single("table", table, "paper", "tier", "variant")
    ours = results.summary(table[table["metric"].isin(printed["metric"])])
    # the column `paper` is the paper's name in a results table, and its number in a comparison
    ours = ours.drop(columns="paper").assign(
        paper_data_set=ours["data_set"].map(lambda name: published_as.get(name, "")),
        paper_test_set=ours["test_set"].map(lambda name: published_as.get(name, name)),
        paper_backbone=ours["backbone"].map(lambda name: families.get(name, "")),
    )
    paper = _renamed(printed).assign(order=range(len(printed)))
    joined = ours.merge(paper, how="left", on=[*_PAPER_PLACE, *_CELL])
    joined = joined.sort_values("order", kind="stable", na_position="last", ignore_index=True)
    joined["difference"] = joined["mean"] - joined["paper"]
    return joined.fillna({"table": ""})[COLUMNS]


#: The sources of `stack_sources` as the second line of a heading.
SOURCES = {"ours": "(ours)", "paper": "(paper)"}


def stack_sources(cells: pd.DataFrame) -> pd.DataFrame:
    """Return our numbers of a `comparison` and below them the paper's: one ``source`` per row.

    Rows without a number are left out; the paper's rows have empty ``rows``.
    """
    ours = cells.assign(source="ours")
    paper = _side_of_paper(cells).assign(source="paper", rows="")
    return pd.concat([ours, paper]).dropna(subset="mean", ignore_index=True)


def name_of(cells: pd.DataFrame, *words: str) -> str:
    """Return the name of a table of one data set and backbone: tier, both, and these words."""
    first = single("cells", cells, "data_set", "backbone")
    names = [first["tier"], first["data_set"], first["backbone"], *words]
    return "-".join(filter(None, names))


def runs_in_words(cells: pd.DataFrame, *, deviations: bool = True) -> str:
    """Return in words how many runs our means average, for a caption."""
    fewest = cells["runs"].min()
    most = cells["runs"].max()
    if most == 1:
        return "1 run"
    runs = str(most) if fewest == most else f"{fewest} to {most}"
    means = f"mean {PLUS_MINUS} standard deviation" if deviations else "means"
    return f"{means} over {runs} runs"


def counted_networks(kinds: Mapping[str, int]) -> str:
    """Return the number of networks of each kind in words, for a caption.

    >>> counted_networks({"trained here": 1, "that others trained": 0, "of timm": 2})
    '1 network trained here and 2 networks of timm'
    """
    texts = []
    for kind, count in kinds.items():
        if count:
            noun = "networks" if count > 1 else "network"
            texts.append(f"{count} {noun} {kind}")
    return " and ".join(texts)


def _side_of_paper(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a `comparison` with the paper's means and deviations instead of ours."""
    return cells.assign(mean=cells["paper"], std=cells["paper_std"])


def _renamed(printed: pd.DataFrame) -> pd.DataFrame:
    """Return printed numbers under the names that the columns of a comparison have."""
    names = {name: f"paper_{name}" for name in (*_PLACE, "std")}
    names["value"] = "paper"
    return printed.drop(columns="source").rename(columns=names)
