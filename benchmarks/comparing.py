"""Two sides on the same arrays, in turn: what all benchmarks against peers share.

A comparison counts only after `agree` has said that both give the same answer, and is a ratio:
on another machine both sides are faster or slower.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

RESULTS = Path(__file__).resolve().parent / "results"
OURS = "this project"
_PACKAGES = ("numpy", "torch", "pytorch-ood", "torch-uncertainty", "torchmetrics", "netcal",
             "scikit-learn")  # fmt: skip


def seconds(function: Callable) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def machine() -> str:
    """Return what is measured on, in words."""
    return f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def versions() -> str:
    """Return which versions of the peers, and of what both sides use, are installed."""
    found = []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


class Comparison:
    """The rows of one benchmark.

    Parameters
    ----------
    name : str
        Of the benchmark, and of its file below ``benchmarks/results``.
    """

    def __init__(self, name: str):
        self.name = name
        self.rows: list[dict] = []

    def add(
        self,
        work: str,
        size: str,
        peer: str,
        ours: Callable,
        theirs: Callable,
        *,
        wanted: float,
        rounds: int = 5,
        share: float = 1.0,
        note: str = "",
        limit: str = "",
    ) -> None:
        """Time both sides in turn, and keep the ratio of theirs to ours.

        Parameters
        ----------
        work, size, peer : str
            What is compared with whom.
        ours, theirs : callable
        wanted : float
            The ratio that is aimed at.
        rounds : int
            How often both are timed, after one call of each that is not.
        share : float
            Of the work that `theirs` does, where the whole would take too long.
        note : str
            The convention in which both differ, or how they were made to agree.
        limit : str
            What keeps the goal out of reach, where it is missed.
        """
        ours(), theirs()
        pairs = [(seconds(ours), seconds(theirs) / share) for _ in range(rounds)]
        self.keep(work, size, peer, pairs, wanted=wanted, note=note, limit=limit)

    def keep(
        self,
        work: str,
        size: str,
        peer: str,
        pairs: list[tuple[float, float]],
        *,
        wanted: float,
        note: str = "",
        limit: str = "",
    ) -> None:
        """Keep what was timed elsewhere: pairs of our seconds and theirs, NaN if not yet."""
        ratios = [their / own for own, their in pairs]
        row = {
            "work": work, "size": size, "peer": peer,
            "ours": statistics.median(own for own, _ in pairs),
            "theirs": statistics.median(their for _, their in pairs),
            "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios),
            "wanted": wanted, "note": note, "limit": limit,
        }  # fmt: skip
        self.rows.append(row)
        print(
            f"{work:34s} {peer:32s} ours {1e3 * row['ours']:10.2f} ms  theirs "
            f"{1e3 * row['theirs']:11.2f} ms  ratio {row['ratio']:8.2f} ({row['low']:.2f} to "
            f"{row['high']:.2f}), wanted {wanted:g}  {note}",
            flush=True,
        )

    def write(self) -> None:
        """Write the rows, and what they were measured with."""
        RESULTS.mkdir(exist_ok=True)
        table = pd.DataFrame(self.rows).assign(machine=machine(), versions=versions())
        table.to_parquet(RESULTS / f"{self.name}.parquet", index=False)


def agree(ours: float, theirs: float, *, within: float = 1e-6) -> None:
    """Refuse to compare two sides that do not give the same number."""
    if not np.isclose(ours, theirs, rtol=0, atol=within):
        raise AssertionError(f"{ours} here, {theirs} there: not the same number")
