"""Modules of this repository that some code imports, directly or not, read from the sources.

A change of a module counts for all modules that import it.  The search imports no module.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import NamedTuple

# the checkout; of the installed tool, the folder of its package
ROOT = Path(__file__).resolve().parents[__name__.count(".")]
PACKAGES = ("helpers", "known_unknowns", "pictures", "synthesis")
#: Modules that store or load content that keys contain; the code of these modules does not count.
BY_CONTENT = {
    "helpers.cache",
    "helpers.checkpoints",
    "helpers.data",
    "helpers.data.cards",
    "helpers.data.packs",
    "helpers.data.sources",
    "helpers.files",
    "helpers.modules",
}
TABLES = (".css", ".csv", ".html", ".jinja", ".mplstyle", ".txt", ".yaml")


class Module(NamedTuple):
    """A file and its imports: those that always run, and imports of its neighbours by name."""

    file: Path
    text: str
    imports: frozenset[str]
    on_demand: frozenset[str]


def read(name: str, root: Path = ROOT) -> Module | None:
    """Return a module of the repository; None if the dotted name is not one."""
    path = root.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    known = name.partition(".")[0] in PACKAGES and file.is_file()
    return _parse(name, root, file, file.stat().st_mtime_ns) if known else None


@functools.cache
def _parse(name: str, root: Path, file: Path, changed: int) -> Module:
    source = file.read_text("utf-8")
    tree = ast.parse(source)
    imports = set(_imported(tree, root))
    neighbours: set[str] = set()
    if "__path__" in source:  # the folder in which a package looks for its modules
        lookups = [node for node in tree.body if "'__path__'" in ast.dump(node)]
        if lookups:
            neighbours = {f"{name}.{stem}" for stem in _stems(file.parent)}
        if not all(isinstance(node, ast.FunctionDef) for node in lookups):
            imports |= neighbours  # the package imports them when it is imported itself
    return Module(file, _canonical(tree), frozenset(imports), frozenset(neighbours))


def code(names: Iterable[str], root: Path = ROOT) -> str:
    """Return 16 digits as a hash of the code of modules and of all modules that these import.

    Comments and docstrings do not count.  The tables next to a package's ``__init__`` count.

    Raises
    ------
    ValueError
        A name is neither a module of the repository nor a name in a module.
    """
    modules = _closure(names, root, beyond=BY_CONTENT)
    texts = [modules[name].text for name in sorted(modules)]
    paths = [module.file for module in modules.values()]
    packages = {path.parent for path in paths if path.name == "__init__.py"}
    texts += [file.read_text("utf-8") for file in _tables(packages)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def files(source: str, *names: str) -> list[Path]:
    """Return the files of all modules that a source and named modules may import.

    With all tables in the folders of these files.
    """
    imported = {name for name in _imported(ast.parse(source), ROOT) if read(name)}
    modules = _closure({*imported, *names}, ROOT, on_demand=True).values()
    code_files = {module.file for module in modules}
    return sorted(code_files | {*_tables({file.parent for file in code_files})})


def _closure(
    names: Iterable[str], root: Path, *, beyond: Set[str] = frozenset(), on_demand: bool = False
) -> dict[str, Module]:
    """Return named modules and all that they import, but no module `beyond` that is not named."""
    waiting: list[str] = []
    reached: dict[str, Module] = {}
    for name in names:
        dotted = name if read(name, root) else name.rpartition(".")[0]
        if not read(dotted, root):
            raise ValueError(f"no module '{name}' in {', '.join(PACKAGES)}")
        waiting += _whole(dotted, root) if dotted in PACKAGES else [dotted]
    beyond = beyond - set(waiting)
    while waiting:
        name = waiting.pop()
        if name in reached or name in beyond:
            continue
        module = read(name, root)
        if module is None:
            continue
        reached[name] = module
        waiting += module.imports
        if on_demand:
            waiting += module.on_demand
    return reached


def _whole(package: str, root: Path) -> list[str]:
    """Return all modules of a package of `PACKAGES`."""
    files = root.joinpath(package).rglob("*.py")
    paths = [file.relative_to(root).with_suffix("") for file in files]
    modules = [path.parent if path.name == "__init__" else path for path in paths]
    return [".".join(path.parts) for path in modules]


def _stems(folder: Path) -> set[str]:
    """Return the names of the modules in a package's folder."""
    packages = {file.parent.name for file in folder.glob("*/__init__.py")}
    return packages | {file.stem for file in folder.glob("*.py")} - {"__init__"}


def _tables(folders: Iterable[Path]) -> list[Path]:
    """Return the tables, lists and templates in some folders."""
    folders = {*folders}
    folders |= {folder / "templates" for folder in folders if (folder / "templates").is_dir()}
    tables: list[Path] = []
    for folder in folders:
        tables += [file for file in folder.iterdir() if file.suffix in TABLES]
    return sorted(tables)


def _imported(tree: ast.AST, root: Path) -> Iterator[str]:
    """Yield the dotted names that a tree imports, also inside functions; not for type hints."""
    if isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.dump(tree.test):
        return
    if isinstance(tree, ast.Import):
        yield from (alias.name for alias in tree.names)
    elif isinstance(tree, ast.ImportFrom):
        if tree.module is None or tree.level:
            raise ValueError(f"line {tree.lineno}: an absolute import expected, got a relative one")
        for alias in tree.names:
            name = f"{tree.module}.{alias.name}"
            yield name if read(name, root) else tree.module
    for node in ast.iter_child_nodes(tree):
        yield from _imported(node, root)


def _canonical(node: object) -> str:
    """Return a tree as text without docstrings, equal in every version of Python.

    The text of `ast.dump` changed in 3.12 (``type_params=[]``) and in 3.13 (no empty lists).
    Python 3.12 also ends some format specifications with an empty string.
    """
    if isinstance(node, list):
        return f"[{', '.join(map(_canonical, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
    if isinstance(node, ast.JoinedStr):
        fields["values"] = [value for value in node.values if getattr(value, "value", None) != ""]
    body = fields.get("body")
    if isinstance(body, list):
        fields["body"] = [statement for statement in body if not _is_text(statement)]
    field_texts = ", ".join(f"{name}={_canonical(value)}" for name, value in fields.items())
    return f"{type(node).__name__}({field_texts})"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
