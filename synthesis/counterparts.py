"""Every printed number of the papers that has a counterpart here, next to our number.

The record of a paper in `helpers.papers` assigns our data sets, test sets and networks to the
paper's, which they equal or replace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from helpers.papers.unknown_detection.composition import PAPER_UNION
from helpers.tables import printed_numbers
from helpers.tables.comparisons import comparison

if TYPE_CHECKING:
    from helpers.papers import Paper

#: The columns of `counterparts`.
COLUMNS = (
    "paper", "table", "tier", "data_set", "test_set", "backbone", "method", "calibration",
    "metric", "published", "published_std", "reproduced", "reproduced_std", "runs", "difference",
    "stand_ins", "paper_data_set", "paper_test_set", "paper_backbone", "rows",
)  # fmt: skip

# names that differ but have one meaning; case, hyphens and underscores do not count either
_SAME = {
    ("food101", "food32"), ("caltech256", "caltech45"), ("places365", "places82"),
    ("resnet50", "rn50"), ("swinbase", "swinb"), ("vitbase", "vitb16"),
}  # fmt: skip
# equal images, of which other classes are drawn as known classes
_DRAWN = {("cifar100", "cifar40"), ("imagenet", "imagenet200")}
_JOINED = ("union", "average", "all")  # of the test sets at hand, which are not the paper's


def counterparts(
    papers: Mapping[str, Paper], tables: Mapping[tuple[str, str], pd.DataFrame]
) -> pd.DataFrame:
    """Compare every printed number with our means over runs, for each tier that has them.

    Averages over test sets are computed again, see `helpers.tables.printed_numbers.with_averages`.
    A difference is not in deviations: printed ones are over runs alone, and our known classes,
    networks and most test sets are not the paper's.
    """
    parts = [
        _beside(papers[paper], *part)
        for (_, paper), table in tables.items()
        if paper in printed_numbers.papers()
        for part in papers[paper].rows_beside(table)
    ]
    parts = [part for part in parts if len(part)] or [pd.DataFrame(columns=list(COLUMNS))]
    return pd.concat(parts, ignore_index=True)


def printed_once(paper: str) -> pd.DataFrame:
    """Return the numbers of a paper that ours are compared with, each once.

    Temperature scaling changes no accuracy, so an accuracy counts before scaling only.
    """
    numbers = printed_numbers.with_averages(printed_numbers.load(paper))
    return numbers[(numbers["metric"] != "accuracy") | (numbers["calibration"] != "after")]


def _beside(paper: Paper, rows: pd.DataFrame, networks: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of `counterparts` for a part of one results table."""
    printed = printed_once(paper.name)
    # as for the claims, the union counts at the paper's shares alone
    rows = rows.query("test_set != 'union'").replace({"test_set": {PAPER_UNION: "union"}})
    if not rows["metric"].isin(printed["metric"]).any():
        return pd.DataFrame(columns=list(COLUMNS))
    both = comparison(rows, printed, published_as=paper.published_as, families=networks)
    names = {"paper": "published", "paper_std": "published_std", "mean": "reproduced"}
    both = both.dropna(subset="paper").rename(columns=names | {"std": "reproduced_std"})
    return both.assign(
        paper=paper.name,
        stand_ins=[_stand_ins(row) for row in both.to_dict("records")],
    )[list(COLUMNS)]


def _stand_ins(row: dict) -> str:
    """Return in words which data set, test set and network are not the paper's."""
    pairs = [(row[name], row[f"paper_{name}"]) for name in ("data_set", "test_set", "backbone")]
    same = {pair for pair in pairs if len({*_plain(*pair)}) == 1 or _plain(*pair) in _SAME}
    parts = [f"{ours} for {paper}" for ours, paper in pairs if (ours, paper) not in same]
    if _plain(*pairs[0]) in _DRAWN:
        parts[0] = f"{row['data_set']}: other classes drawn than for {row['paper_data_set']}"
    if row["test_set"] in _JOINED:
        parts.append(f"{row['test_set']}: of the sets at hand")
    return ", ".join(parts)


def _plain(*names: str) -> tuple[str, ...]:
    return tuple(name.lower().replace("-", "").replace("_", "") for name in names)
