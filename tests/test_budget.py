"""The size of each part in tokens, and of the committed files in bytes. Limits only fall."""

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: Tokens of each part. Comments, docstrings and line breaks do not count, so that a statement costs
#: the same on one line as on three.
TOKENS = {
    "helpers": 134_000,
    "synthesis": 33_000,
    "known_unknowns": 46_000,
    "workflow": 20_500,
    "pictures": 16_600,
    "benchmarks": 6_000,
    "tests": 153_000,
}
#: Megabytes of the committed files in each folder.
MEGABYTES = {"helpers": 30, "known_unknowns": 9.3, "notebooks": 9.2, "results": 27.6}
_SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
#: Since Python 3.12, a formatted string is many tokens; we count it once, as before, at its end.
_START = getattr(tokenize, "FSTRING_START", None)
_END = getattr(tokenize, "FSTRING_END", None)


def tokens(source: str) -> int:
    """Return the number of names, numbers, strings and operators outside of docstrings.

    >>> tokens('x = 1; y = 2') - tokens('x = 1')
    4
    >>> tokens("print(f'{1 + 2} and {f(3)}')")
    4
    """
    docstrings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    total, nested = 0, 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        nested += (token.type == _START) - (token.type == _END)
        if token.type not in _SILENT and token.start[0] not in docstrings and not nested:
            total += 1
    return total


@pytest.mark.parametrize("folder", TOKENS)
def test_a_part_keeps_its_budget_of_tokens(folder):
    files = (ROOT / folder).rglob("*.py")
    total = sum(tokens(file.read_text("utf-8")) for file in files)
    assert total <= TOKENS[folder], f"{folder}: {total} tokens, and {TOKENS[folder]} are allowed"


@pytest.mark.parametrize("folder", MEGABYTES)
def test_committed_files_keep_their_budget(folder):
    files = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files if "__pycache__" not in path.parts)
    assert size <= 1e6 * MEGABYTES[folder]
