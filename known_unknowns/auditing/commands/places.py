"""Exit statuses, lines about the progress, and places of the files that a command writes."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Collection
from pathlib import Path

#: Exit status: all requirements hold.
HOLDS = 0
#: Exit status: a requirement does not hold, or there is an alarm.
FAILS = 1
#: Exit status: wrong usage or input.
REFUSED = 2
#: Exit status: Ctrl-C.
STOPPED = 130


def path_of(text: str) -> Path:
    """Return a path; a shell does not replace the ~ of ``--out=~/a``."""
    return Path(os.path.expanduser(text))


def add_out(parser: argparse.ArgumentParser, words: str) -> None:
    parser.add_argument("--out", type=path_of, help=words)
    parser.add_argument("--force", action="store_true", help="replace an earlier file or folder")


def teller(line: str) -> Callable[[str], None]:
    """Print a line; return a function that prints more lines, with the seconds since now."""
    began = time.perf_counter()

    def tell(line: str) -> None:
        print(f"{time.perf_counter() - began:6.1f} s  {line}", flush=True)

    tell(line)
    return tell


def check_place(out: Path, option: str = "--out") -> None:
    """Refuse a folder that cannot be written to, before the work begins."""
    parent = next(path for path in out.absolute().parents if path.exists())
    if not (parent.is_dir() and os.access(parent, os.W_OK)):
        raise ValueError(f"{option}: {out} cannot be written in {parent}; name another place")


def output_folder(given: argparse.Namespace, name: Path | str, files: Collection[str]) -> dict:
    """Return the folder to write, checked to be free, and the files that may be replaced.

    `files` are the names of these files, or patterns of names.
    """
    from helpers.files import check_free

    out = given.out or Path(f"{Path(name).stem}_{given.command}")
    matching = (path.name for pattern in files for path in out.glob(pattern))
    replaces = {*files, *matching} if given.force else None
    check_free(out, replaces)
    check_place(out)
    return {"path": out, "replaces": replaces}
