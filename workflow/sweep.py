"""Make the results table of an evaluation notebook without notebooks, part by part.

python workflow/sweep.py small openset_calibration --processes 2
python workflow/sweep.py mini openset_calibration --only cifar10_mini/resnet20/0 --set keep=0.9

This script does not need Jupyter, papermill or Snakemake.  After an interruption, start it again:
complete networks, outputs and rows are in the cache.

A table of some parts, or with changed parameters, is no results table of its tier.  With ``--only``
or ``--set`` and without ``--out``, the script writes it to a new file in ``runs/TIER``.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from multiprocessing import current_process, get_context, parent_process
from pathlib import Path

import pandas as pd
from step import ROOT, VISIBLE, end_with_parent, gpus
from tqdm import tqdm

from helpers.files import check_no_device
from helpers.networks.chosen_device import chosen_device
from helpers.papers import run
from helpers.papers.parameters import Parameters, value_of
from helpers.tables import results
from synthesis.chapters import load


def parse(command_line: list[str] | None = None) -> tuple[argparse.Namespace, Parameters, list]:
    """Return arguments, parameters and parts of a command line, after checks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tier")
    parser.add_argument("paper")
    parallel = "parts at a time; by default one on each GPU"
    default = "by default results/TIER/PAPER.parquet; with --only or --set, a new file in runs/TIER"
    # one option with all values, or an option for each value
    add_list = partial(parser.add_argument, nargs="+", action="extend")
    add_list("--only", metavar="PART", help="by default all parts")
    add_list("--set", metavar="NAME=VALUE", default=[])
    parser.add_argument("--processes", type=positive, default=max(1, len(gpus())), help=parallel)
    parser.add_argument("--out", type=Path, help=default)
    arguments = parser.parse_args(command_line)
    tier = arguments.tier
    paper = arguments.paper
    changed = arguments.only or arguments.set
    try:
        parameters = load(paper, tier, root=ROOT, **values_of(arguments.set))
        parts = run.parts(parameters, arguments.only)
        chosen_device(parameters.device)
        if not arguments.out:
            folder = "runs" if changed else "results"
            arguments.out = ROOT / folder / tier / f"{paper}.parquet"
            if changed and arguments.out.exists():
                raise ValueError(f"{arguments.out} exists; name a file with --out, or remove it")
        check_no_device(arguments.out)
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=arguments.out.parent).close()  # an error now, not at the end
    except (ValueError, OSError) as error:
        parser.error(str(error))
    return arguments, parameters, parts


def positive(text: str) -> int:
    """Return the whole number, at least 1, that a text states."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number, at least 1, expected, got '{text}'")
    return int(text)


def values_of(assignments: Iterable[str]) -> dict:
    """Return the parameters that assignments ``NAME=VALUE`` replace, with their new values.

    >>> values_of(["jpeg=75", "network=resnet18"])
    {'jpeg': 75, 'network': 'resnet18'}
    """
    values = {}
    for assignment in assignments:
        name, _, text = assignment.partition("=")
        try:
            value = value_of(text)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        if not name or value is None:
            raise ValueError(f"NAME=VALUE expected, got '{assignment}'")
        if name in values:
            raise ValueError(f"{name}: one value expected, got a second one, '{text}'")
        values[name] = value
    return values


def main() -> None:
    """Compute the parts that the command line names, and write their table.

    If a part failed, an earlier table is left as it is.
    """
    arguments, parameters, parts = parse()
    # numpy reads it when it is loaded in the processes that are started here
    os.environ.setdefault("OMP_NUM_THREADS", str(parameters.training.get("threads", 1)))
    table = table_of(parameters, parts, arguments.processes)
    failed = run.failed_parts(table)
    if failed and arguments.out.exists():
        print(f"{arguments.out} stays as it was; the parts without an error are in the cache")
    elif len(failed) < len(parts):
        results.write(table, arguments.out)
        print(arguments.out)
    if failed:
        sys.exit("\n".join([f"{len(failed)} of {len(parts)} parts failed:", *failed]))


def table_of(parameters: Parameters, parts: list, processes: int) -> pd.DataFrame:
    """Return the rows of all parts, in their order; show the number of parts that are done."""
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=begin) as pool:
        tables = pool.map(run.rows_of_part, repeat(parameters), parts)
        return pd.concat(tqdm(tables, "parts", len(parts)), ignore_index=True)


def begin() -> None:
    """Begin a process of the sweep, on the GPUs in turn."""
    number = int(current_process().name.rpartition("-")[2])
    if names := gpus():
        os.environ[VISIBLE] = names[number % len(names)]
    parent = parent_process()
    assert parent is not None and parent.pid is not None
    end_with_parent(parent.pid)


if __name__ == "__main__":
    main()
