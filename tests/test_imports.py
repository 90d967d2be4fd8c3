"""Importing a module brings nothing along that it may not come to use: each takes up to seconds.

A notebook would pay for it at its start, and the pipeline once a notebook.
"""

import ast
import pkgutil
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

import helpers
import known_unknowns

HELPERS = [module.name for module in pkgutil.walk_packages(helpers.__path__, "helpers.")]
TOOL = [module.name for module in pkgutil.walk_packages(known_unknowns.__path__, "known_unknowns.")]
MODULES = [*HELPERS, *TOOL]
ROOMS = ("shared", "data", "outputs", "networks", "training", "metrics", "scores", "labelfree",
         "report", "papers", "known_unknowns")  # fmt: skip
"""The packages in import order; a package imports only from those before it."""

RARE = ("itables", "nltk", "pytest", "seaborn", "sklearn", "timm", "scipy.stats")
"""What single functions need; `helpers.report.tables.interactive`, `helpers.networks.zoo` and
`helpers.networks.frozen_features` are about theirs."""
VISION = ("torchvision", "torch._dynamo")
"""torchvision imports the other one, a compiler that nothing here uses."""

WITHOUT_TORCH = (
    "helpers.data", "helpers.labelfree", "helpers.metrics", "helpers.networks.recipe",
    "helpers.outputs", "helpers.report", "helpers.scores", "known_unknowns.bench",
    "known_unknowns.checks",
)  # fmt: skip
WITHOUT_VISION = (
    "helpers.checkpoints", "helpers.networks.cifar", "helpers.networks.convolutions",
    "helpers.networks.devices", "helpers.networks.frozen_head", "helpers.networks.head_recipe",
    "helpers.networks.heads", "helpers.networks.model",
    "helpers.networks.published",
    "helpers.networks.spectral", "helpers.networks.timm_weights", "helpers.papers",
    "helpers.training", "known_unknowns.across", "known_unknowns.chapters",
    "known_unknowns.without_labels",
)  # fmt: skip

SHOW_IMAGES = ("known_unknowns.auditing.networks",)
"""The part of an audit that goes back to networks and images."""


def modules(names: tuple[str, ...]) -> list[str]:
    """Return packages and modules with all that lies in them."""
    return [
        name
        for name in MODULES
        if name.startswith(names) and name != "helpers.report.tables.interactive"
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
    small = {f"helpers.{name}" for name in ("cache", "checks", "files", "modules", "networks")}
    about_timm = {
        "helpers.networks.frozen_features", "helpers.networks.inference", "helpers.networks.zoo",
        "helpers.report.tables.interactive",
    }  # fmt: skip
    audit = {name for name in MODULES if name.startswith("known_unknowns.auditing")}
    small |= {"known_unknowns.__main__", "known_unknowns.guarantees"}
    assert set(MODULES) - named == small | about_timm | audit


def room(name: str) -> str:
    """Return the package of a module; modules that all packages use share one."""
    first, *rest = name.split(".")
    if first != "helpers":
        return first
    shared = ("cache", "checkpoints", "checks", "files", "modules")
    return "shared" if rest[0] in shared else rest[0]


def imports(name: str) -> set[str]:
    """Return the modules that a module imports, also inside functions; not for type checking."""
    source = Path(find_spec(name).origin).read_text(encoding="utf-8")
    found, waiting = set(), [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        waiting += ast.iter_child_nodes(node)
    return found


def upward() -> set[tuple[str, str]]:
    """Return the imports of a module by one of an earlier package."""
    return {
        (name, imported)
        for name in MODULES
        for imported in imports(name)
        if imported.startswith(("helpers.", "known_unknowns"))
        and room(imported) in ROOMS
        and ROOMS.index(room(imported)) > ROOMS.index(room(name))
    }


def test_a_package_imports_only_from_those_before_it():
    """Inside functions, too: `helpers` never imports `known_unknowns`."""
    assert not upward()


def test_arrays_need_no_torch():
    """From outputs to reports, an audit of them, and of a paper all but its experiment."""
    papers = r"helpers\.papers\.\w+\.(roles|claims|tables|parameters)"
    wanted = [name for name in MODULES if re.fullmatch(papers, name)]
    wanted += modules(WITHOUT_TORCH)
    wanted += [name for name in MODULES if name.startswith("known_unknowns.auditing.")]
    wanted = [name for name in wanted if name not in SHOW_IMAGES] + ["known_unknowns"]
    program = (
        "import importlib, sys\n"
        "sys.modules['torch'] = None\n"  # importing it raises
        f"for name in {wanted}:\n"
        "    importlib.import_module(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr[-500:]


def test_there_are_no_import_cycles():
    """Also inside functions."""
    graph = {name: {importing(one) for one in imports(name)} - {name, ""} for name in MODULES}
    TopologicalSorter(graph).prepare()  # raises CycleError with the names


def importing(name: str) -> str:
    """Return the module of this project that a dotted name is in; "" if there is none."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def test_an_import_cycle_is_found():
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()
