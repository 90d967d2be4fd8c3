"""Which changes of the code the tests notice: a mutant that none kills shows a test that lacks.

    python -m trials.mutants                   # a sample of each module, for as long as it takes
    python -m trials.mutants --minutes 20      # goes on where the last run stopped

A mutant is a module with one change: a comparison, an operation, a number, a condition.  Each is
tried in a copy of this process, in which nothing of the package is imported yet, by the tests of
its module; the first that fails ends it.  (Of the tools that there are none draws a seeded sample
and tries it without an import of all packages for each.)
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import importlib.abc
import importlib.util
import io
import os
import random
import signal
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMON = ("tests/generated/test_generated_metrics.py",)
TESTS = {
    "helpers.metrics.guarantees": (
        "tests/metrics/test_guarantees.py", "tests/generated/test_generated_promises.py",
    ),
    "helpers.metrics.selective": ("tests/metrics/test_selective.py", *COMMON),
    "helpers.metrics.ranking": ("tests/metrics/test_ranking.py", *COMMON),
    "helpers.metrics.thresholds": ("tests/metrics/test_thresholds.py", *COMMON),
    "helpers.metrics.calibration": ("tests/metrics/test_calibration_metrics.py", *COMMON),
    "helpers.metrics.open_set": ("tests/metrics/test_open_set_metrics.py",),
    "helpers.metrics.bootstrap": ("tests/metrics/test_bootstrap.py", *COMMON),
    "helpers.metrics.weighted_ranking": ("tests/metrics/test_weighted_ranking.py", *COMMON),
    "helpers.metrics.detection": ("tests/metrics/test_detection_metrics.py",),
    "helpers.metrics.ranks": ("tests/metrics/test_ranks.py",),
    "helpers.metrics.inputs": ("tests/metrics/test_every_metric.py", "tests/test_findings.py"),
}  # fmt: skip
"""The modules, and the tests of each beside its own examples."""

SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
    ast.USub: ast.UAdd, ast.Invert: ast.UAdd,
}  # fmt: skip
NEEDED = ("hypothesis", "hypothesis.extra.numpy", "matplotlib.pyplot", "pandas", "pyarrow.parquet",
          "pytest", "scipy.special", "scipy.stats", "sklearn.metrics", "yaml")  # fmt: skip
"""What tests import, which is done once and in no child."""
SECONDS = 300
OUTCOMES = ("killed", "survived", "no end")


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what a node can be changed to, in words and as a new node."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if type(operator) in SWAPPED:
                new = copy.deepcopy(node)
                new.ops[place] = SWAPPED[type(operator)]()
                yield "comparison", new
    elif isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp) and type(node.op) in SWAPPED:
        new = copy.deepcopy(node)
        new.op = SWAPPED[type(node.op)]()
        yield "operation", new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "negation", copy.deepcopy(node.operand)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "truth value", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "number", ast.Constant(node.value + 1)
    elif isinstance(node, ast.If | ast.IfExp):
        for value in (True, False):
            new = copy.deepcopy(node)
            new.test = ast.Constant(value)
            yield "condition", new


def places(tree: ast.AST, path: tuple = ()) -> Iterator[tuple[tuple, ast.AST]]:
    """Yield every node that does something, with the way to it; no types, names or messages."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        if isinstance(tree, ast.Raise) or (isinstance(tree, ast.If) and _for_types(tree)):
            continue
        for number, one in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(one, ast.AST):
                way = (*path, (name, number if isinstance(value, list) else None))
                yield way, one
                yield from places(one, way)


