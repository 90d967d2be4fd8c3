"""A step of the plan, and the file that hands the plan to Snakemake and to `execute.py`."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers.files import atomic_path  # noqa: E402

PLAN = "plan.json"
KEPT = ".kept"  # the folder of what steps have made whose driver was killed
STATE = "state.json"
#: The notebooks that use networks, so that a GPU helps.
ASKING = ("training", "evaluation", "figures", "audit")
#: The jobs without a notebook: the training of a network, the evaluation of a part.
NETWORK = "network"
PART = "part"
VISIBLE = "CUDA_VISIBLE_DEVICES"
#: The environment variable with a GPU for each step that may use one at the same time.
GPUS = "GPUS"


@dataclass(frozen=True)
class Step:
    """One execution of one notebook, or one job without a notebook.

    `name` (``paper/notebook`` or ``paper/notebook/point``) is also the path of the executed
    notebook below ``runs/<tier>/``, or of the outcome of the job; `makes` are further files there.
    `needs` are names of earlier steps.  If a file in `reads` or a parameter in `settings` changes,
    the step runs again.  The data sets in `spared` are optional.
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
    def kind(self) -> str:
        """Its notebook, `NETWORK` or `PART`."""
        return kind_of(self.name)

    @property
    def output(self) -> str:
        """The file that it makes below ``runs/<tier>/``."""
        return output_of(self.name)

    @property
    def uses_networks(self) -> bool:
        """Whether a GPU helps."""
        return self.kind in (NETWORK, PART, *ASKING)

    @property
    def trains(self) -> bool:
        """Whether it trains networks.

        If a chapter has no training notebook, the evaluation trains them.  A training notebook
        after jobs loads them, and trains only the first epochs that it shows.
        """
        alone = not (ROOT / self.notebook).with_name("training.ipynb").exists()
        by_notebook = self.kind == "training" and not self.needs
        return self.kind == NETWORK or by_notebook or (self.kind == "evaluation" and alone)


def kind_of(name: str) -> str:
    """Return the kind of a step: its notebook, `NETWORK` or `PART`.

    >>> kind_of("uimnet/training/plain-0"), kind_of("uimnet/network/resnet8/erm/none/0-1")
    ('training', 'network')
    """
    return name.partition("/")[2].partition("/")[0]


def output_of(name: str) -> str:
    """Return the file that a step makes below ``runs/<tier>/``."""
    return f"{name}.{'txt' if kind_of(name) in (NETWORK, PART) else 'ipynb'}"


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


def gpus() -> list[str]:
    """Return the names of the GPUs that may be used, without loading torch."""
    if VISIBLE in os.environ:
        names = os.environ[VISIBLE].split(",")
        return list(takewhile(lambda name: name.strip() not in ("", "-1"), names))  # as CUDA does
    # parts of a GPU are indented; or there is no such program
    return re.findall(r"^GPU (\d+)", subprocess.getoutput("nvidia-smi -L"), re.M)


def take_gpu(step: Step, runs: Path) -> None:
    """Let this process use one GPU until it ends, if its step uses networks.

    The variable `GPUS` names each GPU as often as steps may use it at the same time.  A cluster
    chooses the GPUs of its jobs, without this variable.
    """
    names = os.environ.get(GPUS, "")
    if not (step.uses_networks and names):
        return
    import fcntl

    for number, name in itertools.cycle(enumerate(names.split(","))):
        descriptor = os.open(runs / f".gpu-{number}.lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            time.sleep(0.1)
        else:
            os.environ[VISIBLE] = name
            return


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
    files += [runs / output_of(name) for name in step.needs]
    times = [file.stat().st_mtime_ns if file.exists() else None for file in files]
    return json.dumps([step.parameters, step.settings, step.reads, times])


def keep(step: Step, runs: Path, before: str) -> None:
    """Keep the outputs of a step whose driver was killed, since the next run deletes them.

    `before` is the step's `state` when it began.
    """
    folder = runs / KEPT / step.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, name in enumerate((step.output, *step.makes)):
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
        for number, name in enumerate((step.output, *step.makes)):
            (folder / str(number)).replace(runs / name)
    shutil.rmtree(folder)
    return same
