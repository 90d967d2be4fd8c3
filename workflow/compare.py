"""Compare the results tables of two folders of runs, row by row: did a change keep the numbers?

    python workflow/compare.py runs/mini ../before/runs/mini

Two rows are equal if identity, value and bootstrap replicates are equal to the last bit; provenance
may differ.  A changed row is listed twice, once from each folder (``left_only`` is the first).  The
exit status is 1 if any row differs.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.report import results


def read(path: Path) -> pd.DataFrame:
    """Return the compared columns of a results table."""
    table = results.read(path)
    replicates = table["bootstrap"].map(np.ndarray.tobytes)
    return table[[*results.IDENTITY, "value"]].assign(replicates=replicates)


def main() -> None:
    """Compare every results table of both folders, and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", type=Path, help="folder of runs, such as runs/mini")
    parser.add_argument("before", type=Path, help="the folder to compare it with")
    folders = vars(parser.parse_args()).values()
    names = {path.parent.name for folder in folders for path in folder.glob("*/results.parquet")}
    if not names:
        sys.exit("no results.parquet in any paper's folder")
    count = 0
    for name in sorted(names):
        table, before = (read(folder / name / "results.parquet") for folder in folders)
        rows = table.merge(before, how="outer", indicator=True).query("_merge != 'both'")
        shown = rows.drop(columns="replicates").head(10).to_numpy().tolist()
        print(f"{name}: {len(rows)} rows differ", *shown, sep="\n  ")
        count += len(rows)
    sys.exit(bool(count))


if __name__ == "__main__":
    main()
