"""Execute one step of the plan in RUNS/plan.json: a notebook with its parameters, or a job without.

python workflow/execute.py openset_calibration/evaluation runs/mini
"""

import argparse
import os
import re
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import kernels  # isort: skip (the others import faster after it)

import jobs
import nbformat
import papermill
from forks import DRIVER, KERNEL, Forked, launch
from jupyter_client import AsyncKernelManager
from jupyter_client.localinterfaces import localhost
from jupyter_client.provisioning import local_provisioner
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError
from step import ROOT, Step, keep, read, state, take_gpu, take_kept
from traitlets import default

from helpers.checks import known_name
from helpers.files import locked, socket_folder

_ANSI = re.compile(r"\x1b\[[0-9;]*m")  # colours
local_provisioner.launch_kernel = launch  # type: ignore[assignment]


class Kernel(AsyncKernelManager):
    """A kernel that keeps the status with which its process ended."""

    status: int | None = None  # of the last process that died; each process has one kernel

    @default("transport")
    def _files_if_possible(self) -> str:
        """Prefer files: another process may take a port between its choice and its use."""
        return "ipc" if socket_folder(KERNEL) else "tcp"

    @default("ip")
    def _files(self) -> str:
        """Return the start of the names of the sockets: Jupyter's default is not unique."""
        folder = socket_folder(KERNEL)
        return tempfile.mktemp(prefix="kernel-", dir=folder) if folder else localhost()

    async def _async_is_alive(self) -> bool:
        alive = await super()._async_is_alive()
        if not alive and self.provisioner is not None and self.has_kernel:
            Kernel.status = await self.provisioner.poll()
        return alive


def main() -> None:
    """Execute the step named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", help="as in the plan: paper/notebook or paper/notebook/point")
    parser.add_argument("runs", type=Path, help="folder of the executed notebooks")
    arguments = parser.parse_args()
    steps = read(arguments.runs)
    step = steps[known_name("step", arguments.step, steps)]
    output = arguments.runs / step.output
    outcome = ""
    # After a kill of the pipeline, this step may still run; wait rather than share its files.
    with locked(output.with_name(f".{output.stem}.lock")):
        began = time.monotonic()
        if not take_kept(step, arguments.runs):
            before = state(step, arguments.runs)
            take_gpu(step, arguments.runs)
            # networks exist; without this, a changed key costs hours
            if step.needs and not step.trains:
                permission = "short" if step.kind == "training" else "refused"
                os.environ.setdefault("TRAINING", permission)
            if step.notebook:
                execute(step, output, arguments.runs)
            else:
                outcome = f", {jobs.do(step, output)}"
            if without_driver():
                keep(step, arguments.runs, before)
    print(f"{step.name}: {time.monotonic() - began:.0f} s{outcome}", flush=True)


def without_driver() -> bool:
    """Return whether the process that started the pipeline has ended."""
    if DRIVER in os.environ:
        try:
            os.kill(int(os.environ[DRIVER]), 0)
        except ProcessLookupError:
            return True
    return False


def execute(step: Step, output: Path, runs: Path) -> None:
    """Execute a step's notebook, and name it `output` once it is complete."""
    started = output.with_suffix(".running.ipynb")
    # the default of numpy and torch; a training sets the number in its recipe
    os.environ.update(OMP_NUM_THREADS=str(step.threads), MKL_NUM_THREADS=str(step.threads))
    try:
        executed = run_notebook(step, started)
    except (PapermillExecutionError, DeadKernelError) as error:
        failed = output.with_suffix(".failed.ipynb")
        started.replace(failed)
        reasons = [f"{name}: {why}" for name, why in jobs.failures(step.needs, runs).items()]
        sys.exit("\n".join([explanation(step, error, failed), *reasons]))
    # user and system time of this process and of the kernel, which has ended
    executed.metadata.papermill.cpu_seconds = sum(os.times()[:4]) + Forked.seconds
    nbformat.write(executed, started)
    started.replace(output)


def run_notebook(step: Step, started: Path) -> nbformat.NotebookNode:
    """Return a step's executed notebook."""
    return papermill.execute_notebook(
        ROOT / step.notebook,
        started,
        parameters=step.parameters,
        cwd=ROOT,
        progress_bar=False,
        kernel_manager_class=Kernel,
        log_output=False,
        # all files are complete, and a normal end would take up to four seconds
        shutdown_kernel="immediate",
        extra_arguments=kernels.ARGUMENTS,
    )


def explanation(step: Step, error: Exception, failed: Path) -> str:
    """Return a message: the failed notebook and cell, the parameters, and a remedy."""
    if isinstance(error, PapermillExecutionError):
        where = f"code cell {error.exec_count}"
        what = f"{error.ename}: {error.evalue}"
        last = "\n".join(_ANSI.sub("", "\n".join(error.traceback)).splitlines()[-12:])
    else:
        cells = nbformat.read(failed, as_version=4).cells
        begun = [cell for cell in cells if cell.metadata.papermill.start_time]
        where = f"the cell that begins with {begun[-1].source.splitlines()[0]!r}"
        what = f"its kernel {kernels.ending(Kernel.status)}"
        last = ""
    given = "\n".join(f"    {name}: {value!r}" for name, value in step.parameters.items())
    values = {"given": given, "last": textwrap.indent(last, "    | "), "where": where, "what": what}
    text = (ROOT / "workflow" / "templates" / "failed.txt").read_text(encoding="utf-8")
    return text.format(notebook=step.notebook, failed=failed, **values)


if __name__ == "__main__":
    main()
