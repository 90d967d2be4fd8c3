"""Give each process that needs a GPU one that no other process has."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
import time
from pathlib import Path

VISIBLE = "CUDA_VISIBLE_DEVICES"
_held: list = []  # files that are locked as long as this process lives


def visible() -> list[str]:
    """Return the names of the GPUs that may be used, without loading torch."""
    if VISIBLE in os.environ:
        return [name for name in os.environ[VISIBLE].split(",") if name]
    try:
        listing = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True).stdout
    except OSError:  # there is no such program
        return []
    count = sum(line.startswith("GPU ") for line in listing.splitlines())  # parts are indented
    return [str(number) for number in range(count)]


def take(side_by_side: int = 1) -> None:
    """Wait for a GPU, and show this process only that one; with fewer than two, do nothing.

    `side_by_side` is the number of processes that may share a GPU.
    """
    names, folder = visible(), Path(tempfile.gettempdir())
    while len(names) > 1:
        for name, slot in [(name, slot) for slot in range(side_by_side) for name in names]:
            file = open(folder / f"known_unknowns-{os.getuid()}-gpu-{name}-{slot}.lock", "w")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                continue
            _held.append(file)
            os.environ[VISIBLE] = name
            return
        time.sleep(0.5)
