"""Kills: a process ends at a random moment, without a chance to tidy up, and is started again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from trials.faults import children
from trials.faults.kinds import OURS, make_all, place

SEEDS = range(6)  # files of each kind that a run makes


def half_files(folder: Path, whole: dict[str, str]) -> list[str]:
    """Return the names of files under their own name that are not whole."""
    found = []
    for seed in SEEDS:
        for name, kind in OURS.items():
            path = place(folder, name, seed)
            if path.exists():
                try:
                    good = kind.read(path) == whole[path.name]
                except ValueError:
                    good = False
                found += [] if good else [path.name]
    return found


def rows(root: Path, *, seed: int, count: int):
    """Yield a row for each kill of a run that writes a file of every kind, again and again."""
    work: Callable = partial(make_all, seeds=SEEDS)
    quiet = children.run(partial(_in_folder, root / "undisturbed", work))
    whole, generator = quiet.result, np.random.default_rng([seed, 1])
    for case in range(count):
        folder = root / f"kill_{case}"
        moment = float(generator.uniform(0, quiet.seconds))
        children.run(partial(_in_folder, folder, work), kill_after=moment)
        half = children.run(partial(_in_folder, folder, partial(half_files, whole=whole))).result
        again = children.run(partial(_in_folder, folder, work))
        said = "the same" if again.result == whole else "taken" if again.result else "crash"
        if half or half is None:
            said = "lost"
        yield {"fault": "killed at a random moment, and started again", "file": "every kind",
               "outcome": said, "cases": 1, "words": f"case {case}"}  # fmt: skip


def _in_folder(folder: Path, work: Callable[[Path], object]) -> object:
    folder.mkdir(parents=True, exist_ok=True)
    return work(folder)
