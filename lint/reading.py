"""The committed texts, as the checks of this folder read them."""

import ast
import functools
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Folders with code, tests excepted.
ROOMS = ("helpers", "synthesis", "known_unknowns", "workflow", "pictures", "benchmarks")
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))
PROSE = sorted([*ROOT.glob("*.md"), *(ROOT / "book").glob("*.md"), *ROOT.glob("results/**/*.md")])


def cells(path: Path, kind: str) -> list[dict]:
    """Return the cells of one kind, their sources joined."""
    every = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for cell in every:
        cell["source"] = "".join(cell["source"])
        cell["tags"] = cell["metadata"].get("tags", [])
    return [cell for cell in every if cell["cell_type"] == kind]


def source(path: Path, kind: str = "code") -> str:
    """Return the text of a file, or of all cells of a notebook that have one kind."""
    if path.suffix == ".ipynb":
        return "\n\n".join(cell["source"] for cell in cells(path, kind))
    return path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    """Return the name of a file in the repository, for messages."""
    return path.relative_to(ROOT).as_posix()


@functools.cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a module, or of a notebook's code."""
    return ast.parse(source(path))


def python_files(*folders: str) -> list[Path]:
    """Return the modules of some folders."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
