"""Every printed number of the papers that has a counterpart here, side by side.

Which of our data sets, test sets and networks is or stands in for which of a paper's, its record in
`helpers.papers` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers.metrics.correlation import spearman
from helpers.report import published
from helpers.report.tables.comparisons import comparison

if TYPE_CHECKING:
    from helpers.papers import Paper

COLUMNS = (
    "paper", "table", "tier", "data_set", "test_set", "backbone", "method", "calibration",
    "metric", "published", "published_std", "reproduced", "reproduced_std", "runs", "difference",
    "deviations", "unit", "stand_ins", "paper_data_set", "paper_test_set", "paper_backbone", "rows",
)  # fmt: skip
"""The columns of `counterparts`, which says what each of them holds."""

# Names that differ and mean the same; case, hyphens and underscores do not count either.
_SAME = {
    ("food101", "food32"), ("caltech256", "caltech45"), ("places365", "places82"),
    ("resnet50", "rn50"), ("swinbase", "swinb"), ("vitbase", "vitb16"),
}  # fmt: skip
# The same images, of which other classes are drawn to be known.
_DRAWN = {("cifar100", "cifar40"), ("imagenet", "imagenet200")}
_JOINED = ("union", "average", "all")  # of the test sets at hand, which are not the paper's
_WHAT = {
    "data_set": ("data set", "no results on it or on a stand-in"),
    "backbone": ("network", "no network of its kind on this data set"),
    "metric": ("metric", "not measured on the network that stands in"),
    "test_set": ("test set", "no images stand in for it"),
    "method": ("method", "not evaluated"),
    "calibration": ("calibration", "not evaluated"),
}


def counterparts(
    papers: Mapping[str, Paper], tables: Mapping[tuple[str, str], pd.DataFrame]
) -> pd.DataFrame:
    """Put every printed number beside our means over runs, of each tier that has them.

    Notes
    -----
    Averages over test sets are taken anew; see `helpers.report.published.with_averages`.
    """
    parts = [pd.DataFrame(columns=list(COLUMNS))]
    for (_, paper), table in tables.items():
        if paper in published.papers():
            record = papers[paper]
            parts += [_beside(record, *part) for part in record.rows_beside(table)]
    return pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)


def coverage(found: pd.DataFrame) -> pd.DataFrame:
    """Count a paper's printed numbers, and those of them with a counterpart at each tier."""
    printed = pd.concat({paper: _printed(paper) for paper in published.papers()}, names=["paper"])
    counts = printed.groupby("paper", sort=False).size().to_frame("printed")
    once = found.drop_duplicates(["paper", *_KEYS])
    counts["compared"] = once.groupby("paper").size()
    for tier, own in found.groupby("tier", sort=False):
        counts[tier] = own.drop_duplicates(["paper", *_KEYS]).groupby("paper").size()
    return counts.fillna(0).astype(int)


def uncompared(found: pd.DataFrame) -> pd.DataFrame:
    """List the printed numbers that have no counterpart at any tier, and why."""
    rows = []
    for paper in published.papers():
        own = found[found["paper"] == paper]
        there = [set(zip(*(own[key] for key in _KEYS[:end]), strict=True)) for end in _ENDS]
        printed = _printed(paper)
        for table, *key in printed[["table", *_WHAT]].itertuples(index=False):
            lacking = [end for end, keys in zip(_ENDS, there, strict=True)
                       if tuple(key[:end]) not in keys]  # fmt: skip
            if lacking:
                what, why = list(_WHAT.values())[lacking[0] - 1]
                rows.append((paper, table, what, key[lacking[0] - 1], why))
    columns = ["paper", "table", "what", "which", "why"]
    every = pd.DataFrame(rows, columns=columns)
    return every.groupby(columns, sort=False).size().rename("numbers").reset_index()


