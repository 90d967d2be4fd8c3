"""Make the results table of an evaluation notebook without notebooks, part by part.

python workflow/sweep.py small openset_calibration --processes 2
python workflow/sweep.py mini openset_calibration --only digits/resnet8/0 --set epochs=3

Needs no Jupyter, papermill or Snakemake.  After an interruption, start it again: networks, outputs
and rows are in the cache as soon as they are complete.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import gpus  # noqa: E402


def main() -> None:
    """Compute the parts that the command line names, and write the table."""
    parser = parser_of_parts(__doc__)
    parser.add_argument(
        "--processes", type=int, default=max(1, len(gpus.visible())),
        help="parts that go on side by side; by default one on each GPU",
    )  # fmt: skip
    parser.add_argument("--device", help="cpu or cuda; by default a GPU if there is one")
    parser.add_argument("--out", type=Path, help="by default results/TIER/PAPER.parquet")
    arguments = parser.parse_args()
    out = arguments.out or ROOT / "results" / arguments.tier / f"{arguments.paper}.parquet"
    if arguments.processes < 1:
        parser.error("--processes: at least 1 expected")
    try:
        jobs, threads = jobs_of(arguments)
    except ValueError as error:
        parser.error(str(error))
    check_writable(out, parser)
    # read by numpy when it is loaded, in the processes that are started here
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    table = table_of(jobs, arguments.processes)
    from helpers.papers import run
    from helpers.report import results

    results.write(table, out)
    print(out)
    if failed := run.failed_parts(table):
        sys.exit("\n".join([f"{len(failed)} of {len(jobs)} parts failed:", *failed]))


def parser_of_parts(description: str) -> argparse.ArgumentParser:
    """Return a parser of the arguments that `parts_of` reads."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("tier")
    parser.add_argument("paper")
    several = {"nargs": "+", "action": "extend"}  # once with all of them, or once for each
    parser.add_argument("--only", **several, metavar="PART", help="by default all parts")
    parser.add_argument(
        "--set", **several, metavar="NAME=VALUE", default=[], help="instead of the file's values"
    )
    return parser


def parts_of(arguments: argparse.Namespace, device: str | None) -> tuple:
    """Return the parameters and the parts that a command line names."""
    from helpers.papers import run
    from known_unknowns.chapters import load

    given = dict(assignment.partition("=")[::2] for assignment in arguments.set)
    given = {name: yaml.safe_load(value) for name, value in given.items()}
    parameters = load(arguments.paper, arguments.tier, root=ROOT, **given | {"device": device})
    return parameters, run.parts(parameters, arguments.only)


def jobs_of(arguments: argparse.Namespace) -> tuple[dict[str, tuple], int]:
    """Return the call that computes each part, and the number of CPU threads."""
    from helpers.papers import run

    parameters, parts = parts_of(arguments, arguments.device)
    jobs = {part.name: (run.rows_of_part, parameters, part) for part in parts}
    return jobs, parameters.training.get("threads", 1)


def table_of(jobs: Mapping[str, tuple], processes: int) -> pd.DataFrame:
    """Return the rows of all parts, in their order; print a line when a part is done."""
    start, tables = time.monotonic(), {}
    side_by_side = -(-processes // max(1, len(gpus.visible())))
    with ProcessPoolExecutor(
        processes, mp_context=get_context("spawn"), initializer=begin, initargs=(side_by_side,)
    ) as pool:
        waiting = {pool.submit(*job): part for part, job in jobs.items()}
        for done in as_completed(waiting):
            part = waiting[done]
            try:
                tables[part] = done.result()
            except Exception:
                print(f"{part} failed; the rows of finished parts are kept", flush=True)
                pool.shutdown(cancel_futures=True)
                raise
            minutes = (time.monotonic() - start) / 60
            progress = f"{len(tables)} of {len(jobs)} parts, {minutes:.1f} minutes"
            print(f"{part} done, {len(tables[part])} rows, {progress}", flush=True)
    return pd.concat([tables[part] for part in jobs], ignore_index=True)


def check_writable(out: Path, parser: argparse.ArgumentParser) -> None:
    """End with a message, before anything is computed, if the table cannot be written."""
    if out.is_dir():
        parser.error(f"--out {out}: a file expected, this is a folder")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out.parent).close()
    except OSError as error:
        parser.error(f"--out {out}: nothing can be written there ({error})")


def begin(side_by_side: int) -> None:
    """Begin a process of the sweep, on a separate GPU if there are enough."""
    gpus.take(side_by_side)
    end_with_parent()


def end_with_parent() -> None:
    """Let a process end when the command that started it is gone, even if that was killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main()
