"""Read how much CPU time each chapter took, compare it with its budget, and keep it.

    python -m benchmarks.pipeline --before ../older-checkout/runs/mini

Run it after ``make clean book``: each executed notebook in ``runs/mini`` says its CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.comparing import RESULTS, machine

ROOT = Path(__file__).resolve().parent.parent
#: CPU seconds that a chapter may take at `mini`, on the machine that the table names.
BUDGET = {
    "audit": 50, "beyond": 50, "gscore": 300, "human_centric": 500, "openset_calibration": 350,
    "synthesis": 400, "uimnet": 450, "unknown_detection": 250,
}  # fmt: skip


def seconds_of_chapters(runs: Path) -> pd.Series:
    """Return the CPU seconds of each chapter, of the executed notebooks in ``runs/<tier>``."""
    seconds = pd.Series(0.0, pd.Index([], name="chapter"))
    for step in json.loads((runs / "plan.json").read_text(encoding="utf-8")):
        chapter = step["name"].partition("/")[0]
        content = json.loads((runs / f"{step['name']}.ipynb").read_text(encoding="utf-8"))
        spent = content["metadata"]["papermill"]["cpu_seconds"]
        seconds[chapter] = seconds.get(chapter, 0) + spent
    return seconds


def main(command_line: Sequence[str] | None = None) -> None:
    """Write the table, and fail if a chapter is over its budget."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="runs/mini of an older commit, same machine")
    before = parser.parse_args(command_line).before
    columns = {"now": ROOT / "runs/mini"} | ({"before": before} if before else {})
    table = pd.DataFrame({name: seconds_of_chapters(runs) for name, runs in columns.items()})
    table.assign(machine=machine()).to_parquet(RESULTS / "pipeline.parquet")
    print(table.round().sort_values("now", ascending=False).to_string())
    if chapters := table.index[table["now"] > table.index.map(BUDGET)].tolist():
        sys.exit(f"over their budget: {', '.join(chapters)}")


if __name__ == "__main__":
    main()
