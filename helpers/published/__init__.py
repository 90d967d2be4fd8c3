"""The papers' own numbers, as data, in the words of this project's results tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from helpers.checks import known_name

COLUMNS = (
    "data_set",
    "backbone",
    "method",
    "calibration",
    "metric",
    "value",
    "table",
    "source",
)


def papers() -> tuple[str, ...]:
    """Return the names of the papers whose numbers are here."""
    return tuple(_READERS)


def load(paper: str) -> pd.DataFrame:
    """Return a paper's printed numbers, one per row.

    Parameters
    ----------
    paper : str
        One of `papers`.

    Returns
    -------
    DataFrame
        ``data_set`` and ``backbone`` as the paper prints them; ``method``, ``calibration`` and
        ``metric`` in this project's words; ``value``, not scaled; ``table``, the number of the
        paper's table; ``source``, where to look it up.

    Raises
    ------
    ValueError
        The paper is unknown.

    Examples
    --------
    >>> numbers = load("openset_calibration")
    >>> numbers[numbers["table"] == "I"].head(1)[["data_set", "metric", "value"]].values.tolist()
    [['CIFAR10', 'brier', 0.255]]
    """
    known_name("paper", paper, papers())
    path = Path(__file__).parent / f"{paper}.csv"
    return _READERS[paper](pd.read_csv(path))[list(COLUMNS)]


def _openset_calibration(printed: pd.DataFrame) -> pd.DataFrame:
    """Tables I-VI; the accuracy, which the paper prints once per setting, is on both rows."""
    methods = {
        "Closed-set": "closed-set",
        "Open-set": "open-set",
        "Open-set + OpenMax": "open-set + OpenMax",
    }
    printed = printed.rename(
        columns={"dataset": "data_set", "network": "backbone", "setting": "method"}
    )
    printed["method"] = printed["method"].map(methods)
    printed["source"] = "Table " + printed["table"] + ", arXiv:2205.07160"
    return printed.melt(
        id_vars=["table", "data_set", "backbone", "method", "calibration", "source"],
        value_vars=["brier", "ece", "accuracy"],
        var_name="metric",
        ignore_index=False,
    ).sort_index(kind="stable", ignore_index=True)


_READERS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "openset_calibration": _openset_calibration,
}
