"""Kills of an experiment itself: networks are trained and asked, rows are made and kept."""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np

from helpers import papers
from helpers.papers import run
from helpers.report.results import IDENTITY
from trials.faults import children
from trials.faults.kinds import digest

SMALL = {"backbone": "resnet", "depth": 8, "width": 8, "stem_stride": 4, "epochs": 4}


def experiment(root: Path) -> str:
    """Train small networks on two settings of the digits, and return a digest of all rows."""
    os.environ["CACHE_ROOT"] = str(root)
    parameters = papers.load(
        "openset_calibration", "mini", data_sets=["digits"], runs=1, networks={"resnet8": SMALL},
        replicates=20, larger_tiers=[],
    )  # fmt: skip
    table = run.rows(parameters, progress=False).sort_values("row")
    if "failed" in set(table["metric"]):
        raise RuntimeError(table["notes"].tolist())
    columns = [table[name].tolist() for name in (*IDENTITY, "value", "images")]
    return digest(*columns, *table["bootstrap"])


def rows(root: Path, *, seed: int, count: int):
    """Yield a row for each kill of the experiment, which is then done again until it ends."""
    import_module("helpers.papers.openset_calibration.experiment")  # once, not in each child

    root.mkdir()
    quiet = children.run(partial(experiment, root / "undisturbed"), kill_after=600)
    generator = np.random.default_rng([seed, 2])
    for case in range(count):
        folder, kills = root / str(case), 0
        # often enough that one of them is likely to meet each stage
        for _ in range(3):
            moment = float(generator.uniform(0, quiet.seconds))
            kills += children.run(partial(experiment, folder), kill_after=moment).signal > 0
        again = children.run(partial(experiment, folder), kill_after=600)
        same = again.result is not None and again.result == quiet.result
        said = "the same" if same else "taken" if again.result else "crash"
        yield {"fault": "killed while it trains and evaluates", "file": "an experiment",
               "outcome": said, "cases": max(kills, 1), "words": f"case {case}"}  # fmt: skip
