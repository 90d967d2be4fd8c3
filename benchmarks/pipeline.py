"""Read how long the notebooks of a tier took, and keep it.

    python -m benchmarks.pipeline --tier mini

Run it after ``make clean book``: papermill notes the seconds of each notebook in ``runs/<tier>``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.comparing import RESULTS, machine

ROOT = Path(__file__).resolve().parent.parent


def seconds_of_steps(runs: Path) -> pd.DataFrame:
    """Return seconds and CPU seconds of each executed notebook of ``runs/<tier>``.

    Returns
    -------
    DataFrame
        ``part`` (a step, ``uimnet/figures``), ``quantity`` (``seconds``, ``cpu``) and ``value``.
    """
    plan, rows = json.loads((runs / "plan.json").read_text(encoding="utf-8")), []
    for name in (step["name"] for step in plan):
        content = json.loads((runs / f"{name}.ipynb").read_text(encoding="utf-8"))
        noted = content["metadata"]["papermill"]
        rows.append((name, "seconds", noted["duration"]))
        rows.append((name, "cpu", noted["cpu_seconds"]))
    return pd.DataFrame(rows, columns=["part", "quantity", "value"])


def seconds_of_chapters(table: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds and CPU seconds of each chapter, the most expensive first."""
    chapter = table["part"].str.partition("/")[0].rename("chapter")
    totals = table.pivot_table("value", chapter, "quantity", "sum")
    return totals.sort_values("cpu", ascending=False)


def main(command_line: Sequence[str] | None = None) -> None:
    """Read the executed notebooks of a tier, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tier", default="mini")
    tier = parser.parse_args(command_line).tier
    table = seconds_of_steps(ROOT / "runs" / tier).assign(tier=tier, machine=machine())
    table.to_parquet(RESULTS / "pipeline.parquet", index=False)
    print(seconds_of_chapters(table).round())


if __name__ == "__main__":
    main()
