"""The arrows between the packages: which package imports which, also inside functions."""

import ast
from graphlib import TopologicalSorter

from lint.reading import ROOT, python_files, tree

#: The packages in import order; a package imports only from those before it.
ORDER = (
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
SHARED = ("cache", "checkpoints", "checks", "files", "modules")
#: The rooms of `helpers` that the tool may import.
GROUND = {"outputs", "metrics", "scores", "labelfree", "checks", "files", "checkpoints"}
#: Other rooms that modules of the tool import today, with the reason.  The list only shrinks.
LEFT = {
    "known_unknowns.auditing.networks data": "an audit of a network by name loads its data sets",
    "known_unknowns.auditing.networks networks": "an audit of a network by name loads it",
}
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in python_files("helpers", "known_unknowns", "synthesis")
}


def imports(name: str) -> set[str]:
    """Return the modules that a module imports; not for type checking."""
    names = set()
    waiting: list[ast.AST] = [tree(MODULES[name])]
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


def room(name: str) -> str:
    """Return the package of a module; modules that all packages use share one."""
    first, _, rest = name.partition(".")
    if first != "helpers":
        return first
    second = rest.partition(".")[0]
    return "shared" if second in SHARED else second


def importing(name: str) -> str:
    """Return the module of this project that a dotted name is in; "" if there is none."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def test_a_package_imports_only_from_those_before_it():
    """Inside functions, too: `helpers` never imports `known_unknowns`."""
    for name in MODULES.keys() - {"helpers"}:
        later = ORDER[ORDER.index(room(name)) + 1 :]
        ours = {used for used in imports(name) if importing(used)}
        assert not [used for used in ours if room(used) in later], name


def test_the_tool_imports_the_ground_floor_of_helpers():
    """Every other import of today has a reason."""
    tool = [name for name in MODULES if name.startswith("known_unknowns")]
    used = {
        f"{name} {module.split('.')[1]}"
        for name in tool
        for module in imports(name)
        if module.startswith("helpers.")
    }
    ground = {f"{name} {allowed}" for name in tool for allowed in (*GROUND, "__version__")}
    assert used - ground == LEFT.keys()


def test_no_module_passes_on_a_name_of_another():
    """A reader finds a name where it is defined; packages offer what their modules define."""
    passed_on = [
        f"{name}: {alias.name}"
        for name, path in MODULES.items()
        if path.stem != "__init__"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == alias.asname
    ]
    assert not passed_on


def test_there_are_no_import_cycles():
    graph = {name: {importing(module) for module in imports(name)} - {name, ""} for name in MODULES}
    TopologicalSorter(graph).prepare()  # raises CycleError with the names
