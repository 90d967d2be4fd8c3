"""Where the time of the pipeline goes, from the notebooks that it has executed.

``make book`` runs the pipeline, from scratch after ``make clean``.  This reads what papermill has
noted in ``runs/<tier>``, and executes nothing but an empty notebook.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd

from benchmarks.comparing import RESULTS, machine, seconds

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "workflow"))

from step import Step, read, write  # noqa: E402

EMPTY = "an empty notebook"
WHOLE = "the pipeline"
BUDGET = {
    "audit": 25, "gscore": 420, "human_centric": 440, "openset_calibration": 350,
    "synthesis": 560, "uimnet": 410, "unknown_detection": 270,
}  # fmt: skip
"""CPU seconds that a chapter may take at `mini`, on the machine that the table names."""
IDLE = 0.05  # of the wall time; with more, the notebooks are of several runs


def times_of(notebook: Path) -> dict[str, float]:
    """Return when a notebook was executed, and how long its parts took, in seconds.

    Returns
    -------
    dict of str to float
        ``begin`` and ``end`` (of the notebook, since 1970), ``seconds`` (of the whole), ``start``
        (until the first cell), ``stop`` (after the last), ``imports`` (of the cells that begin
        with an import) and ``cpu`` (that the whole used, on all cores).

    Raises
    ------
    ValueError
        It was executed before CPU seconds were noted.
    """
    content = json.loads(notebook.read_text(encoding="utf-8"))
    begin, end = _span(content["metadata"])
    if "cpu_seconds" not in content["metadata"]["papermill"]:
        raise ValueError(f"{notebook}: no CPU seconds noted; run `make clean book` for one run")
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    spans = [_span(cell["metadata"]) for cell in code]
    importing = ["".join(cell["source"]).startswith(("import ", "from ")) for cell in code]
    return {
        "begin": begin,
        "end": end,
        "seconds": end - begin,
        "start": min(first for first, _ in spans) - begin,
        "stop": end - max(last for _, last in spans),
        "imports": sum(b - a for (a, b), one in zip(spans, importing, strict=True) if one),
        "cpu": content["metadata"]["papermill"]["cpu_seconds"],
    }


def _span(metadata: Mapping) -> tuple[float, float]:
    noted = metadata["papermill"]
    return tuple(
        datetime.fromisoformat(noted[name]).timestamp() for name in ("start_time", "end_time")
    )


def critical_path(took: Mapping[str, float], needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the chain of steps, each of which waits for the one before, that takes longest.

    Examples
    --------
    >>> critical_path({"a": 2, "b": 1, "c": 3}, {"a": [], "b": [], "c": ["a", "b"]})
    ['a', 'c']
    """
    chains: dict[str, list[str]] = {}

    def length(chain: Sequence[str]) -> float:
        return sum(took[name] for name in chain)

    def chain_to(name: str) -> list[str]:
        if name not in chains:
            before = max(map(chain_to, needs[name]), key=length, default=[])
            chains[name] = [*before, name]
        return chains[name]

    return max(map(chain_to, took), key=length)


def pipeline(runs: Path) -> pd.DataFrame:
    """Return what the executed notebooks of a tier say, in long form.

    Parameters
    ----------
    runs : Path
        ``runs/<tier>``, with the plan.

    Returns
    -------
    DataFrame
        ``part`` (a step, or `WHOLE`), ``quantity`` and ``value``.  Of a step, in seconds: the
        quantities of `times_of`, ``begin`` and ``end`` since the first began; and ``place``, from
        1, on the critical path, if it is on it.  Of the whole: ``wall``, ``sum`` and ``critical``
        in seconds; ``cores``, the most steps at once; ``ratio``, of the wall time to the sum
        over the cores; and ``cpu``.

    Raises
    ------
    FileNotFoundError
        No plan, or a step of it that has not been executed; names the remedy.
    ValueError
        The notebooks are of several runs, so that there is no wall time.
    """
    steps = read(runs)
    missing = [name for name in steps if not (runs / f"{name}.ipynb").exists()]
    if missing:
        raise FileNotFoundError(f"{runs}: not executed: {', '.join(missing)}; run `make book`")
    table = pd.DataFrame({name: times_of(runs / f"{name}.ipynb") for name in steps}).T
    table[["begin", "end"]] -= table["begin"].min()
    # 1 where a step begins, −1 where one ends: their running sum is how many run
    moments = pd.concat([pd.Series(1, table["begin"]), pd.Series(-1, table["end"])]).sort_index()
    running = moments.cumsum().to_numpy()[:-1]
    wall, idle = table["end"].max(), np.diff(moments.index)[running == 0].sum()
    if idle > IDLE * wall:
        raise ValueError(f"{runs}: notebooks of several runs; run `make clean book` for one")
    path = critical_path(dict(table["seconds"]), {name: step.needs for name, step in steps.items()})
    table["place"] = pd.Series(range(1, len(path) + 1), path)
    cores, total = int(running.max()), table["seconds"].sum()
    whole = {
        "wall": wall, "sum": total, "cores": cores, "ratio": wall / (total / cores),
        "critical": table["seconds"][path].sum(), "cpu": table["cpu"].sum(),
    }  # fmt: skip
    table = table.rename_axis("part").reset_index().melt("part", var_name="quantity").dropna()
    return pd.concat([table, _rows(WHOLE, whole)], ignore_index=True)


