"""Compare the CPU time of each chapter's notebooks, and of the unit tests, with its budget.

    python -m benchmarks.pipeline           after ``make book``
    python -m benchmarks.pipeline --write   after ``make clean book test``: the new budgets

The pipeline writes the CPU seconds of a notebook into ``runs/mini``, and ``make test`` writes those
of its unit tests, as the shell prints them, into ``runs``.  A budget is valid on cores on
which a fixed piece of work takes the committed seconds.  The same work measures these cores.
"""

import json
import re
import sys
import time

import pandas as pd
import torch

from benchmarks.comparing import RESULTS

RUNS = RESULTS.parent.parent / "runs" / "mini"


def used_seconds() -> pd.Series:
    """Return the CPU seconds of the notebooks of each chapter, and of the unit tests."""
    seconds = {}
    for step in json.loads((RUNS / "plan.json").read_text("utf-8")):
        notebook = json.loads((RUNS / f"{step['name']}.ipynb").read_text("utf-8"))
        seconds[step["name"]] = notebook["metadata"]["papermill"]["cpu_seconds"]
    used = pd.Series(seconds).groupby(lambda name: name.partition("/")[0]).sum()
    if (file := RUNS.parent / "unit_tests.txt").exists():
        # user and system time of the shell, then of its children
        times = re.findall(r"(\d+)m([\d.]+)s", file.read_text("utf-8"))[2:]
        used["unit tests"] = sum(60 * int(minutes) + float(rest) for minutes, rest in times)
    return used


def yardstick() -> float:
    """Return the CPU seconds of a fixed piece of work, in one thread as the notebooks are."""
    torch.set_num_threads(1)
    images = torch.randn(64, 16, 32, 32)
    weight = torch.randn(32, 16, 3, 3, requires_grad=True)
    start = time.process_time()
    for _ in range(100):
        torch.conv2d(images, weight).square().sum().backward()
    return time.process_time() - start


def main() -> None:
    """Write the budgets, or exit with the chapters that take more than theirs."""
    table = used_seconds().to_frame("seconds")
    path = RESULTS / "pipeline.parquet"
    if "--write" in sys.argv:
        table.assign(yardstick=yardstick()).to_parquet(path)
    budget = pd.read_parquet(path)
    # twice the budget: CPU seconds grow on a busy machine
    table["allowed here"] = 2 * budget["seconds"] * yardstick() / budget["yardstick"]
    print(table.round())
    if over := table.index[~(table["seconds"] <= table["allowed here"])].tolist():
        sys.exit(f"more CPU time than their budget: {', '.join(over)}")


if __name__ == "__main__":
    main()
