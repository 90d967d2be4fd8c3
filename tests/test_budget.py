"""The size of each package: code, docstrings, lines per file, and bytes. Limits only fall."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CODE = {
    "helpers": 12990,
    "helpers/data": 1965,  # the design allows 1,900
    "helpers/labelfree": 421,  # the design allows 430
    "helpers/metrics": 614,  # the design allows 600
    "helpers/networks": 1225,  # the design allows 1,100
    "helpers/papers": 4075,  # the design allows 4,500
    "helpers/report": 1598,  # the design allows 1,400
    "helpers/scores": 1292,  # the design allows 1,250
    "helpers/training": 1230,  # the design allows 1,150
    "known_unknowns": 4489,
    "workflow": 1789,  # the design allows 1,800
    "pictures": 967,
    "benchmarks": 398,  # the design allows 400
    "tests": 9462,
}
DOCSTRINGS = {"helpers": 5625}
#: Megabytes of the committed files in each folder.
MEGABYTES = {"helpers": 12, "known_unknowns": 9.2, "notebooks": 9.2, "results": 27.6}


def count(source: str) -> tuple[int, int]:
    """Return the numbers of code lines and docstring lines, without blank lines and comments.

    Of a text of several lines, blank lines and lines that begin with # do not count either.
    """
    docstrings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    lines = enumerate(map(str.strip, source.splitlines()), 1)
    code = {number for number, line in lines if line and not line.startswith("#")}
    return len(code - docstrings), len(docstrings)


def sizes(folder: str) -> tuple[int, int]:
    """Return the code lines and the docstring lines of all files in a folder."""
    counts = [count(file.read_text("utf-8")) for file in (ROOT / folder).rglob("*.py")]
    return sum(code for code, _ in counts), sum(docstrings for _, docstrings in counts)


@pytest.mark.parametrize("folder", CODE)
def test_a_package_keeps_its_budget(folder):
    code, docstrings = sizes(folder)
    assert code <= CODE[folder], f"{folder}: {code} code lines, and {CODE[folder]} are allowed"
    if folder in DOCSTRINGS:
        assert docstrings <= DOCSTRINGS[folder], f"{folder}: {docstrings} docstring lines"


def test_no_file_is_longer_than_400_lines():
    folders = [folder for folder in CODE if "/" not in folder]
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    lengths = {file.relative_to(ROOT): file.read_text("utf-8").count("\n") for file in files}
    assert {str(name): n for name, n in lengths.items() if n > 400} == {}


@pytest.mark.parametrize("folder", [folder for folder in CODE if "/" not in folder])
def test_few_lines_are_longer_than_95_characters(folder):
    files = (ROOT / folder).rglob("*.py")
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    assert sum(len(line) > 95 for line in lines) <= 0.05 * len(lines)


@pytest.mark.parametrize("folder", MEGABYTES)
def test_committed_files_keep_their_budget(folder):
    files = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files if "__pycache__" not in path.parts)
    assert size <= 1e6 * MEGABYTES[folder]
