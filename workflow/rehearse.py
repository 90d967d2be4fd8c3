"""Rehearse tier `paper`: make data for it, execute every notebook of it, look at its results.

    python workflow/rehearse.py --cores 2
    python workflow/rehearse.py --step uimnet/dataset
    python workflow/rehearse.py --data

Tier `rehearsal` is tier `paper` with the sizes of `params/rehearsal` and made-up images in
`runs/rehearsal/data`, not in DATA_ROOT.  A missing result is an error; the values mean nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pandas as pd
from plan import plan, with_needs
from step import ROOT, Step

from helpers.papers import REHEARSAL
from known_unknowns.chapters import load

DATA = ROOT / "runs" / REHEARSAL / "data"
JUDGED = "human_centric"
"""The chapter with published networks."""


def make_data(steps: Collection[Step]) -> None:
    """Make the missing data and networks that some steps read."""
    import made_up

    names = dict.fromkeys(name for step in steps for name in step.data_sets)
    made_up.photographs([name for name in names if name in made_up.STREAMED], DATA)
    if made_up.PACKS.keys() & names.keys():
        made_up.packs(DATA)
    if any(step.asks and step.name.startswith(JUDGED) for step in steps):
        made_up.networks(load(JUDGED, REHEARSAL), DATA)


def failures(runs: Path) -> list[str]:
    """Return the missing results in the tables of all chapters, with reasons."""
    lines, columns = [], ["paper", "backbone", "method", "variant", "test_set", "notes"]
    for file in sorted(runs.glob("*/results.parquet")):
        table = pd.read_parquet(file, columns=["metric", *columns])
        failed = table.loc[table["metric"] == "failed", columns]
        lines += [", ".join(map(str, row)) for row in failed.itertuples(index=False)]
    return lines


def main() -> None:
    """Make the data, run the pipeline, and print the missing results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cores", default=str(os.cpu_count()))
    parser.add_argument("--step", action="append", default=[], help="PAPER/NOTEBOOK; else all")
    parser.add_argument("--data", action="store_true", help="make the data alone")
    arguments = parser.parse_args()
    os.environ["DATA_ROOT"] = str(DATA)
    DATA.mkdir(parents=True, exist_ok=True)
    try:
        steps = plan(REHEARSAL)
        wanted = with_needs(steps, arguments.step or steps)
    except ValueError as error:
        parser.error(str(error))
    make_data(wanted.values())
    print(f"data are in {DATA}", flush=True)
    if arguments.data:
        return
    pipeline = [sys.executable, ROOT / "workflow" / "run.py", "--tier", REHEARSAL]
    pipeline += ["--cores", arguments.cores]
    for some in [["--step", name] for name in arguments.step] or [[]]:
        if code := subprocess.run([*pipeline, *some, "all"]).returncode:
            sys.exit(code)
    if missing := failures(DATA.parent):
        print(*missing, sep="\n")
        sys.exit(f"rehearsed, but {len(missing)} results are missing")
    print(f"rehearsed: {len(wanted)} notebooks")


if __name__ == "__main__":
    main()
