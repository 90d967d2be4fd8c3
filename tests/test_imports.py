"""Importing a module does not load unused packages, which take up to seconds.

A notebook would pay for it at its start, and the pipeline once a notebook.
"""

import ast
import pkgutil
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

import helpers.outputs
import known_unknowns.auditing
import synthesis

HELPERS = [module.name for module in pkgutil.walk_packages(helpers.__path__, "helpers.")]
TOOL = [module.name for module in pkgutil.walk_packages(known_unknowns.__path__, "known_unknowns.")]
JUDGEMENT = [module.name for module in pkgutil.walk_packages(synthesis.__path__, "synthesis.")]
MODULES = [*HELPERS, *TOOL, *JUDGEMENT]
#: The packages in import order; a package imports only from those before it.
ROOMS = (
    "shared",
    "data",
    "outputs",
    "networks",
    "training",
    "metrics",
    "scores",
    "labelfree",
    "tables",
    "papers",
    "known_unknowns",
    "synthesis",
)
#: The rooms of `helpers` that the tool may import.
GROUND = {"outputs", "metrics", "scores", "labelfree", "checks", "files", "checkpoints"}
#: Other rooms that modules of the tool import today, with the reason.  The list only shrinks.
LEFT = {
    "known_unknowns.auditing.networks data": "an audit of a network by name loads its data sets",
    "known_unknowns.auditing.networks networks": "an audit of a network by name loads it",
}

#: What single functions need; `helpers.tables.interactive` and `helpers.networks.zoo` are
#: about theirs.
RARE = ("itables", "nltk", "pytest", "seaborn", "sklearn", "timm", "scipy.stats")
#: torchvision imports the other one, a compiler that nothing here uses.
VISION = ("torchvision", "torch._dynamo")

WITHOUT_TORCH = (
    "helpers.data",
    "helpers.labelfree",
    "helpers.metrics",
    "helpers.networks.recipe",
    "helpers.outputs",
    "helpers.tables",
    "helpers.scores",
    "known_unknowns.bench",
    "known_unknowns.checks",
    "synthesis.counterparts",
    "synthesis.effects",
    "synthesis.figures",
    "synthesis.ledger",
    "synthesis.preconditions",
    "synthesis.reasons",
    "synthesis.skills",
    "synthesis.verdicts",
)
#: All other modules with torch load no torchvision.
HEAVY = (
    "helpers.networks.inference",
    "helpers.networks.zoo",
    "helpers.tables.interactive",
    "known_unknowns.__main__",
    "known_unknowns.auditing",
    "known_unknowns.guarantees",
)

#: The part of an audit that goes back to networks and images.
SHOW_IMAGES = ("known_unknowns.auditing.networks",)


ARRAYS = [name for name in MODULES if name.startswith(WITHOUT_TORCH) and name not in HEAVY]
NETWORKS = [name for name in MODULES if not name.startswith((*WITHOUT_TORCH, *HEAVY))]


def run(*blocks: tuple) -> None:
    """Import modules in a separate process; a block has a line before and one after each import."""
    program = "import importlib, sys\n"
    for first, names, then in blocks:
        program += f"{first}\nfor name in {[*names]}:\n"
        program += f"    importlib.import_module(name)\n    {then}\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr[-500:]


def test_unused_packages_are_not_loaded():
    """Import every module of the packages with torch."""
    run(("", NETWORKS, f"assert not { {*RARE, *VISION} } & set(sys.modules), name"))


def test_modules_of_arrays_work_without_torch_and_imports_are_lazy():
    """Import modules of outputs, reports and audits, and of papers without the experiment.

    Every name of the tool is available without torch.
    """
    some = r"helpers\.papers\.\w+\.(roles|tables|parameters)|known_unknowns\.auditing\..+"
    some += r"|synthesis\.claims\..+"
    parts = [name for name in MODULES if re.fullmatch(some, name)]
    others = [name for name in ("known_unknowns", *parts) if name not in SHOW_IMAGES]
    first = (
        "import known_unknowns as ku\nassert not {'numpy', 'pandas', 'torch'} & set(sys.modules)"
    )
    arrays = first, ARRAYS, f"assert not { {'torch', *RARE, *VISION} } & set(sys.modules), name"
    last = "assert all(getattr(ku, name) for name in ku.__all__)", (), "pass"
    run(arrays, ("sys.modules['torch'] = None", others, "pass"), last)


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
    names = set()
    waiting = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        waiting += ast.iter_child_nodes(node)
    return names


def test_a_package_imports_only_from_those_before_it():
    """Inside functions, too: `helpers` never imports `known_unknowns`."""
    for name in MODULES:
        later = ROOMS[ROOMS.index(room(name)) + 1 :]
        rooms = ("helpers.", "known_unknowns", "synthesis")
        ours = (used for used in imports(name) if used.startswith(rooms))
        assert not [used for used in ours if room(used) in later], name


def test_the_tool_does_not_import_the_papers():
    """It imports the ground floor of `helpers`; every other import of today has a reason."""
    used = {
        f"{name} {module.split('.')[1]}"
        for name in TOOL
        for module in imports(name)
        if module.startswith("helpers.")
    }
    ground = {f"{name} {allowed}" for name in TOOL for allowed in (*GROUND, "__version__")}
    assert used - ground == LEFT.keys()


def test_names_of_the_package_equal_the_names_of_its_modules():
    assert known_unknowns.audit is known_unknowns.auditing.audit
    assert known_unknowns.__all__ == ["Rejector", "audit", "bench", "check_score"]
    with pytest.raises(AttributeError, match="no attribute 'audti'"):
        _ = known_unknowns.audti


def test_there_are_no_import_cycles():
    """Also inside functions."""
    graph = {name: {importing(module) for module in imports(name)} - {name, ""} for name in MODULES}
    TopologicalSorter(graph).prepare()  # raises CycleError with the names


def importing(name: str) -> str:
    """Return the module of this project that a dotted name is in; "" if there is none."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name
