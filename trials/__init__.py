"""What was tried to break this project, and how its tests are tested.

Each module is a run that anybody can repeat: it is seeded, and writes what came of it into
``trials/results``, from which the book's page *How this is tested* takes every number.

    python -m trials.faults      # kills, flipped bits, full disks, two runs at once; make faults
    python -m trials.promises    # every promise of the project, simulated
    python -m trials.branches    # which branches of the code the tests take
    python -m trials.mutants     # which changes of the code the tests notice
    python -m trials.types       # whether the public surface keeps to its types
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from helpers.files import atomic_path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "trials" / "results"


def write(name: str, rows: Iterable[Mapping], folder: Path | None = None) -> pd.DataFrame:
    """Write the rows of a run as ``NAME.csv``, and with what they were made; return them."""
    made_with = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    table = pd.DataFrame(list(rows)).assign(made_with=made_with)
    with atomic_path((folder or RESULTS) / f"{name}.csv") as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")
    return table


def read(name: str) -> pd.DataFrame | None:
    """Return the rows of a run, or None where it has not been run yet."""
    file = RESULTS / f"{name}.csv"
    return pd.read_csv(file, keep_default_na=False) if file.exists() else None