def agreement(found: pd.DataFrame) -> pd.DataFrame:
    """Sum up how near our numbers come to the printed ones, of each paper, tier and metric.

    Examples
    --------
    >>> place = dict.fromkeys(["data_set", "test_set", "backbone", "calibration"], "")
    >>> found = pd.DataFrame({"paper": "p", "tier": "t", "metric": "ece", "unit": "published",
    ...                       "published": [0.1, 0.2, 0.3], "reproduced": [0.2, 0.4, 0.5], **place,
    ...                       "difference": [0.1, 0.2, 0.2], "deviations": [1.0, 2.0, 4.0]})
    >>> agreement(found).round(2).iloc[0, 3:].to_list()
    [3.0, 0.2, 0.67, 1.0]
    """
    rows = []
    for key, own in found.groupby(["paper", "tier", "metric"], sort=False):
        sized = own.loc[own["unit"] == "published", "deviations"].abs()
        within = (sized <= 2).mean() if len(sized) else np.nan
        orders = pd.Series([_same_order(one) for _, one in own.groupby(_ONE_SET)])
        rows.append((*key, len(own), own["difference"].abs().median(), within, orders.median()))
    names = ["paper", "tier", "metric", "numbers", "median_difference", "within"]
    return pd.DataFrame(rows, columns=[*names, "rank_correlation"])


_ONE_SET = ["data_set", "test_set", "backbone", "calibration"]
_KEYS = [f"paper_{key}" if key in ("data_set", "backbone", "test_set") else key for key in _WHAT]
_ENDS = range(1, len(_KEYS) + 1)


def _same_order(own: pd.DataFrame) -> float:
    """Return Spearman's correlation of published and reproduced; NaN where there is no order."""
    return float(spearman(own["published"], own["reproduced"])) if len(own) > 2 else np.nan


def _printed(paper: str) -> pd.DataFrame:
    """Return the numbers of a paper that ours are compared with, each once.

    An accuracy that scaling leaves alone is printed for a network, and not before and after.
    """
    numbers = published.with_averages(published.load(paper))
    return numbers[(numbers["metric"] != "accuracy") | (numbers["calibration"] != "after")]


def _beside(paper: Paper, rows: pd.DataFrame, networks: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of `counterparts` of a part of one results table."""
    printed = _printed(paper.name)
    if not rows["metric"].isin(printed["metric"]).any():
        return pd.DataFrame(columns=list(COLUMNS))
    both = comparison(rows, printed, published_as=paper.published_as, families=networks)
    both = both.dropna(subset="paper").rename(
        columns={
            "paper": "published",
            "paper_std": "published_std",
            "mean": "reproduced",
            "std": "reproduced_std",
        }
    )
    theirs, ours = (both[f"{name}_std"] > 0 for name in ("published", "reproduced"))
    unit = np.select([theirs, ours], ["published", "ours"], "")
    spread = both["published_std"].where(theirs, both["reproduced_std"].where(ours))
    both = both.assign(paper=paper.name, unit=unit, deviations=both["difference"] / spread)
    both["stand_ins"] = [_stand_ins(row) for row in both.to_dict("records")]
    return both[list(COLUMNS)]


def _stand_ins(row: dict) -> str:
    """Return in words what in a row is not the paper's own."""
    places = ("data_set", "test_set", "backbone")
    pairs = [(row[name], row[f"paper_{name}"]) for name in places]
    parts = [f"{ours} for {theirs}" for ours, theirs in pairs if not _same(ours, theirs)]
    if _plain(*pairs[0]) in _DRAWN:
        parts[0] = f"{row['data_set']}: other classes drawn than for {row['paper_data_set']}"
    if row["test_set"] in _JOINED:
        parts.append(f"{row['test_set']}: of the sets at hand")
    return ", ".join(parts)


def _same(ours: str, theirs: str) -> bool:
    names = _plain(ours, theirs)
    return names[0] == names[1] or names in _SAME


def _plain(*names: str) -> tuple[str, ...]:
    return tuple(name.lower().replace("-", "").replace("_", "") for name in names)