def _for_types(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def mutants(source: str) -> list[tuple[int, str, str, tuple, ast.AST]]:
    """Return line, kind and text of every mutant of a source, where it is, and what is new there.

    >>> [one[:3] for one in mutants("def f(x: int = 1):\\n    return x < 2")]
    [(1, 'number', '1 -> 2'), (2, 'comparison', 'x < 2 -> x <= 2'), (2, 'number', '2 -> 3')]
    """
    found = []
    for way, node in places(ast.parse(source)):
        for kind, new in changes(node):
            texts = [ast.unparse(one).partition("\n")[0] for one in (node, new)]
            found.append((node.lineno, kind, " -> ".join(texts), way, new))
    return found


def mutated(source: str, way: tuple, new: ast.AST) -> ast.Module:
    """Return a source's tree with one node in the place of another."""
    tree = node = ast.parse(source)
    for name, number in way[:-1]:
        node = getattr(node, name) if number is None else getattr(node, name)[number]
    name, number = way[-1]
    old = getattr(node, name) if number is None else getattr(node, name)[number]
    ast.copy_location(new, old)
    if number is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[number] = new
    return ast.fix_missing_locations(tree)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a tree, and all others as ever."""

    def __init__(self, name: str, file: Path, tree: ast.Module):
        self.name, self.file, self.tree = name, file, tree

    def find_spec(self, name, path, target=None):
        if name == self.name:
            return importlib.util.spec_from_file_location(name, self.file, loader=self)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(self.tree, str(self.file), "exec"), module.__dict__)


def file_of(module: str) -> Path:
    """Return the file of a module."""
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


class First:
    """Has pytest ask a finder first: it would read the file itself, since that is to be tested."""

    def __init__(self, finder: Finder):
        self.finder = finder
        sys.meta_path.insert(0, finder)

    def pytest_sessionstart(self):
        sys.meta_path.remove(self.finder)
        sys.meta_path.insert(0, self.finder)


def survives(module: str, tree: ast.Module, tests) -> bool:
    """Run the tests of a module, mutated; in a child, in which it is not imported yet."""
    import pytest

    first = First(Finder(module, file_of(module), tree))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no"]
        own = str(file_of(module).relative_to(ROOT))  # its examples
        return pytest.main([*options, *tests, own], plugins=[first]) == 0


def tried(module: str, tree: ast.Module) -> tuple[str, float]:
    """Return what became of a mutant, and after how many seconds."""
    start, child = time.monotonic(), os.fork()
    if not child:
        code = 2
        try:
            code = 1 if survives(module, tree, TESTS[module]) else 0
        finally:
            os._exit(code)
    while time.monotonic() < start + SECONDS:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            # a mutant that cannot even be imported is killed, too
            survived = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 1
            return OUTCOMES[survived], time.monotonic() - start
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "no end", time.monotonic() - start


def sample(module: str, seed: int, count: int) -> list:
    """Return some of a module's mutants, the same for a seed, with their texts."""
    every = mutants(file_of(module).read_text(encoding="utf-8"))
    chosen = random.Random(f"{seed} {module}").sample(range(len(every)), min(count, len(every)))
    return [every[number] for number in chosen]


def main(command_line: list[str] | None = None) -> int:
    """Try a sample of each module's mutants, and write a row for each after it has been tried."""
    parser = argparse.ArgumentParser(prog="python -m trials.mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", type=int, default=25, help="mutants of each module")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="after which to stop")
    arguments = parser.parse_args(command_line)
    for name in NEEDED:
        importlib.import_module(name)
    import trials

    _forget_the_package()
    end = time.monotonic() + 60 * arguments.minutes
    before = trials.read("mutants")
    rows = [] if before is None else before.drop(columns="made_with").to_dict("records")
    state = {module: f"crc {zlib.crc32(file_of(module).read_bytes()):08x}" for module in TESTS}
    rows = [row for row in rows if state.get(row["module"]) == row["state"]]  # of the code as it is
    known = {(row["module"], row["line"], row["change"]) for row in rows}
    for module in TESTS:
        source = file_of(module).read_text(encoding="utf-8")
        for line, kind, change, way, new in sample(module, arguments.seed, arguments.sample):
            if (module, line, change) in known:
                continue
            if time.monotonic() > end:
                return 0
            outcome, seconds = tried(module, mutated(source, way, new))
            rows.append({"module": module, "line": line, "kind": kind, "change": change,
                         "outcome": outcome, "seconds": round(seconds, 1),
                         "state": state[module]})  # fmt: skip
            trials.write("mutants", rows)
            print(f"{module}:{line}: {change}: {outcome}", flush=True)
    return 0


def _forget_the_package() -> None:
    """Undo what importing `trials` has imported, so that each child imports its mutant."""
    for name in [one for one in sys.modules if one.split(".")[0] in ("helpers", "known_unknowns")]:
        del sys.modules[name]


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
