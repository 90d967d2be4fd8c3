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
import time
from collections.abc import Collection
from pathlib import Path

from plan import plan, with_needs
from step import ROOT, Step

from helpers.papers import REHEARSAL
from helpers.report import results
from known_unknowns.chapters import load

FOLDER = ROOT / "runs" / REHEARSAL
DATA, ARCHIVES = FOLDER / "data", FOLDER / "archives"
JUDGED = "human_centric"
"""The chapter with published networks."""


def make_data(steps: Collection[Step]) -> None:
    """Make the missing data and networks that some steps read."""
    import made_up

    names = dict.fromkeys(name for step in steps for name in step.data_sets)
    made_up.photographs([name for name in names if name in made_up.WRITERS], DATA, ARCHIVES)
    papers = {step.name.partition("/")[0] for step in steps}
    if any(not name.startswith("folder:") and name in made_up.PACKS for name in names):
        made_up.packs(DATA, ARCHIVES)
    if JUDGED in papers and any(step.asks for step in steps):
        made_up.networks(load(JUDGED, REHEARSAL), DATA, ARCHIVES)


def failures(runs: Path) -> list[str]:
    """Return the missing results in the tables of all chapters, with reasons."""
    lines = []
    for file in sorted(runs.glob("*/results.parquet")):
        table = results.read(file)
        for row in table[table["metric"] == "failed"].itertuples():
            where = (file.parent.name, row.backbone, row.method, row.variant, row.test_set)
            lines.append(f"{', '.join(map(str, where))}: {row.notes}")
    return lines


def main() -> None:
    """Make the data, run the pipeline, and print the missing results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cores", default=str(os.cpu_count()))
    parser.add_argument("--step", action="append", default=[], help="PAPER/NOTEBOOK; else all")
    parser.add_argument("--data", action="store_true", help="make the data alone")
    arguments = parser.parse_args()
    start = time.monotonic()
    os.environ["DATA_ROOT"] = str(DATA)
    DATA.mkdir(parents=True, exist_ok=True)
    try:
        steps = plan(REHEARSAL)
        wanted = with_needs(steps, arguments.step or steps)
    except ValueError as error:
        parser.error(str(error))
    make_data(wanted.values())
    print(f"data are there after {time.monotonic() - start:.0f} s: {DATA}", flush=True)
    if arguments.data:
        return
    pipeline = [sys.executable, ROOT / "workflow" / "run.py", "--tier", REHEARSAL]
    pipeline += ["--cores", arguments.cores]
    for some in [["--step", name] for name in arguments.step] or [[]]:
        done = subprocess.run([*pipeline, *some, "all"])
        if done.returncode:
            sys.exit(done.returncode)
    if missing := failures(FOLDER):
        print(*missing, sep="\n")
        sys.exit(f"rehearsed, but {len(missing)} results are missing")
    print(f"rehearsed: {len(wanted)} notebooks in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
