"""Importing a module brings nothing along that it may not come to use: each takes up to seconds.

A notebook would pay for it at its start, and the pipeline once a notebook.
"""

import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import helpers
from helpers.syntax import Package

MODULES = [one.name for one in pkgutil.walk_packages(helpers.__path__, "helpers.")]
ROOMS = ("shared", "data", "outputs", "networks", "training", "metrics", "scores", "testing",
         "labelfree", "report", "benchmark", "papers", "audit")  # fmt: skip
"""In the order in which data flows; a room imports from those before it."""

RARE = ("itables", "nltk", "pytest", "seaborn", "sklearn", "timm", "scipy.stats")
"""What single functions need; `helpers.report.tables.interactive`, `helpers.networks.zoo` and
`helpers.networks.frozen_features` are about theirs."""
VISION = ("torchvision", "torch._dynamo")
"""torchvision imports the other one, a compiler that nothing here uses."""

WITHOUT_TORCH = (
    "benchmark", "data", "labelfree", "metrics", "networks.recipe", "outputs", "report", "scores",
    "testing",
)  # fmt: skip
WITHOUT_VISION = (
    "checkpoints", "networks.cifar", "networks.convolutions", "networks.devices",
    "networks.frozen_head", "networks.head_recipe", "networks.heads",
    "networks.model", "networks.published", "networks.spectral", "networks.timm_weights", "papers",
    "training",
)  # fmt: skip


SHOW_IMAGES = tuple(f"helpers.audit.{name}" for name in ("example", "networks", "sources"))
"""What of an audit goes back to networks and images."""


def modules(names: tuple[str, ...]) -> list[str]:
    """Return packages and modules of `helpers` with all that lies in them."""
    wanted = tuple(f"helpers.{name}" for name in names)
    return [
        name
        for name in MODULES
        if name.startswith(wanted) and name != "helpers.report.tables.interactive"
    ]


@pytest.mark.parametrize(
    ("names", "absent"),
    [
        (WITHOUT_TORCH, (*RARE, *VISION, "torch")),
        (WITHOUT_VISION, (*RARE, *VISION)),
    ],
    ids=["results and figures", "networks and experiments"],
)
def test_what_is_not_used_is_not_loaded(names, absent):
    """In a process of its own; every module of these packages, one after the other."""
    program = (
        "import importlib, sys\n"
        f"for name in {modules(names)}:\n"
        "    importlib.import_module(name)\n"
        f"    found = {set(absent)} & set(sys.modules)\n"
        "    assert not found, f'{name} loads {found}'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr[-500:]


def test_no_module_is_forgotten():
    named = {*modules(WITHOUT_TORCH), *modules(WITHOUT_VISION)}
    small = {f"helpers.{name}" for name in ("cache", "checks", "files", "networks", "syntax")}
    about_timm = {
        "helpers.networks.frozen_features", "helpers.networks.zoo",
        "helpers.report.tables.interactive",
    }  # fmt: skip
    audit = {name for name in MODULES if name.startswith("helpers.audit")}
    assert set(MODULES) - named == small | about_timm | audit


def room(name: str) -> str:
    """Return the room of a module, the first part of its name; those that all use share one."""
    first = name.split(".")[1]
    return "shared" if first in ("cache", "checkpoints", "checks", "files", "syntax") else first


def upward() -> set[tuple[str, str]]:
    """Return the imports of a module by one of an earlier room, but for those inside functions."""
    package, found = Package(Path(helpers.__file__).parent), set()
    for name in MODULES:
        for imported in package.module(name).imports.values():
            parents = imported.startswith("helpers.") and [
                one for one in MODULES if f"{imported}.".startswith(f"{one}.")
            ]
            if parents and ROOMS.index(room(parents[-1])) > ROOMS.index(room(name)):
                found.add((name, max(parents, key=len)))
    return found


def test_a_room_imports_only_from_those_before_it():
    assert not upward(), "imports from a later room than the module's own"


def test_arrays_need_no_torch():
    """From outputs to reports, an audit of them, and of a paper all but its experiment."""
    papers = r"helpers\.papers\.\w+\.(roles|claims|tables|parameters)"
    wanted = [name for name in MODULES if re.fullmatch(papers, name)]
    wanted += modules(("outputs", "metrics", "scores", "testing", "labelfree", "report"))
    wanted += [name for name in MODULES if name.startswith("helpers.audit.")]
    # scikit-learn takes a module that is None for torch itself; tests/audit/test_estimator.py
    absent = (*SHOW_IMAGES, "helpers.audit.estimator")
    wanted = [name for name in wanted if name not in absent] + ["known_unknowns"]
    program = (
        "import importlib, sys\n"
        "sys.modules['torch'] = None\n"  # importing it raises
        f"for name in {wanted}:\n"
        "    importlib.import_module(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr[-500:]
