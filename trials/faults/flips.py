"""Altered files: flipped bits, missing ends, zeros, bytes too many."""

from __future__ import annotations

import signal
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np

from trials.faults import children
from trials.faults.kinds import KINDS, place

SECONDS = 20  # that reading a small file may take


def flip_bit(data: bytes, generator: np.random.Generator) -> bytes:
    """Flip one bit."""
    found = bytearray(data)
    found[generator.integers(len(data))] ^= 1 << int(generator.integers(8))
    return bytes(found)


def truncate(data: bytes, generator: np.random.Generator) -> bytes:
    """Leave out the end, as a copy that was broken off."""
    return data[: generator.integers(len(data))]


def blank(data: bytes, generator: np.random.Generator) -> bytes:
    """Put zeros in the place of a block, as a disk that lost it."""
    size = min(512, max(1, len(data) // 4))
    start = int(generator.integers(len(data) - size + 1))
    return data[:start] + bytes(size) + data[start + size :]


def swap(data: bytes, generator: np.random.Generator) -> bytes:
    """Put random bytes in the place of eight others."""
    start = int(generator.integers(max(1, len(data) - 8)))
    return data[:start] + generator.bytes(8) + data[start + 8 :]


def extend(data: bytes, generator: np.random.Generator) -> bytes:
    """Add bytes at the end."""
    return data + generator.bytes(int(generator.integers(1, 200)))


ALTERED = {
    "a bit is flipped": flip_bit,
    "the end is missing": truncate,
    "a block is zeros": blank,
    "eight bytes are others": swap,
    "bytes follow the end": extend,
}


def outcome(path: Path, name: str, expected: str, seen: list[str]) -> tuple[str, str]:
    """Read an altered file, and return what comes of it, with the error's words."""
    words, before = "", len(seen)
    signal.alarm(SECONDS)
    try:
        found = "as before" if KINDS[name].read(path) == expected else "taken"
    except ValueError as error:
        words = str(error)
        found = "refused" if path.name in words else "vague"
    except BaseException as error:  # whatever it is, it is a finding
        words, found = f"{type(error).__name__}: {error}", "crash"
    signal.alarm(0)
    if len(seen) > before:
        found, words = "executed", seen[-1]
    aside = path.with_name(path.name + ".damaged")  # where the cache puts what it does not use
    if not (path.exists() or aside.exists()):
        found = "lost"
    aside.unlink(missing_ok=True)
    return found, words


def _cases(folder: Path, name: str, sort: str, seed: int, count: int) -> list:
    """Alter a file so many times, each time from the whole one; in a child."""

    def late(*_):
        raise TimeoutError(f"no end within {SECONDS} s")

    children.limit_memory()
    signal.signal(signal.SIGALRM, late)
    path = place(folder, name, 0)
    KINDS[name].write(path, 0)
    data, expected = path.read_bytes(), KINDS[name].read(path)
    seen = children.watch()
    found: Counter[tuple[str, str]] = Counter()
    for case in range(count):
        generator = np.random.default_rng([seed, case])
        altered = ALTERED[sort](data, generator)
        path.write_bytes(altered)
        said, words = outcome(path, name, expected, seen)
        good = said in ("as before", "refused")
        found[said, "" if good else f"case {case}: {words}"[:200]] += 1
    return [[*pair, cases] for pair, cases in found.items()]


def rows(folder: Path, *, seed: int, count: int):
    """Yield the rows of all kinds and alterations, so many cases of each."""
    for name in KINDS:
        for sort in ALTERED:
            ended = children.run(partial(_cases, folder, name, sort, seed, count))
            for outcome, words, cases in ended.result or [["crash", f"signal {ended.signal}", 1]]:
                yield {"fault": sort, "file": name, "outcome": outcome, "cases": cases,
                       "words": words}  # fmt: skip
