"""The GPUs of this machine, dealt out: each process that asks for one sees that one alone."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
import time
from pathlib import Path

VISIBLE = "CUDA_VISIBLE_DEVICES"
_held: list = []  # files that are locked for as long as this process lives


def visible() -> list[str]:
    """Return what the GPUs that may be used are called; without loading torch."""
    if VISIBLE in os.environ:
        return [name for name in os.environ[VISIBLE].split(",") if name]
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True).stdout
    except OSError:  # there is no such program
        return []
    return [str(number) for number in range(sum(map(is_gpu, listed.splitlines())))]


def is_gpu(line: str) -> bool:
    """Return whether a line of ``nvidia-smi -L`` is of a GPU, and not of a part of one."""
    return line.startswith("GPU ")


def take(side_by_side: int = 1) -> None:
    """Wait for a GPU, and let this process and what it starts see that alone.

    Where there are fewer than two, nothing happens.

    Parameters
    ----------
    side_by_side : int
        How many processes may have the same one, if there are more of them than GPUs.
    """
    names = visible()
    if len(names) < 2:
        return
    folder = Path(tempfile.gettempdir())
    places = [(name, place) for place in range(side_by_side) for name in names]
    while True:
        for name, place in places:
            file = open(folder / f"known_unknowns-{os.getuid()}-gpu-{name}-{place}.lock", "w")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                continue
            _held.append(file)
            os.environ[VISIBLE] = name
            return
        time.sleep(0.5)
