"""Execute one step of the plan: a notebook with its parameters, whole or not at all.

python workflow/execute.py mini openset_calibration/evaluation runs/mini
"""

import argparse
import os
import sys
import time
from pathlib import Path

import papermill
from papermill.exceptions import PapermillExecutionError
from plan import ROOT, plan


def main() -> None:
    """Execute the step named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tier")
    parser.add_argument("step", help="as in the plan: paper/notebook or paper/notebook/point")
    parser.add_argument("runs", type=Path, help="folder of the executed notebooks")
    arguments = parser.parse_args()
    step = plan(arguments.tier)[arguments.step]
    output = arguments.runs / f"{step.name}.ipynb"
    output.parent.mkdir(parents=True, exist_ok=True)
    started = output.with_suffix(".running.ipynb")
    # numpy's and torch's default; what trains sets its own number, a part of its recipe
    os.environ.update(OMP_NUM_THREADS=str(step.threads), MKL_NUM_THREADS=str(step.threads))
    start = time.monotonic()
    try:
        papermill.execute_notebook(
            ROOT / step.notebook,
            started,
            parameters=step.parameters,
            cwd=ROOT,
            progress_bar=False,
            log_output=False,
            # it warns of unencrypted ports on this machine, once a notebook
            extra_arguments=["--IPKernelApp.log_level=CRITICAL"],
        )
    except PapermillExecutionError as error:
        failed = output.with_suffix(".failed.ipynb")
        started.replace(failed)
        given = "\n".join(f"    {name}: {value!r}" for name, value in step.parameters.items())
        sys.exit(
            f"\n{step.notebook} failed in code cell {error.exec_count}: "
            f"{error.ename}: {error.evalue}\n"
            f"  parameters (params/{arguments.tier}/):\n{given}\n"
            f"  how far it got: {failed}\n"
            "  remedy: mend what the message names, then run the same command again; "
            "what is finished is kept\n"
        )
    started.replace(output)
    print(f"{step.name}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
