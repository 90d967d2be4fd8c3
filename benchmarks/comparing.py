"""Time two sides on the same arrays, in turn, and keep the ratio.

A comparison is valid only after a check that both sides give equal numbers.  You can compare the
ratios of a run between machines, but not the seconds.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
from collections.abc import Callable
from pathlib import Path
from timeit import timeit

import numpy as np
import pandas as pd

RESULTS = Path(__file__).resolve().parent / "results"


class Comparison:
    """The rows of one benchmark, `name`, stored as ``benchmarks/results/<name>.parquet``."""

    def __init__(self, name: str, *packages: str):
        self.name = name
        self.packages = ("numpy", "torch", *packages)
        self.rows: list[dict] = []

    def add(
        self,
        work: str,
        size: str,
        peer: str,
        ours: Callable,
        theirs: Callable,
        *,
        rounds: int = 3,
        share: float = 1.0,
    ) -> None:
        """Time both sides in turn, after one call of each side without timing.

        Parameters
        ----------
        work, size, peer : str
            Task, size of the input, and peer library.
        ours, theirs : callable
        rounds : int
        share : float
            Share of the work for `theirs`, if all the work takes too long.
        """
        ours(), theirs()
        pairs = [(timeit(ours, number=1), timeit(theirs, number=1) / share) for _ in range(rounds)]
        ratios = [their / our for our, their in pairs]
        row = {
            "work": work,
            "size": size,
            "peer": peer,
            "ours": statistics.median(our for our, _ in pairs),
            "theirs": statistics.median(their for _, their in pairs),
            "ratio": statistics.median(ratios),
            "low": min(ratios),
            "high": max(ratios),
        }
        self.rows.append(row)
        print(f"{work}, {peer}: {row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})")

    def write(self) -> None:
        """Write the rows with the machine and the versions of the packages."""
        versions = ", ".join(f"{one} {importlib.metadata.version(one)}" for one in self.packages)
        machine = f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"
        table = pd.DataFrame(self.rows).assign(machine=machine, versions=versions)
        table.to_parquet(RESULTS / f"{self.name}.parquet", index=False)


def check_equal(ours, theirs, *, within: float = 1e-6) -> None:
    """Raise an AssertionError if two sides do not give equal numbers."""
    if not np.allclose(ours, theirs, rtol=0, atol=within):
        raise AssertionError(f"{ours} here, {theirs} there: not the same numbers")
