"""A step of the plan, and the file that hands the plan to Snakemake and to `execute.py`."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers.files import atomic_path  # noqa: E402

PLAN = "plan.json"
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


def write(steps: Mapping[str, Step], runs: Path) -> None:
    """Write a plan into the folder of its executed notebooks."""
    with atomic_path(runs / PLAN) as temporary:
        temporary.write_text(json.dumps([*map(asdict, steps.values())]), encoding="utf-8")


def read(runs: Path) -> dict[str, Step]:
    """Return the steps of the plan in a folder, by name."""
    steps = json.loads((runs / PLAN).read_text(encoding="utf-8"))
    return {values["name"]: Step(**values) for values in steps}
