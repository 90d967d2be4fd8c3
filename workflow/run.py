"""Run the pipeline: check the parameters, take the tier's lock, and start Snakemake.

python workflow/run.py --tier mini book
python workflow/run.py --tier small --profile my_cluster all
python workflow/run.py --step uimnet/figures all
python workflow/run.py --tier rehearsal all

The target is `all` (notebooks only) or `book` (the book too).
"""

import argparse
import getpass
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import forks
import jobs
import pandas as pd
from make_data import advice, is_automatic, refusal
from plan import for_snakemake, missing_of, needs_of, papers, plan, with_needs
from snakemake.cli import main as snakemake
from step import GPUS, NETWORK, PART, ROOT, Step, gpus, kind_of, make_folder, write

from helpers.checks import known_name
from helpers.data.stream import processors
from helpers.files import content_of, locked
from helpers.papers import REHEARSAL, run
from helpers.papers.parameters import tiers

PLACE = ["backbone", "method", "variant", "test_set", "notes"]


def planned(tier: str, paper: str | None, step: str | None) -> dict[str, Step]:
    """Return the named steps and their needs, or exit with the reason why they cannot run.

    Data of other steps may be missing.  The reason names all missing data and their remedies.
    """
    try:
        steps = plan(tier)
        steps = with_needs(steps, chosen(steps, tier, paper, step))
        if tier == REHEARSAL:
            import rehearse

            rehearse.make_data(steps.values())
        if reason := refusal(tier, steps):
            raise FileNotFoundError(reason)
        return for_snakemake(steps)
    except (ValueError, FileNotFoundError) as error:
        sys.exit(f"refused before anything ran: {error}")


def chosen(steps: Mapping[str, Step], tier: str, paper: str | None, step: str | None) -> list[str]:
    """Return the names of the steps of one paper, of one step, or of all steps."""
    if paper:
        known_name(f"paper of tier {tier}", paper, papers(tier))
    names = [name for name in steps if not paper or name.startswith(f"{paper}/")]
    if not step:
        return names
    # a message does not list hundreds of jobs
    listed = [name for name in names if name == step or kind_of(name) not in (NETWORK, PART)]
    return [known_name("step", step, listed)]


def tell_missing(steps: Mapping[str, Step]) -> None:
    """Print a line for each missing data set that the steps do not require."""
    pairs = ((name, reason) for name in steps for reason in missing_of(steps[name]).values())
    for paper, reason in dict.fromkeys((name.partition("/")[0], reason) for name, reason in pairs):
        print(f"{paper} goes on without, as a row of its results shows: {reason}", flush=True)
    names = dict.fromkeys(name for step in steps.values() for name in missing_of(step))
    if automatic := list(filter(is_automatic, names)):
        print(*advice(automatic), sep="\n", flush=True)


def failures(steps: Mapping[str, Step], runs: Path) -> list[str]:
    """Return failed parts and scores in the tables of some steps, with reasons and remedies.

    Scores that the tier expects to fail, by expected.yaml, are left out.  Any missing result of a
    rehearsal is an error.
    """
    expected = content_of(__file__, "expected").get(runs.name, {})
    lines = [f"{name}: {outcome}" for name, outcome in jobs.failures(steps, runs).items()]
    for step in steps.values():
        for path in filter(Path.exists, map(runs.joinpath, step.makes)):
            table = pd.read_parquet(path)
            reasons = expected.get(step.name.partition("/")[0], [])
            notes = run.failed_parts(table)
            for note in run.failed_scores(table):
                if not any(reason in note for reason in reasons):
                    notes.append(note)
            if runs.name == REHEARSAL:
                notes = table.query("metric == 'failed'")[PLACE].astype(str).agg(", ".join, axis=1)
            if len(notes):
                remedy = (
                    f"  to try again: delete {runs / step.name}.ipynb, and for a score also the "
                    "folder rows of CACHE_ROOT; run the same command"
                )
                lines += [*(f"{step.name}: {note}" for note in notes), remedy]
    return lines


def parse() -> argparse.Namespace:
    """Return the checked arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=["all", "book"])
    parser.add_argument("--tier", default="mini", choices=tiers())
    parser.add_argument("--cores", default=str(processors()))
    parser.add_argument("--profile", help="Snakemake profile, for a cluster", default="")
    parser.add_argument("--paper", help="only its notebooks, and those that they need")
    parser.add_argument("--step", help="only this PAPER/NOTEBOOK, and those that it needs")
    arguments = parser.parse_args()
    if (arguments.paper or arguments.step) and arguments.target != "all":
        parser.error("--paper, --step: the book shows all notebooks; `make run` executes some")
    if not arguments.cores.isdecimal() or int(arguments.cores) < 1:
        sys.exit(f"--cores: a whole number, at least 1, expected, got '{arguments.cores}'")
    return arguments


def main() -> None:
    """Check the arguments, and execute the plan if no other run of the tier is active."""
    arguments = parse()
    runs = ROOT / "runs" / arguments.tier
    if arguments.tier == REHEARSAL:
        os.environ["DATA_ROOT"] = str(runs / "data")
    make_folder(runs)
    print(f"tier {arguments.tier}: begins when no other run of it is under way", flush=True)
    # the lock ends with the process in every case; Snakemake's lock would remain
    with locked(runs / ".lock"):
        execute(arguments, runs)


def give_home(folder: Path) -> None:
    """Use a folder as home and name the user, if the machine does neither.

    Snakemake and notebooks write into the home folder, and torch needs the user's name.
    """
    # a user without an entry has the home folder "~"
    if not os.access(os.path.expanduser("~"), os.W_OK):
        os.environ["HOME"] = str(folder)
    try:
        getpass.getuser()
    except (KeyError, OSError):  # KeyError before Python 3.13
        os.environ["USER"] = "nobody"


def execute(arguments: argparse.Namespace, runs: Path) -> None:
    """Write the plan into the folder of a tier, and start Snakemake."""
    steps = planned(arguments.tier, arguments.paper, arguments.step)
    write(steps, runs)
    jobs.forget(steps, runs)
    os.chdir(ROOT)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    give_home(runs)
    networks = sum(step.kind == NETWORK for step in steps.values())
    notebooks = sum(bool(step.notebook) for step in steps.values())
    print(f"tier {arguments.tier}: notebooks wanted: {notebooks}, networks: {networks}", flush=True)
    tell_missing(steps)
    options = f"--snakefile workflow/Snakefile --config tier={arguments.tier} --nolock "
    options += "--rerun-incomplete --keep-going --quiet rules host --show-failed-logs"
    where = ["--profile", arguments.profile]
    if not arguments.profile:
        where = ["--cores", arguments.cores]
        at_a_time = max(needs_of(step)["at_a_time"] for step in steps.values())
        if shared := gpus() * at_a_time:
            os.environ[GPUS] = ",".join(shared)
            where += ["--resources", f"gpu_users={len(shared)}"]
        forks.SERVER = forks.start_server()
    try:
        snakemake([arguments.target, *options.split(), *where])
    except SystemExit as ended:
        if failed := failures(steps, runs):
            print(*failed, sep="\n", file=sys.stderr)
        sys.exit(ended.code or int(bool(failed)))


if __name__ == "__main__":
    main()
