"""What code uses, read from its syntax trees: what must be made anew when a line changes.

Nothing is imported.  A definition is a function, a class or a variable of a module; it uses those
whose names its own tree has, wherever these were imported from.  What a program finds by a name
that it makes up is not seen, but for a package that imports all that lies in its folder.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from helpers.files import atomic_path

KEEPS = ("cache", "checkpoints", "files", "syntax")
"""Modules that keep what others computed; none of them decides a number."""
_TABLES = (".csv", ".txt", ".yaml")
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
Answer = TypeVar("Answer", str, list)
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Definition(NamedTuple):
    """The dotted names that a definition uses.

    `looked_up` are the modules of a folder that it may find by their names while it runs.
    """

    uses: frozenset[str]
    looked_up: frozenset[str]


class Package:
    """A package as it lies in a folder, with others beside it; each file is read once."""

    def __init__(self, folder: Path, *others: Path):
        self.folder = folder
        self.folders = {each.name: each for each in (folder, *others)}
        self._modules: dict[str, Module | None] = {}
        self._found: dict[str, set[tuple[str, str]]] = {}

    def module(self, name: str) -> Module | None:
        """Return a module by its dotted name; None if there is none."""
        if name not in self._modules:
            path = self.folder.parent.joinpath(*name.split("."))
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            ours = name.split(".")[0] in self.folders and file.is_file()
            self._modules[name] = Module(name, file.read_text("utf-8"), file) if ours else None
        return self._modules[name]

    def code(self, names: Iterable[str]) -> str:
        """Return a hash of definitions and all that they use, see `helpers.cache.code`."""
        names = sorted(names)
        return self._noted("code " + " ".join(names), lambda: self._code(names))

    def _code(self, names: Iterable[str]) -> str:
        roots = []
        for name in names:
            if not (found := self._find(name)) or found == {("", name)}:
                raise ValueError(f"code: {self.folder} has no module or definition '{name}'")
            roots += found
        reached = self._closure(roots)
        texts = (self.module(one[0]).digest(one[1]) if one[0] else one[1]
                 for one in reached if one[0].partition(".")[2] not in KEEPS)  # fmt: skip
        # a module that does nothing on import leaves no trace, or its place would count
        return hashlib.sha256("\n".join(sorted(filter(None, texts))).encode()).hexdigest()[:16]

    def files(self, source: str, *names: str) -> set[Path]:
        """Return the files of all that a source and what is named use, directly or not.

        What a function looks up in its package's folder is among them, and so are the tables and
        lists that lie beside an ``__init__``.
        """
        digest = hashlib.sha256(source.encode()).hexdigest()
        question = " ".join(["files", digest, *sorted(names)])
        found = self._noted(question, lambda: self._files(source, names))
        return {self.folder.parent / one for one in found}

    def _files(self, source: str, names: Iterable[str]) -> list[str]:
        module = Module("", source)
        uses = {used for name in module.statements for used in module.definition(name).uses}
        uses |= {*module.imports.values(), *names} - self.folders.keys()
        roots = [each for used in uses for each in self._find(used)]
        modules = {self.module(place) for place, _ in self._closure(roots, looked_up=True) if place}
        found = {file for one in modules for file in (one.file, *one.data)}
        return sorted(str(file.relative_to(self.folder.parent)) for file in found)

    @cached_property
    def sha256(self) -> str:
        """Digest of all sources and tables, by their places, and of how they are read here."""
        files = [
            file
            for folder in self.folders.values()
            for suffix in (".py", *_TABLES)
            for file in folder.rglob(f"*{suffix}")
        ]
        digest = hashlib.sha256(Path(__file__).read_bytes())
        for file in sorted(files):
            digest.update(f"{file.relative_to(self.folder.parent)}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.hexdigest()

    def _noted(self, question: str, answer: Callable[[], Answer]) -> Answer:
        """Return an answer that is noted beside the byte code, as that is: of these very sources.

        To read the trees takes seconds, and every process of a pipeline asks the same.
        """
        file = self.folder / "__pycache__" / "syntax.json"
        try:
            noted = json.loads(file.read_text("utf-8"))
            answers = noted["answers"] if noted["sha256"] == self.sha256 else {}
        except (OSError, ValueError, KeyError, TypeError):  # none, or not whole
            answers = {}
        if question not in answers:
            answers[question] = answer()
            if not sys.dont_write_bytecode:
                with contextlib.suppress(OSError), atomic_path(file) as temporary:
                    temporary.write_text(json.dumps({"sha256": self.sha256, "answers": answers}))
        return answers[question]

    def _closure(
        self, roots: Iterable[tuple[str, str]], *, looked_up: bool = False
    ) -> set[tuple[str, str]]:
        """Return definitions and all that they use; with what functions look up in folders, too.

        What keeps results uses nothing that decides them.
        """
        waiting, reached = list(roots), set()
        while waiting:
            if (one := waiting.pop()) in reached:
                continue
            reached.add(one)
            place, name = one
            if place and (looked_up or place.partition(".")[2] not in KEEPS):
                definition = self.module(place).definition(name)
                uses = definition.uses | (definition.looked_up if looked_up else frozenset())
                for used in uses:
                    if used not in self._found:
                        self._found[used] = self._find(used)
                    waiting += self._found[used]
        return reached

    def _find(self, name: str) -> set[tuple[str, str]]:
        """Return modules and names of the definitions that a dotted name stands for.

        The name "" is what else a module does on import, the module "" another package.
        """
        if name == self.folder.name:
            files = self.folder.rglob("*.py")
            parts = (file.relative_to(self.folder.parent).with_suffix("").parts for file in files)
            every = {".".join(part for part in one if part != "__init__") for one in parts}
            return {each for one in every for each in self._whole(one)}
        place = next((one for one in reversed([*_parents(name)]) if self.module(one)), None)
        if place is None:
            return {("", name)}
        if place == name:
            return self._whole(name)
        module, (first, *rest) = self.module(place), name[len(place) + 1 :].split(".")
        if first in module.statements:
            return {(place, ""), (place, first)}
        if first in module.imports:  # from where the package's own import has it
            return {(place, "")} | self._find(".".join([module.imports[first], *rest]))
        return {(place, "")} if first in module.made or first.startswith("__") else set()

    def _whole(self, name: str) -> set[tuple[str, str]]:
        return {(name, one) for one in self.module(name).statements}


class Module:
    """A source with what it imports and defines; type hints and docstrings apart.

    Attributes
    ----------
    imports : dict of str to str
        The module's names that stand for dotted names.
    statements : dict of str to list of nodes
        Those that define a name; under "" those that do anything else.
    """

    def __init__(self, name: str, source: str, file: Path | None = None):
        self.name, self.source, self.file = name, source, file
        self.package = file is not None and file.name == "__init__.py"
        self.imports: dict[str, str] = {}
        self.statements: dict[str, list[ast.AST]] = {"": []}
        self._definitions: dict[str, Definition] = {}
        self._digests: dict[str, str] = {}
        for node in ast.parse(source).body:
            self.imports |= self._imported(node)
            if not _dropped(node):
                names = _defined(node) or [""]
                for one in names:
                    self.statements.setdefault(one, []).append(node)
                if names in ([""], ["__getattr__"]):  # which imports what the module is asked for
                    self.imports |= self._strip(node)

    @cached_property
    def made(self) -> set[str]:
        """Names that come about in a loop, a ``with`` or the like."""
        return _bound(self.statements[""])

    @property
    def siblings(self) -> list[str]:
        """The modules that lie in the package's folder."""
        stems = {one.stem for one in self.file.parent.glob("*.py")} - {"__init__"}
        stems |= {one.parent.name for one in self.file.parent.glob("*/__init__.py")}
        return [f"{self.name}.{one}" for one in sorted(stems)]

    @property
    def data(self) -> list[Path]:
        """Tables and lists that lie in the package's folder."""
        suffixes = _TABLES if self.package else ()
        return sorted(one for suffix in suffixes for one in self.file.parent.glob(f"*{suffix}"))

    def definition(self, name: str) -> Definition:
        """Return a definition of the module; "" is what else happens on import."""
        if name not in self._definitions:
            nodes = self.statements[name]
            imports = dict(self.imports)
            for node in nodes:
                imports |= self._strip(node)
            chains = {chain for node in nodes for chain in _chains(node, frozenset())}
            uses = set()
            for first, *rest in chains:
                if first in self.statements:
                    uses.add(f"{self.name}.{first}")
                elif first in imports:
                    uses.add(".".join([imports[first], *rest]))
            folder = set(self.siblings) if ("__path__",) in chains else set()
            uses |= set() if name else folder  # that is done on import, whoever is asked for
            self._definitions[name] = Definition(frozenset(uses), frozenset(folder))
        return self._definitions[name]

    def digest(self, name: str) -> str:
        """Return what stands for a definition, wherever it stands; "" for nothing at all."""
        if name not in self._digests:  # most questions are about the same ones
            self._digests[name] = self._digest(name)
        return self._digests[name]

    def _digest(self, name: str) -> str:
        self.definition(name)  # takes out what does not count
        texts = [_canonical(node) for node in self.statements[name]]
        if not name:
            texts += [hashlib.sha256(one.read_bytes()).hexdigest() for one in self.data]
        return hashlib.sha256("\n".join(texts).encode()).hexdigest() if texts else ""

    def _strip(self, tree: ast.AST) -> dict[str, str]:
        """Take docstrings, imports and functions' type hints out of a tree; return the imports."""
        imports: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, _FUNCTIONS):
                node.returns = None
            elif isinstance(node, ast.arg):
                node.annotation = None
            for field in ("body", "orelse", "finalbody"):
                if isinstance(statements := getattr(node, field, None), list):
                    for one in statements:
                        imports |= self._imported(one)
                    setattr(node, field, [one for one in statements if not _dropped(one)])
        return imports

    def _imported(self, node: ast.AST) -> dict[str, str]:
        """Return the names that an import statement binds; none of another statement."""
        if isinstance(node, ast.Import):
            names = [(one.asname or one.name, one.name) for one in node.names]
            return dict(names) | {to.partition(".")[0]: to.partition(".")[0] for _, to in names}
        if not isinstance(node, ast.ImportFrom):
            return {}
        base = self.name.split(".") + [""] * self.package
        base = [*(base[: -node.level] if node.level else []), *filter(None, [node.module])]
        return {one.asname or one.name: ".".join([*base, one.name]) for one in node.names}


