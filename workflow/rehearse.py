"""The rehearsal of tier `paper`: its data, and the results that it misses.

Tier `rehearsal` is tier `paper` with the sizes of `params/rehearsal` and made-up images in
`runs/rehearsal/data`, not in DATA_ROOT.  A missing result is an error; the values mean nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd
from step import ROOT, Step

from helpers.papers import REHEARSAL
from known_unknowns.chapters import load

DATA = ROOT / "runs" / REHEARSAL / "data"
JUDGED = "human_centric"
"""The chapter with published networks."""


def make_data(steps: Collection[Step]) -> None:
    """Make the missing data and networks that some steps read."""
    import made_up

    DATA.mkdir(parents=True, exist_ok=True)
    names = dict.fromkeys(name for step in steps for name in step.data_sets)
    made_up.photographs([name for name in names if name in made_up.STREAMED], DATA)
    if made_up.PACKS.keys() & names.keys():
        made_up.packs(DATA)
    if any(step.asks and step.name.startswith(JUDGED) for step in steps):
        made_up.networks(load(JUDGED, REHEARSAL), DATA)
    print(f"data are in {DATA}", flush=True)


def failures(runs: Path) -> list[str]:
    """Return the missing results in the tables of all chapters, with reasons, and their number."""
    columns = ["paper", "backbone", "method", "variant", "test_set", "notes"]
    files = sorted(runs.glob("*/results.parquet"))
    tables = [pd.read_parquet(file, columns=["metric", *columns]) for file in files]
    failed = [table.loc[table["metric"] == "failed", columns] for table in tables]
    lines = [", ".join(map(str, row)) for rows in failed for row in rows.itertuples(index=False)]
    return [*lines, f"rehearsed, but {len(lines)} results are missing"] if lines else []
