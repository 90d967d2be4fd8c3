"""Gbench, the paper's collection of sets, as data: its list, and what sets share with ID sets."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

from helpers.checks import known_name


def shared_classes(data_set: str) -> dict[str, str]:
    """Return the sets that show classes of an ID set, and which; empty where nobody has looked.

    Those of the paper's own list are among them, for CIFAR-100, under the names of `pack_name`.

    Examples
    --------
    >>> shared_classes("cifar10")["pacs_photo"]
    'dog, horse'
    """
    rows = _rows("shared_classes.csv")
    return {row["set"]: row["shared"] for row in rows if row["id_set"] == data_set}


def gbench() -> dict[str, str]:
    """Return the addresses of the paper's sets by their names, as far as its text has them.

    147 of the 200: the paper's list is cut.

    Examples
    --------
    >>> len(gbench()), gbench()["Tally marks"]
    (147, 'https://www.kaggle.com/datasets/duraidkhaalid/tally-marks')
    """
    return {row["name"]: row["url"] for row in _rows("gbench.csv")}


def pack_name(name: str) -> str:
    """Return what the pack of one of the paper's sets is called.

    Raises
    ------
    ValueError
        The paper has no such set; says which is nearest.

    Examples
    --------
    >>> pack_name("Rock Paper Scissors")
    'gbench_rock_paper_scissors'
    """
    known_name("set of Gbench", name, gbench())
    return "gbench_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


@cache
def _rows(file: str) -> tuple[dict[str, str], ...]:
    with open(Path(__file__).parent / file, newline="", encoding="utf-8") as opened:
        return tuple(csv.DictReader(opened))