def _parents(name: str) -> Iterator[str]:
    """Yield ``a``, ``a.b`` and ``a.b.c`` of ``a.b.c``."""
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _canonical(node: object) -> str:
    """Return a syntax tree as text that is equal in every version of Python.

    `ast.dump` is not: its text changed in 3.12 (``type_params=[]``) and in 3.13 (no empty lists).
    Python 3.12 also ends some format specifications with an empty string.
    """
    if isinstance(node, ast.JoinedStr):
        node = ast.JoinedStr([part for part in node.values if getattr(part, "value", None) != ""])
    if isinstance(node, list):
        return f"[{', '.join(map(_canonical, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
    shown = ", ".join(f"{name}={_canonical(value)}" for name, value in fields)
    return f"{type(node).__name__}({shown})"


def _dropped(node: ast.AST) -> bool:
    """Tell whether a statement is an import, a docstring or for type checking alone."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.dump(node.test)
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or isinstance(node, ast.Import | ast.ImportFrom)


def _defined(node: ast.AST) -> list[str]:
    """Return the names that a statement defines and does nothing else."""
    if isinstance(node, _FUNCTIONS | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return []
    names = [one for target in targets for one in getattr(target, "elts", [target])]
    return [one.id for one in names] if all(isinstance(one, ast.Name) for one in names) else []


def _chains(node: ast.AST, local: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """Yield names with their attributes, ``("models", "create")``, but for those bound inside."""
    if isinstance(node, ast.Attribute | ast.Name):
        attributes, base = [], node
        while isinstance(base, ast.Attribute):
            attributes.append(base.attr)
            base = base.value
        if not isinstance(base, ast.Name):
            yield from _chains(base, local)
        elif base.id not in local:
            yield (base.id, *reversed(attributes))
        return
    inside: list[ast.AST] = []
    if isinstance(node, _FUNCTIONS | ast.Lambda):
        body = node.body if isinstance(node.body, list) else [node.body]
        bound = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        inside, local_inside = body, local | bound | _bound(body)
    elif isinstance(node, _COMPREHENSIONS):
        inside = [*node.generators[1:], *node.generators[0].ifs]
        inside += [getattr(node, one) for one in ("elt", "key", "value") if hasattr(node, one)]
        local_inside = local | _bound([one.target for one in node.generators])
        yield from _chains(node.generators[0].iter, local)
    for one in inside:
        yield from _chains(one, local_inside)
    if isinstance(node, _COMPREHENSIONS):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "isinstance":  # a kind of thing, of which nothing is executed
            yield from _chains(node.args[0], local)
            return
    hint = getattr(node, "annotation", None)
    for one in ast.iter_child_nodes(node):
        if one not in inside and one is not hint:
            yield from _chains(one, local)


def _bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements bind, but for those of the functions inside them."""
    found, waiting = set(), list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _FUNCTIONS | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Global):
            found -= set(node.names)
        elif not isinstance(node, ast.Lambda | _COMPREHENSIONS):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            waiting += ast.iter_child_nodes(node)
    return found
