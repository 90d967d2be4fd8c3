"""Compare the results tables of two folders of runs, row by row: did a change keep the numbers?

    python workflow/compare.py runs/mini ../before/runs/mini

Two rows are equal if their name (a hash of the identity), value and bootstrap replicates are equal
to the last bit; provenance may differ.  The exit status is 1 if any row differs.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.report import results


def difference(table: pd.DataFrame, before: pd.DataFrame) -> dict[str, list[str]]:
    """Return the rows that differ between two results tables, as text, by kind of difference."""
    now, old = table.set_index("row"), before.set_index("row")
    both = now.index.intersection(old.index)
    a, b = now.loc[both], old.loc[both]
    values = a["value"].to_numpy() != b["value"].to_numpy()
    pairs = zip(a["bootstrap"], b["bootstrap"], strict=True)
    replicates = np.array([not np.array_equal(*pair) for pair in pairs], dtype=bool)
    differing = {
        "missing": old.loc[old.index.difference(both)],
        "added": now.loc[now.index.difference(both)],
        "value": a[values],
        "replicates": a[replicates & ~values],
    }
    return {
        kind: [" ".join(map(str, row)) for row in rows[list(results.IDENTITY)].to_numpy()]
        for kind, rows in differing.items()
    }


def main() -> None:
    """Compare every results table of both folders, and print the differences."""
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
        paths = [folder / name / "results.parquet" for folder in folders]
        if absent := [str(path) for path in paths if not path.exists()]:
            print(f"{name}: no {absent[0]}")
            differs = True
            continue
        before, table = map(results.read, paths)
        differing = difference(table, before)
        counts = ", ".join(f"{len(rows)} {kind}" for kind, rows in differing.items() if rows)
        print(f"{name}: {len(table)} rows, {counts or 'all equal'}")
        for line in [f"  {kind}: {row}" for kind, rows in differing.items() for row in rows[:5]]:
            print(line)
        differs |= bool(counts)
    sys.exit(int(differs))


if __name__ == "__main__":
    main()