def empty(tier: str, rounds: int = 5) -> pd.DataFrame:
    """Return how long a step with nothing in it takes, the median of some, as `pipeline` does.

    ``process`` is the time of all that Snakemake calls for it, the kernel in it.
    """
    cells = [nbformat.v4.new_code_cell("pass")]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    found = []
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        nbformat.write(notebook, runs / "notebook.ipynb")
        write({"a/step": Step("a/step", str(runs / "notebook.ipynb"), {})}, runs)
        command = [sys.executable, str(ROOT / "workflow/execute.py"), tier, "a/step", folder]
        for _ in range(rounds + 1):
            process = seconds(lambda: subprocess.run(command, check=True, capture_output=True))
            found.append({"process": process} | times_of(runs / "a" / "step.ipynb"))
    median = {
        name: statistics.median(one[name] for one in found[1:])  # the first finds cold files
        for name in ("process", "start", "stop")
    }
    return _rows(EMPTY, median)


def _rows(part: str, values: Mapping[str, float]) -> pd.DataFrame:
    return pd.DataFrame({"part": part, "quantity": values.keys(), "value": values.values()})


def cpu_of_chapters(table: pd.DataFrame) -> pd.Series:
    """Return the CPU seconds of each chapter, the dearest first, from a table of `main`."""
    steps = table[(table["quantity"] == "cpu") & (table["part"] != WHOLE)]
    chapters = steps["part"].str.partition("/")[0].rename("chapter")
    return steps.groupby(chapters)["value"].sum().sort_values(ascending=False)


def where_time_goes(table: pd.DataFrame) -> str:
    """Return what a table of `main` says, as Markdown for the book's page.

    Parameters
    ----------
    table : DataFrame
        ``part``, ``quantity``, ``value``, ``tier`` and ``machine``.
    """
    wide = table.pivot(index="part", columns="quantity", values="value")
    whole, nothing = wide.loc[WHOLE], wide.loc[EMPTY]
    steps = wide.drop([WHOLE, EMPTY])
    lines = [
        "| chapter | notebooks | CPU s | budget | s | of it imports, s | start and stop, s "
        "| the longest, s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for chapter, used in cpu_of_chapters(table).items():
        own = steps[steps.index.str.startswith(f"{chapter}/")]
        longest = own["seconds"].idxmax()
        lines.append(
            f"| {chapter} | {len(own)} | {used:.0f} | {BUDGET.get(chapter, '–')} "
            f"| {own['seconds'].sum():.0f} | {own['imports'].sum():.0f} "
            f"| {own[['start', 'stop']].sum().sum():.0f} | `{longest.partition('/')[2]}`, "
            f"{own['seconds'].max():.0f} |"
        )
    path = steps["place"].dropna().sort_values().index
    chain = " → ".join(f"`{name}` ({steps.at[name, 'seconds']:.0f} s)" for name in path)
    return (
        "\n".join(lines) + f"\n\nTier {table['tier'].iloc[0]}, on {table['machine'].iloc[0]}. "
        f"All {len(steps)} steps together take {whole['sum']:.0f} s and {whole['cpu']:.0f} CPU "
        f"seconds, the pipeline "
        f"{whole['wall']:.0f} s from the first start to the last end: {whole['ratio']:.2f} times "
        f"the sum over {whole['cores']:.0f} cores. No number of cores makes it shorter than its "
        f"critical path, {whole['critical']:.0f} s: {chain}. A test fails where a chapter of this "
        "table is over its budget, in CPU seconds.\n\n"
        f"A step with nothing in it takes {nothing['process']:.1f} s, of which its kernel takes "
        f"{nothing['start']:.1f} s to start and {nothing['stop']:.1f} s to stop.\n"
    )


def main(command_line: Sequence[str] | None = None) -> None:
    """Read the executed notebooks of a tier, print where their time went, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tier", default="mini")
    tier = parser.parse_args(command_line).tier
    try:
        table = pipeline(ROOT / "runs" / tier)
    except (FileNotFoundError, ValueError) as error:
        print(f"the pipeline was left out: {error}")
        return
    table = pd.concat([table, empty(tier)], ignore_index=True)
    table = table.assign(tier=tier, machine=machine())
    RESULTS.mkdir(exist_ok=True)
    table.to_parquet(RESULTS / "pipeline.parquet", index=False)
    print(where_time_goes(table), flush=True)


if __name__ == "__main__":
    main()
