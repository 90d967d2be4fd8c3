"""Run the pipeline: check the parameters, take the tier's lock, and start Snakemake.

python workflow/run.py --tier mini book
python workflow/run.py preview
python workflow/run.py --tier small --profile my_cluster all
python workflow/run.py --step uimnet/figures all
python workflow/run.py --tier rehearsal all
"""

import argparse
import fcntl
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import sweep
from plan import for_snakemake, missing_of, papers, plan, with_needs
from snakemake.cli import main as snakemake
from step import ROOT, Step, write

from helpers.checks import known_name
from helpers.papers import REHEARSAL, run

PLACE = ["backbone", "method", "variant", "test_set", "notes"]
STORED = "mini"
"""The tier of the outputs in the repository's notebooks."""


def preview(book: Path) -> None:
    """Render a book of the stored outputs, and print its path."""
    print("a preview first, from stored outputs; this takes a minute or two", flush=True)
    command = [sys.executable, ROOT / "workflow" / "book.py", STORED, "--preview"]
    if code := subprocess.run(command).returncode:
        sys.exit(code)
    print(f"to read meanwhile: {book}/_build/html/index.html", flush=True)


def planned(tier: str, paper: str | None, step: str | None) -> dict[str, Step]:
    """Return the named steps and those that they need, or end with the reason why they cannot run.

    Data of other steps may be missing.
    """
    try:
        steps = plan(tier)
        steps = with_needs(steps, chosen(steps, tier, paper, step))
        if tier == REHEARSAL:
            import rehearse

            rehearse.make_data(steps.values())
        return for_snakemake(steps)
    except (ValueError, FileNotFoundError) as error:
        sys.exit(f"refused before anything ran: {error}")


def chosen(steps: Mapping[str, Step], tier: str, paper: str | None, step: str | None) -> list[str]:
    """Return the names of the steps of one paper, of one step, or of all steps."""
    if paper:
        known_name(f"paper of tier {tier}", paper, papers(tier))
    names = [name for name in steps if not paper or name.startswith(f"{paper}/")]
    return [known_name("step", step, names)] if step else names


def tell_missing(steps: Mapping[str, Step]) -> None:
    """Print a line for each missing data set that the steps can do without."""
    pairs = ((name, reason) for name in steps for reason in missing_of(steps[name]).values())
    for paper, reason in dict.fromkeys((name.partition("/")[0], reason) for name, reason in pairs):
        print(f"{paper} goes on without, as a row of its results shows: {reason}", flush=True)


def take_lock(runs: Path) -> int:
    """Return the open lock file of a tier's folder, or end with a message if it cannot be written.

    The kernel releases its lock when the process ends; Snakemake's lock would stay behind.
    """
    try:
        runs.mkdir(parents=True, exist_ok=True)
        return os.open(runs / ".lock", os.O_RDWR | os.O_CREAT)
    except OSError as error:
        sys.exit(
            f"{runs}: cannot be written ({error.strerror}), but executed notebooks are stored "
            f"there; copy {ROOT} to a folder that you can write, and run the command there"
        )


def failures(steps: Mapping[str, Step], runs: Path) -> list[str]:
    """Return the failed parts in the results tables of some steps, with reasons and remedies.

    In a rehearsal any missing result is an error.
    """
    lines = []
    tables = [(step.name, runs / table) for step in steps.values() for table in step.makes]
    for name, path in tables:
        if not path.exists():
            continue
        if runs.name == REHEARSAL:
            table = pd.read_parquet(path, columns=["metric", *PLACE]).query("metric == 'failed'")
            notes = [", ".join(map(str, row)) for row in table[PLACE].itertuples(index=False)]
        else:
            notes = run.failed_parts(pd.read_parquet(path, columns=["metric", "notes"]))
        if notes:
            remedy = f"  to try again: delete {runs / name}.ipynb, run the same command"
            lines += [*(f"{name}: {note}" for note in notes), remedy]
    return lines


def parse() -> argparse.Namespace:
    """Return the checked arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "target",
        choices=["all", "book", "preview"],
        help="notebooks only; the book too; or a book of the stored outputs, executing nothing",
    )
    parser.add_argument("--tier", default=STORED)
    parser.add_argument("--cores", default=str(os.cpu_count()))
    parser.add_argument("--profile", help="Snakemake profile, for a cluster", default="")
    parser.add_argument("--paper", help="only its notebooks, and those that they need")
    parser.add_argument("--step", help="only this PAPER/NOTEBOOK, and those that it needs")
    arguments = parser.parse_args()
    if (arguments.paper or arguments.step) and arguments.target != "all":
        parser.error("--paper, --step: the book shows all notebooks; `make run` executes some")
    if arguments.target == "preview" and arguments.tier != STORED:
        parser.error(f"preview: the notebooks' stored outputs are of tier {STORED}")
    if not arguments.cores.isdecimal() or int(arguments.cores) < 1:
        sys.exit(f"--cores: a whole number, at least 1, expected, got '{arguments.cores}'")
    return arguments


def main() -> None:
    """Check the arguments, take the lock, and start Snakemake."""
    arguments = parse()
    names = (arguments.tier, arguments.paper, arguments.step)
    runs = ROOT / "runs" / arguments.tier
    if arguments.tier == REHEARSAL:
        os.environ["DATA_ROOT"] = str(runs / "data")
    steps = planned(*names)
    lock = take_lock(runs)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"another run of tier {arguments.tier} is under way; waiting for it", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
        steps = planned(*names)  # parameters may have changed meanwhile
    book = arguments.tier == STORED and arguments.target == "book"
    if arguments.target == "preview" or (book and not (runs / "book" / "_build").exists()):
        preview(runs / "book")
    if arguments.target == "preview":
        return
    write(steps, runs)
    os.chdir(ROOT)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if not os.access(Path.home(), os.W_OK):  # Snakemake and notebooks write into it
        os.environ["HOME"] = str(runs)
    print(f"tier {arguments.tier}: notebooks wanted: {len(steps)}", flush=True)
    tell_missing(steps)
    options = f"--snakefile workflow/Snakefile --config tier={arguments.tier} --nolock "
    options += "--rerun-incomplete --keep-going --quiet rules host --show-failed-logs"
    here = ["--cores", arguments.cores, *(["--resources", "trainings=1"] if sweep.gpus() else [])]
    where = ["--profile", arguments.profile] if arguments.profile else here
    try:
        snakemake([arguments.target, *options.split(), *where])
    except SystemExit as ended:
        if failed := failures(steps, runs):
            print(*failed, sep="\n", file=sys.stderr)
        sys.exit(ended.code or int(bool(failed)))


if __name__ == "__main__":
    main()
