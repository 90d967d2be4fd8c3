"""Compare the CPU time of all notebooks, of each chapter and of the unit tests with its budget.

    python -m benchmarks.pipeline           after ``make unit book``
    python -m benchmarks.pipeline --write   after ``make clean unit book``: the new budgets

The pipeline writes the CPU seconds of a notebook into ``runs/mini``, and ``make test`` writes those
of its unit tests, as the shell prints them, into ``runs``.  A budget is a ratio: the seconds of one
part over the seconds of all other parts, in the same run on the same cores.  A part that becomes
twice as slow doubles its ratio.  A change that makes all parts slower alike stays unseen.  After an
earlier build, notebooks read cached rows and take less; nothing is compared then.
"""

import json
import sys

import pandas as pd

from benchmarks.comparing import RESULTS
from helpers.files import cache_root

RUNS = RESULTS.parent.parent / "runs" / "mini"
#: Allowed multiples of budgets.  Two runs on virtual machines of one kind differed by a factor of
#: 1.05.  On a processor with AVX-512, a ratio of the same work differed by up to 1.5 for a chapter
#: and 1.3 for all notebooks.  In these runs, a fixed piece of work as yardstick varied by 2.5.
ALLOWED = {"all notebooks": 1.6, "unit tests": 1.6}
CHAPTER = 2.0


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


def has_earlier_rows() -> bool:
    """Return whether the cache has rows from before the last unit tests began."""
    tested = (RUNS.parent / "unit_tests.began").stat().st_mtime
    return any(path.stat().st_mtime < tested for path in (cache_root() / "rows").glob("*"))


def seconds_of_the_rest(seconds: pd.Series) -> pd.Series:
    """Return for each part the seconds of all notebooks and unit tests without this part."""
    return seconds["all notebooks"] + seconds["unit tests"] - seconds


def compare(used: pd.Series, budgets: pd.Series) -> pd.DataFrame:
    """Return used and allowed seconds, for these cores; a part without a budget is allowed NaN."""
    table = used.to_frame("seconds")
    table["times"] = [ALLOWED.get(name, CHAPTER) for name in table.index]
    ratios = budgets / seconds_of_the_rest(budgets)
    table["allowed here"] = table["times"] * ratios * seconds_of_the_rest(used)
    return table


def main() -> None:
    """Write the budgets, or exit with the names of what takes more than is allowed."""
    used = used_seconds()
    path = RESULTS / "pipeline.parquet"
    if "--write" in sys.argv:
        used.to_frame("seconds").to_parquet(path)
    table = compare(used, pd.read_parquet(path)["seconds"])
    print(table.round(1))
    if has_earlier_rows():
        print("not compared: the notebooks could read rows of an earlier build from the cache")
    elif over := table.index[~(table["seconds"] <= table["allowed here"])].tolist():
        sys.exit(f"more CPU time than their budget: {', '.join(over)}")


if __name__ == "__main__":
    main()
