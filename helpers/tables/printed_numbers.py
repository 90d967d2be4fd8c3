"""The papers' own numbers, as data, in the words of this project's results tables.

A paper's ``printed.csv`` holds them as they are printed, with the ``unit`` that they are divided by
here: 100 if the paper prints per cent.  The first line of the file describes where the paper is.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from helpers.checks import known_name

COLUMNS = (
    "data_set",
    "test_set",
    "backbone",
    "method",
    "calibration",
    "metric",
    "value",
    "std",
    "table",
    "source",
)
_FOLDER = Path(__file__).parent.parent / "papers"


def papers() -> tuple[str, ...]:
    """Return the names of the papers whose numbers are here."""
    return tuple(sorted(file.parent.name for file in _FOLDER.glob("*/printed.csv")))


def load(paper: str) -> pd.DataFrame:
    """Return a paper's printed numbers, one per row.

    >>> numbers = load("openset_calibration")
    >>> numbers[numbers["table"] == "I"].head(1)[["data_set", "metric", "value"]].values.tolist()
    [['CIFAR10', 'brier', 0.255]]
    """
    known_name("paper", paper, papers())
    path = _FOLDER / paper / "printed.csv"
    edition = path.read_text(encoding="utf-8").partition("\n")[0].strip("# ")
    numbers = pd.read_csv(
        path, comment="#", dtype={"table": str}, keep_default_na=False, na_values={"std": [""]}
    )
    numbers[["value", "std"]] = numbers[["value", "std"]].div(numbers["unit"], axis=0)
    return numbers.assign(source="Table " + numbers["table"] + f", {edition}")[list(COLUMNS)]


def with_averages(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return printed numbers with averages over test sets that are computed again, as ours are.

    The printed averages of KNN in "human_centric" differ from the means of their eight cells (by up
    to 0.018), and five others differ by up to 0.0004.  No other paper prints averages.
    """
    average = numbers["test_set"] == "average"
    cell = ["data_set", "backbone", "method", "metric"]
    means = numbers[~average].groupby(cell)["value"].mean().rename("mean")
    fresh = numbers.join(means, on=cell)["mean"]
    return numbers.assign(value=numbers["value"].where(~average, fresh))
