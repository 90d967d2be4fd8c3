"""A step of the plan, and the file that hands the plan to Snakemake and to `execute.py`."""

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers.files import atomic_path  # noqa: E402

PLAN = "plan.json"
KEPT = ".kept"  # the folder of what steps have made whose driver was killed
STATE = "state.json"
#: The notebooks that use networks, so that a GPU helps.
ASKING = ("training", "evaluation", "figures", "audit")


@dataclass(frozen=True)
class Step:
    """One execution of one notebook.

    `name` (``paper/notebook`` or ``paper/notebook/point``) is also the path of the executed
    notebook below ``runs/<tier>/``; `makes` are further files there.  `needs` are names of earlier
    steps.  If a file in `reads` or a parameter in `settings` changes, the step runs again.  The
    data sets in `spared` are optional.
    """

    name: str
    notebook: str
    parameters: dict
    needs: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    threads: int = 1
    reads: tuple[str, ...] = ()
    priority: int = 0
    settings: dict = field(default_factory=dict)
    data_sets: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    resources: dict = field(default_factory=dict)

    @property
    def trains(self) -> bool:
        """Whether it trains networks: in a chapter without training notebook, the evaluation."""
        notebook = ROOT / self.notebook
        alone = not notebook.with_name("training.ipynb").exists()
        return notebook.stem == "training" or (notebook.stem == "evaluation" and alone)


def make_folder(path: Path) -> None:
    """Make a folder of this checkout, or exit with the remedy if it cannot be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        sys.exit(
            f"{path}: cannot be written ({error.strerror}); copy {ROOT} to a folder that can be"
        )


def end_with_parent(parent: int) -> None:
    """End this process when the process that started it has ended, even by a kill.

    `parent` is the number of that process, which may have ended before this call.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def write(steps: Mapping[str, Step], runs: Path) -> None:
    """Write a plan into the folder of its executed notebooks."""
    with atomic_path(runs / PLAN) as temporary:
        temporary.write_text(json.dumps([*map(asdict, steps.values())]), encoding="utf-8")


def read(runs: Path) -> dict[str, Step]:
    """Return the steps of the plan in a folder, by name."""
    try:
        steps = json.loads((runs / PLAN).read_text(encoding="utf-8"))
        if not isinstance(steps, list):
            raise TypeError(f"a list expected, got {type(steps).__name__}")
        return {values["name"]: Step(**values) for values in steps}
    except (OSError, ValueError, TypeError, KeyError) as error:
        sys.exit(
            f"{runs / PLAN}: a plan of this version expected, got {type(error).__name__}: {error}; "
            f"write it anew: make run TIER={runs.name}"
        )


def state(step: Step, runs: Path) -> str:
    """Return the causes of a step's result: its values, and the times of its files."""
    files = [ROOT / name for name in (step.notebook, *step.reads)]
    files += [runs / f"{name}.ipynb" for name in step.needs]
    times = [file.stat().st_mtime_ns if file.exists() else None for file in files]
    return json.dumps([step.parameters, step.settings, step.reads, times])


def keep(step: Step, runs: Path, before: str) -> None:
    """Keep the outputs of a step whose driver was killed, since the next run deletes them.

    `before` is the step's `state` when it began.
    """
    folder = runs / KEPT / step.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, name in enumerate((f"{step.name}.ipynb", *step.makes)):
        os.link(runs / name, folder / str(number))
    with atomic_path(folder / STATE) as temporary:
        temporary.write_text(before, encoding="utf-8")


def take_kept(step: Step, runs: Path) -> bool:
    """Return whether an earlier run has kept what the step would make; if so, put it in place."""
    folder = runs / KEPT / step.name
    if not folder.exists():
        return False
    same = (folder / STATE).exists() and (folder / STATE).read_text("utf-8") == state(step, runs)
    if same:
        for number, name in enumerate((f"{step.name}.ipynb", *step.makes)):
            (folder / str(number)).replace(runs / name)
    shutil.rmtree(folder)
    return same
