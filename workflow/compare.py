"""Compare the results tables of two folders of runs, row by row: did a change keep the numbers?

    python workflow/compare.py runs/mini ../before/runs/mini

A row is the same where its name (the hash of what the number is), its value and its bootstrap
replicates are equal to the last bit.  Where a number came from may differ.  Ends with 1 when
anything else does.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers.report import results  # noqa: E402


def difference(one: pd.DataFrame, other: pd.DataFrame) -> dict[str, list[str]]:
    """Return the rows that differ, as words, by kind: missing, added, value, replicates.

    Parameters
    ----------
    one, other : DataFrame
        Results tables; `other` is the one before.
    """
    now, before = one.set_index("row"), other.set_index("row")
    both = now.index.intersection(before.index)
    a, b = now.loc[both], before.loc[both]
    values = a["value"].to_numpy() != b["value"].to_numpy()
    replicates = [
        not np.array_equal(*pair) for pair in zip(a["bootstrap"], b["bootstrap"], strict=True)
    ]
    found = {
        "missing": before.loc[before.index.difference(both)],
        "added": now.loc[now.index.difference(both)],
        "value": a[values],
        "replicates": a[np.array(replicates, dtype=bool) & ~values],
    }
    return {
        kind: [" ".join(map(str, row)) for row in rows[list(results.IDENTITY)].to_numpy()]
        for kind, rows in found.items()
    }


def main() -> None:
    """Compare every results table of both folders, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", type=Path, help="folder of runs, such as runs/mini")
    parser.add_argument("before", type=Path, help="the folder to compare it with")
    arguments = parser.parse_args()
    folders = arguments.before, arguments.runs
    names = {path.parent.name for folder in folders for path in folder.glob("*/results.parquet")}
    if not names:
        sys.exit(f"{arguments.before}, {arguments.runs}: no results.parquet in any paper's folder")
    differs = False
    for name in sorted(names):
        before, now = (folder / name / "results.parquet" for folder in folders)
        if absent := [str(path) for path in (before, now) if not path.exists()]:
            print(f"{name}: no {absent[0]}")
            differs = True
            continue
        table = results.read(now)
        found = difference(table, results.read(before))
        counts = ", ".join(f"{len(rows)} {kind}" for kind, rows in found.items() if rows)
        print(f"{name}: {len(table)} rows, {counts or 'all equal'}")
        for kind, rows in found.items():
            print(*(f"  {kind}: {row}" for row in rows[:5]), sep="\n", end="\n" if rows else "")
        differs |= any(found.values())
    sys.exit(int(differs))


if __name__ == "__main__":
    main()
