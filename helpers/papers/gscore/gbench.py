"""Gbench, the paper's collection of sets, as data: its list."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

from helpers.checks import known_name


@cache
def gbench() -> dict[str, str]:
    """Return the addresses of the paper's sets by their names, as far as its text has them.

    147 of the 200: the paper's list is cut.
    """
    with open(Path(__file__).parent / "gbench.csv", newline="", encoding="utf-8") as opened:
        return {row["name"]: row["url"] for row in csv.DictReader(opened)}


def pack_name(name: str) -> str:
    """Return what the pack of one of the paper's sets is called."""
    known_name("set of Gbench", name, gbench())
    return "gbench_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
