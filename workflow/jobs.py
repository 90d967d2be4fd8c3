"""Jobs without notebook: the training of a network, the evaluation of a part of an experiment.

The notebooks after them load the networks and the rows from the cache.  If a job fails, its output
has the reason; the other jobs go on, and the next run of the pipeline repeats it.
"""

import os
import traceback
from collections.abc import Iterable, Mapping
from contextlib import redirect_stderr
from pathlib import Path

from step import NETWORK, PART, Step, kind_of, output_of

from helpers.files import atomic_path
from helpers.papers import run
from synthesis.chapters import load

FAILED = "failed"


def do(step: Step, output: Path) -> str:
    """Do a job, write the outcome and the files of its networks, and return the outcome."""
    files: list[Path] = []
    log = output.with_suffix(".log")
    with open(log, "w", encoding="utf-8") as stream, redirect_stderr(stream):
        try:
            outcome = compute(step, files)
        except Exception as error:  # the other networks and parts go on
            traceback.print_exc()
            outcome = f"{FAILED}: {type(error).__name__}: {error} ({log})"
    with atomic_path(output) as temporary:
        temporary.write_text("\n".join([outcome.replace("\n", " "), *map(str, files)]), "utf-8")
    return outcome


def compute(step: Step, files: list[Path]) -> str:
    """Train a network, or evaluate a part; return the outcome, and add the networks to `files`."""
    parameters = load(step.name.partition("/")[0], step.parameters["tier"])
    (part,) = run.parts(parameters, step.parameters["part"])
    if step.kind == NETWORK:
        networks = run.networks(run.train(parameters, part, step.parameters["network"]))
        trained = [network for _, network in networks]
        files += [network.path for network in trained]
        seconds = sum(network.seconds for network in trained)
        return f"trained in {seconds:.0f} s" if trained else "diverged"
    table = run.rows_of_part(parameters, part)
    if failed := run.failed_parts(table):
        return f"{FAILED}: {failed[0]}"
    return f"{len(table)} rows"


def failures(names: Iterable[str], runs: Path) -> dict[str, str]:
    """Return the jobs among some steps whose outcome is a failure, with the outcomes."""
    jobs = [name for name in names if kind_of(name) in (NETWORK, PART)]
    outcomes = {name: runs / output_of(name) for name in jobs}
    texts = {name: file.read_text("utf-8") for name, file in outcomes.items() if file.exists()}
    return {name: text for name, text in texts.items() if text.startswith(FAILED)}


def forget(steps: Mapping[str, Step], runs: Path) -> None:
    """Remove the outcomes of failed jobs, and of networks whose files are gone."""
    failed = failures(steps, runs)
    for name, step in steps.items():
        output = runs / step.output
        if not step.notebook and output.exists():
            files = output.read_text("utf-8").splitlines()[1:]
            if name in failed or not all(map(os.path.exists, files)):
                output.unlink()
