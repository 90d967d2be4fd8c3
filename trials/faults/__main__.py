"""Do everything to the files of this project that should not happen to them.

    python -m trials.faults                 # the whole: some minutes
    python -m trials.faults --few           # a shortened part: seconds, as in the tests

The table at the end counts what came of it; the run ends with an error if anything is a defect.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import os
import sys
import tempfile
from pathlib import Path

import pandas as pd

import trials
from trials.faults import DEFECTS, OUTCOMES


def collect(root: Path, *, seed: int, flips: int, kills: int, others: int, pipeline: int) -> list:
    """Return the rows of all faults; files are made below `root`."""
    os.environ["CACHE_ROOT"] = str(root)
    # after the root of the cache is known; and no thread is started before a child is made
    from trials.faults import flips as altered
    from trials.faults import kills as killed
    from trials.faults import surroundings

    folders = {name: root / name for name in ("flips", "kills", "surroundings")}
    for folder in folders.values():
        folder.mkdir()
    parts = [
        altered.rows(folders["flips"], seed=seed, count=flips),
        killed.rows(folders["kills"], seed=seed, count=kills),
        surroundings.rows(folders["surroundings"], seed=seed, count=others),
    ]
    if pipeline:
        from trials.faults import pipeline as experiment

        parts.append(experiment.rows(root / "pipeline", seed=seed, count=pipeline))
    found = []
    for row in itertools.chain(*parts):
        found.append(row)
        if row["outcome"] not in OUTCOMES and len(found) < 500:
            print(f"{row['fault']}, {row['file']}: {row['outcome']} ({row['words']})", flush=True)
    return found


def counts(rows: list[dict]) -> pd.DataFrame:
    """Return how many cases of each fault and kind of file ended how."""
    table = pd.DataFrame(rows)
    return table.pivot_table("cases", ["fault", "file"], "outcome", "sum", 0, sort=False)


def main(command_line: list[str] | None = None) -> int:
    """Run, print the table, write the rows; 1 if there is a defect."""
    parser = argparse.ArgumentParser(prog="python -m trials.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn")
    parser.add_argument("--few", action="store_true", help="few cases, and no network is trained")
    parser.add_argument("--out", type=Path, default=trials.RESULTS, help="folder of the rows")
    arguments = parser.parse_args(command_line)
    few = {"flips": 12, "kills": 4, "others": 1, "pipeline": 0}
    many = {"flips": 300, "kills": 50, "others": 5, "pipeline": 4}
    logging.disable(logging.WARNING)  # that a damaged file is set aside is what is wanted here
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)  # also one without rights has to get at the read-only folders
        rows = collect(Path(root).resolve(), seed=arguments.seed, **few if arguments.few else many)
    table = counts(rows)
    print(table.to_string(), flush=True)
    keys = ["fault", "file", "outcome"]
    summed = pd.DataFrame(rows).groupby(keys, sort=False, as_index=False)["cases"].sum()
    trials.write("faults", summed.assign(seed=arguments.seed).to_dict("records"), arguments.out)
    bad = [name for name in DEFECTS if name in table]
    total = int(summed["cases"].sum())
    print(f"{total:,} cases: " + (f"there are {', '.join(bad)}" if bad else "no defect"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
