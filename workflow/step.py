"""A step of the plan, and the file in which the whole plan is handed over.

Snakemake and what executes a step read it from there, and so need neither make the plan again nor
import all that it is checked with.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers.files import atomic_path  # noqa: E402

PLAN = "plan.json"
RULE_SEPARATOR = "--"
ASKING = ("training", "evaluation", "figures", "audit")
"""The notebooks that have networks at work, as far as these are not in the cache yet."""


@dataclass(frozen=True)
class Step:
    """One execution of one notebook.

    Attributes
    ----------
    name : str
        ``paper/notebook`` or ``paper/notebook/point``; also the path of the executed notebook
        below ``runs/<tier>/``.
    notebook : str
        Path of the notebook in the repository.
    parameters : dict
        What papermill injects.
    needs : tuple of str
        Names of the steps that come before.
    makes : tuple of str
        Files that it writes beside the executed notebook, below ``runs/<tier>/``.
    threads : int
        CPU threads that it uses.
    reads : tuple of str
        Files beside the notebook that it runs again for when they change: code, packs, tables.
    priority : int
        Which of two that could start goes first.
    settings : dict
        All parameters of its paper: it runs again when one of them changes.
    data_sets : tuple of str
        Names of the data sets that it may read.
    resources : dict
        What it asks a cluster for, by Snakemake's names.
    spared : tuple of str
        Of these, the ones without which it can do.
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
    def rule(self) -> str:
        """Its name where that becomes a file's: executors for clusters refuse one with a slash.

        Examples
        --------
        >>> Step("uimnet/training/others-1", "", {}).rule
        'uimnet--training--others-1'
        """
        return self.name.replace("/", RULE_SEPARATOR)

    @property
    def trains(self) -> bool:
        """Whether it trains networks, one at a time on a GPU."""
        return Path(self.notebook).stem == "training"

    @property
    def finds_networks(self) -> bool:
        """Whether steps before it have trained all networks that it asks."""
        return bool(self.needs) and not self.trains

    @property
    def asks(self) -> bool:
        """Whether it trains networks or asks some, which is what a GPU is for."""
        return Path(self.notebook).stem in ASKING


def write(steps: Mapping[str, Step], runs: Path) -> None:
    """Write a plan into the folder of its executed notebooks."""
    with atomic_path(runs / PLAN) as whole:
        whole.write_text(json.dumps([asdict(step) for step in steps.values()]), encoding="utf-8")


def read(runs: Path) -> dict[str, Step]:
    """Return the plan that was written into a folder: its steps by name.

    Raises
    ------
    FileNotFoundError
        No plan has been written there.
    """
    path = runs / PLAN
    if not path.exists():
        raise FileNotFoundError(f"{path}: no plan; `make run` writes it and executes what is in it")
    steps = {}
    for step in json.loads(path.read_text(encoding="utf-8")):
        fields = ("needs", "makes", "reads", "data_sets", "spared")
        tuples = {field: tuple(step.get(field, ())) for field in fields}
        steps[step["name"]] = Step(**step | tuples)
    return steps


def read_one(name: str, runs: Path) -> Step:
    """Return one step of the plan that was written into a folder.

    Raises
    ------
    FileNotFoundError
        No plan has been written there.
    ValueError
        It has no such step.
    """
    steps = read(runs)
    if name not in steps:
        raise ValueError(f"{runs / PLAN}: no step {name!r}; there are: {', '.join(steps)}")
    return steps[name]
