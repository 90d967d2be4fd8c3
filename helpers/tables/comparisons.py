"""Our means, alone or next to a paper's printed numbers, one row per number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from helpers.checks import known_name
from helpers.tables import results
from helpers.tables.table import PLUS_MINUS, Table, categories, number, numbers, single

_PLACE = ["data_set", "test_set", "backbone"]
_PAPER_PLACE = [f"paper_{name}" for name in _PLACE]
_CELL = ["method", "calibration", "metric"]
#: The columns of a comparison.
COLUMNS = [
    "table", "tier", *_PLACE, *_PAPER_PLACE, *_CELL,
    "mean", "std", "runs", "rows", "paper", "paper_std", "difference",
]  # fmt: skip


def overview(table: pd.DataFrame, metrics: Sequence[str]) -> Table:
    """Return means and standard deviations over runs, metrics across, test sets down."""
    means = results.summary(table[table["metric"].isin(list(metrics))])
    cells = means.assign(text=numbers(means), metric=categories(means["metric"], metrics))
    several = ["test_set"] * (cells["test_set"].nunique() > 1)
    lines = ["data_set", *several, "backbone", "method", "calibration"]
    caption = f"{runs_in_words(means).capitalize()}."
    layout = {"name": "-".join(metrics), "caption": caption, "data": means, "named": True}
    return Table(cells, lines, ["metric"], **layout)


def comparison(
    table: pd.DataFrame,
    published: pd.DataFrame,
    *,
    published_as: Mapping[str, str],
    families: Mapping[str, str],
) -> pd.DataFrame:
    """Compare means over runs with a paper's printed numbers."""
    for title in published_as.values():
        known_name("data set of the paper", title, {*published["data_set"], *published["test_set"]})
    for title in families.values():
        known_name("backbone of the paper", title, {*published["backbone"]})
    single("table", table, "paper", "tier", "variant")
    ours = results.summary(table[table["metric"].isin(published["metric"])])
    # the column `paper` is the paper's name in a results table, and its number in a comparison
    ours = ours.drop(columns="paper").assign(
        paper_data_set=ours["data_set"].map(lambda name: published_as.get(name, "")),
        paper_test_set=ours["test_set"].map(lambda name: published_as.get(name, name)),
        paper_backbone=ours["backbone"].map(lambda name: families.get(name, "")),
    )
    paper = _printed(published).assign(order=range(len(published)))
    joined = ours.merge(paper, how="left", on=[*_PAPER_PLACE, *_CELL])
    joined = joined.sort_values("order", kind="stable", na_position="last", ignore_index=True)
    return joined.assign(difference=joined["mean"] - joined["paper"]).fillna({"table": ""})[COLUMNS]


def printed_alone(published: pd.DataFrame) -> pd.DataFrame:
    """Return a paper's printed numbers in the form of a `comparison` without our numbers."""
    alone = _printed(published)
    alone[_PLACE] = alone[_PAPER_PLACE]
    alone[["mean", "std", "difference"]] = float("nan")
    return alone.assign(tier="", rows="", runs=0)[COLUMNS].reset_index(drop=True)


def stack_sources(part: pd.DataFrame) -> pd.DataFrame:
    """Return our numbers of a `comparison` and below them the paper's: one ``source`` per row.

    Rows without a number are left out; the paper's rows have empty ``rows``.
    """
    paper = part.assign(source="paper", mean=part["paper"], std=part["paper_std"], rows="")
    return pd.concat([part.assign(source="ours"), paper]).dropna(subset="mean", ignore_index=True)


def head_stand_ins(part: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return numbers from `stack_sources` with the names of the test sets that ours replace."""
    replaced = _stand_ins(part)
    titles = dict(zip(replaced["test_set"], "for " + replaced["paper_test_set"], strict=True))
    part = part.assign(beside=part["test_set"].map(lambda name: titles.get(name, "")))
    return part, ["test_set", "beside"] if titles else ["test_set"]


# of our mean and the paper's, in the paper's deviations, or in ours if it prints none
def difference_in_deviations(part: pd.DataFrame) -> pd.Series:
    paper, ours = (part[name].where(part[name] > 0) for name in ("paper_std", "std"))
    return (part["mean"] - part["paper"]) / paper.fillna(ours)


def numbers_beside(part: pd.DataFrame, scale: float, pattern: str) -> list[str]:
    """Return our mean and deviation of each row; in brackets the paper's, and the difference."""
    printed = part.assign(mean=part["paper"], std=part["paper_std"])
    distances = difference_in_deviations(part)
    words = distances.map(lambda size: f"; {number(size, '+.1f')} σ", na_action="ignore").fillna("")
    texts = zip(*(numbers(side, scale, pattern) for side in (part, printed)), words, strict=True)
    return [f"{ours} ({paper}{distance})" for ours, paper, distance in texts]


def name_of(part: pd.DataFrame, *words: str) -> str:
    """Return the name of a table of one data set and backbone: tier, both, and these words."""
    first = one_table(part)
    return "-".join(filter(None, [first["tier"], first["data_set"], first["backbone"], *words]))


def one_table(part: pd.DataFrame) -> dict:
    """Return the common fields of a part of a `comparison` with one data set and backbone.

    ``table`` and the paper's names come from the first row that the paper also has.
    """
    single("part", part, "data_set", "backbone")
    return part.sort_values("table", ascending=False, kind="stable").iloc[0].to_dict()


def caption_of(part: pd.DataFrame, *, deviations: bool = True) -> str:
    """Return the beginning of a caption: our numbers, their runs, and the paper's tables."""
    first = one_table(part)
    names = sorted(set(part["table"]) - {""})
    paper = f"Table{'s' * (len(names) > 1)} {' and '.join(names)}"
    paper += f", {first['paper_data_set']} with {first['paper_backbone']}"
    if not first["runs"]:
        return f"The paper's {paper}, alone: there is no run of ours at this scale."
    beside = f", above the paper's {paper}" if first["table"] else "; the paper has no such table"
    ours = f"{first['data_set']} with {first['backbone']}, tier {first['tier']}"
    text = f"{ours}: {runs_in_words(part, deviations=deviations)}{beside}."
    if len(_stand_ins(part)):
        text += " Below a test set that stands in for one of the paper, that one is named."
    return text


def runs_in_words(part: pd.DataFrame, *, deviations: bool = True) -> str:
    """Return in words how many runs our means average, for a caption."""
    fewest, most = part["runs"].min(), part["runs"].max()
    if most == 1:
        return "1 run"
    what = f"mean {PLUS_MINUS} standard deviation" if deviations else "means"
    return f"{what} over {most if fewest == most else f'{fewest} to {most}'} runs"


def _stand_ins(part: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose test set replaces a test set of the paper."""
    return part[part["paper"].notna() & (part["test_set"] != part["paper_test_set"])]


def _printed(published: pd.DataFrame) -> pd.DataFrame:
    """Return printed numbers under the names that the columns of a comparison have."""
    names = {name: f"paper_{name}" for name in (*_PLACE, "std")} | {"value": "paper"}
    return published.drop(columns="source").rename(columns=names)
