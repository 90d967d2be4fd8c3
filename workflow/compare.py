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
    both = table.merge(before, on="row", suffixes=("", "_before"))
    pairs = zip(both["bootstrap"], both["bootstrap_before"], strict=True)
    replicates = pd.Series([not np.array_equal(*pair) for pair in pairs], dtype=bool)
    values = both["value"] != both["value_before"]
    differing = {
        "missing": before[~before["row"].isin(table["row"])],
        "added": table[~table["row"].isin(before["row"])],
        "value": both[values],
        "replicates": both[replicates & ~values],
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
    folders = vars(parser.parse_args()).values()
    names = {path.parent.name for folder in folders for path in folder.glob("*/results.parquet")}
    lines = [] if names else ["no results.parquet in any paper's folder"]
    for name in sorted(names):
        tables = (results.read(folder / name / "results.parquet") for folder in folders)
        differing = difference(*tables)
        counts = ", ".join(f"{len(rows)} {kind}" for kind, rows in differing.items() if rows)
        print(f"{name}: {counts or 'all rows are equal'}")
        lines += [f"  {kind}: {row}" for kind, rows in differing.items() for row in rows[:5]]
    print(*lines, sep="\n")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
