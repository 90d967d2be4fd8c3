"""Compare the CPU time of all notebooks, of each chapter and of the unit tests with its budget.

    python -m benchmarks.pipeline           after ``make unit book``
    python -m benchmarks.pipeline --write   after ``make clean unit book``: the new budgets

The pipeline writes the CPU seconds of a notebook into ``runs/mini``, and ``make test`` writes those
of its unit tests, as the shell prints them, into ``runs``.  A budget is valid on cores on
which a fixed piece of work takes the committed seconds.  The same work measures these cores.
"""

import json
import statistics
import sys

import pandas as pd
import torch

from benchmarks.comparing import RESULTS, seconds

RUNS = RESULTS.parent.parent / "runs" / "mini"
#: Allowed multiples of budgets.  On one machine, three books differed by a factor of 1.03 in all
#: notebooks, and two measurements of a chapter on one day by 1.6.
ALLOWED = {"all notebooks": 1.3, "unit tests": 1.3}
CHAPTER = 1.6


def used_seconds() -> pd.Series:
    """Return the CPU seconds of the notebooks of each chapter, of all, and of the unit tests."""
    taken = {}
    for step in json.loads((RUNS / "plan.json").read_text("utf-8")):
        notebook = json.loads((RUNS / f"{step['name']}.ipynb").read_text("utf-8"))
        taken[step["name"]] = notebook["metadata"]["papermill"]["cpu_seconds"]
    used = pd.Series(taken).groupby(lambda name: name.partition("/")[0]).sum()
    used["all notebooks"] = used.sum()
    # user and system time of the shell, then of its children
    times = (RUNS.parent / "unit_tests.txt").read_text("utf-8").split()[2:]
    used["unit tests"] = pd.to_timedelta(times).sum().total_seconds()
    return used


def yardstick() -> float:
    """Return the CPU seconds of a fixed piece of work, in one thread as the notebooks are.

    The result is a median, and all arrays fit into the cache of a core.  The seconds of one
    repetition with larger arrays differed by 40 % on a busy machine.
    """
    torch.set_num_threads(1)
    images = torch.randn(8, 16, 32, 32)
    weight = torch.randn(32, 16, 3, 3)

    def work() -> None:
        for _ in range(20):
            torch.conv2d(images, weight)
            images.sort()
            sorted(range(20_000), key=str)

    return statistics.median(seconds(work) for _ in range(15))


def compare(used: pd.Series, budgets: pd.DataFrame, here: float) -> pd.DataFrame:
    """Return used and allowed seconds, on cores whose `yardstick` is `here`."""
    table = used.to_frame("seconds")
    table["times"] = [ALLOWED.get(name, CHAPTER) for name in table.index]
    table["allowed here"] = table["times"] * here * budgets["seconds"] / budgets["yardstick"]
    return table


def main() -> None:
    """Write the budgets, or exit with the names of what takes more than is allowed."""
    used = used_seconds()
    here = yardstick()
    path = RESULTS / "pipeline.parquet"
    if "--write" in sys.argv:
        used.to_frame("seconds").assign(yardstick=here).to_parquet(path)
    table = compare(used, pd.read_parquet(path), here)
    print(table.round(1))
    if over := table.index[~(table["seconds"] <= table["allowed here"])].tolist():
        sys.exit(f"more CPU time than their budget: {', '.join(over)}")


if __name__ == "__main__":
    main()
