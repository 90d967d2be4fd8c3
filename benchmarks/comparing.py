"""Time two sides on the same arrays, in turn, and keep the ratio.

A comparison is valid only after a check that both sides give equal numbers.  You can compare the
ratios of a run between machines, but not the seconds.

Both sides use one thread, and we count processor seconds: other programs on the machine
change them little.  The memory is the growth of the process during one call, as Linux counts it.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.metadata
import math
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from timeit import timeit

import numpy as np
import pandas as pd
import torch
from threadpoolctl import threadpool_limits

RESULTS = Path(__file__).resolve().parent / "results"
#: Calls of each side, in turn.
ROUNDS = 5
_MEGABYTE = 1e6


class Comparison:
    """The rows of one benchmark, `name`, stored as ``benchmarks/results/<name>.parquet``."""

    def __init__(self, name: str, *packages: str):
        self.name = name
        self.packages = ("numpy", "torch", *packages)
        self.rows: list[dict] = []
        torch.set_num_threads(1)
        threadpool_limits(1)

    def add(
        self,
        work: str,
        size: str,
        peer: str,
        ours: Callable,
        theirs: Callable,
        *,
        given: int = 0,
        rounds: int = ROUNDS,
        reason: str = "",
    ) -> None:
        """Time both sides in turn, after one call of each side, which measures the memory.

        Parameters
        ----------
        work, size, peer : str
            Task, size of the input, and peer library.
        ours, theirs : callable
        given : int
            Bytes of the input.
        rounds : int
        reason : str
            Why a row below 1 stays.
        """
        memory = peak_memory(ours)
        their_memory = peak_memory(theirs)
        pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
        ratios = [their / our for our, their in pairs]
        fastest = min(our for our, _ in pairs)
        their_fastest = min(their for _, their in pairs)
        row = {
            "work": work,
            "size": size,
            "peer": peer,
            "ours": fastest,
            "theirs": their_fastest,
            "ratio": their_fastest / fastest,
            "low": min(ratios),
            "high": max(ratios),
            "given": given / _MEGABYTE,
            "memory": memory,
            "their_memory": their_memory,
            "reason": reason if their_fastest < fastest else "",
        }
        self.rows.append(row)
        print(
            f"{work}, {size}, {peer}: {row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f}), "
            f"{memory:.0f} MB and {their_memory:.0f} MB for {row['given']:.0f} MB",
            flush=True,
        )

    def write(self) -> None:
        """Write the rows with the machine and the versions of the packages."""
        versions = ", ".join(f"{one} {importlib.metadata.version(one)}" for one in self.packages)
        machine = f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"
        table = pd.DataFrame(self.rows).assign(machine=machine, versions=versions)
        table.to_parquet(RESULTS / f"{self.name}.parquet", index=False)


def seconds(call: Callable) -> float:
    """Return the seconds of the processor that a call takes."""
    return timeit(call, timer=time.process_time, number=1)


def peak_memory(call: Callable) -> float:
    """Return by how many megabytes a call makes the process grow at most; NaN except on Linux."""
    peak = Path("/proc/self/clear_refs")
    if not peak.exists():
        call()
        return math.nan
    _trim()
    peak.write_text("5")  # the highest memory is the present one
    before = _memory("VmRSS")
    call()
    return _memory("VmHWM") - before


def _trim() -> None:
    """Give free memory back to the system, so that a call that takes it again is counted."""
    gc.collect()
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):  # of GNU's library
        library.malloc_trim(0)


def _memory(kind: str) -> float:
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith(kind))
    return int(kilobytes) * 1024 / _MEGABYTE


def check_equal(ours, theirs, *, within: float = 1e-6) -> None:
    """Raise an AssertionError if two sides do not give equal numbers."""
    if not np.allclose(ours, theirs, rtol=0, atol=within):
        raise AssertionError(f"{ours} here, {theirs} there: not the same numbers")
