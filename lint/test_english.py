"""Plain English in prose, docstrings, messages and names; spelling is for codespell, too."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lint.reading import NOTEBOOKS, PROSE, ROOMS, ROOT, name_of, python_files, source, tree

ENGLISH = yaml.safe_load((ROOT / "lint/english.yaml").read_text("utf-8"))
PATTERNS = {name: re.compile(pattern, re.M) for name, pattern in ENGLISH["patterns"].items()}
BRITISH = re.compile(rf"\b({'|'.join(ENGLISH['british'])})")
CODE = python_files(*ROOMS)
TESTS = python_files("tests", "lint")
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_CODE_BLOCK = re.compile(r"^\s*(`{3,}).*?^\s*\1$|\$\$.*?\$\$|^\s*(\||#|:).*?$", re.S | re.M)
_CODE_WORD = re.compile(r"(\{[a-z:]+\})?`+[^`]*`+|\]\([^)]*\)|https?://\S+|<[^>]+>")
_SECTION = re.compile(r"^ *-{3,}$|^.* : .*$|^ *>>> (.+\n)*|^ *\w+Error$", re.M)


def words_only(markdown: str) -> str:
    """Return a text without code, tables, headings and addresses."""
    return _CODE_WORD.sub(" ", _CODE_BLOCK.sub("", markdown))


def docstrings(path: Path) -> Iterator[str]:
    """Yield the docstrings of a module, without types and examples."""
    for node in ast.walk(tree(path)):
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
            yield _SECTION.sub("", text)


def messages(path: Path) -> Iterator[str]:
    """Yield the texts of exceptions; a value counts as one word."""
    for node in ast.walk(tree(path)):
        is_exit = isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.exit"
        if isinstance(node, ast.Raise) or is_exit:
            constants = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            yield "X".join(text for text in constants if isinstance(text, str))


def comments(path: Path) -> Iterator[str]:
    """Yield the comments of a module."""
    for token in tokenize.generate_tokens(io.StringIO(source(path)).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("#: ")


def templates() -> Iterator[str]:
    """Yield the templates of reports and pages; an expression counts as one word."""
    for folder in ROOMS:
        for path in sorted((ROOT / folder).rglob("templates/*.*")):
            text = re.sub(r"(?s)\{#.*?#\}|\{%.*?%\}|<(style|script).*?</\1>", "", source(path))
            yield words_only(re.sub(r"(?s)\{\{.*?\}\}", "X", text))


def names_of_tests(path: Path) -> Iterator[str]:
    """Yield the names of tests, as sentences."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name.removeprefix("test_").replace("_", " ")


def texts(kind: str) -> list[str]:
    """Return all texts of one kind."""
    if kind == "prose":
        return [words_only(source(path)) for path in PROSE]
    if kind == "notebooks":
        return [words_only(source(path, "markdown")) for path in NOTEBOOKS]
    if kind == "templates":
        return [*templates()]
    if kind == "tests":
        return [text for path in TESTS for text in (*names_of_tests(path), *docstrings(path))]
    read = {"docstrings": docstrings, "messages": messages, "comments": comments}[kind]
    return [text for path in CODE for text in read(path)]


@pytest.mark.parametrize("kind", ENGLISH["hits"])
def test_hard_english_is_rare(kind):
    """The message has the most frequent patterns with an example of each."""
    every = texts(kind)
    words = sum(len(text.split()) for text in every)
    hits = {
        name: [match[0] for text in every for match in pattern.finditer(text)]
        for name, pattern in PATTERNS.items()
    }
    total = sum(map(len, hits.values()))
    frequent = sorted(hits, key=lambda name: -len(hits[name]))[:4]
    shown = {name: (len(hits[name]), hits[name][:3]) for name in frequent if hits[name]}
    allowed = ENGLISH["hits"][kind]
    assert words > 1000
    assert 1000 * total <= allowed * words, f"{1000 * total / words:.1f}, not {allowed}: {shown}"
    old = hits["words out of use"]
    assert 1000 * len(old) <= ENGLISH["old words"][kind] * words, old


@pytest.mark.parametrize(("text", "pattern"), ENGLISH["examples"].items())
def test_patterns_find_hard_english_only(text, pattern):
    hit = [name for name in PATTERNS if PATTERNS[name].search(text)]
    assert hit == ([pattern] if pattern else [])


def test_spelling_is_british():
    """In prose and docstrings; names of libraries' functions are code."""
    every = {name_of(path): words_only(source(path)) for path in PROSE}
    every |= {name_of(path): words_only(source(path, "markdown")) for path in NOTEBOOKS}
    for path in CODE:
        every[name_of(path)] = _CODE_WORD.sub(" ", "\n".join(docstrings(path)))
    hits = {name: BRITISH.findall(text) for name, text in every.items()}
    assert not {name: words for name, words in hits.items() if words}


def test_codespell_finds_no_mistake():
    """In prose, docstrings, comments and messages; its settings are in `pyproject.toml`."""
    every = [text for kind in ENGLISH["hits"] for text in texts(kind) if kind != "tests"]
    command = [sys.executable, "-m", "codespell_lib", "-"]
    done = subprocess.run(command, input="\n".join(every), capture_output=True, text=True, cwd=ROOT)
    assert not done.stderr and not done.returncode, done.stdout + done.stderr


def bound_names(path: Path) -> Iterator[str | None]:
    """Yield the names of variables, parameters, attributes and functions that code defines."""
    for node in ast.walk(tree(path)):
        if not isinstance(getattr(node, "ctx", None), ast.Load):
            yield from map(vars(node).get, ("id", "arg", "attr", "name"))


@pytest.mark.parametrize("files", ENGLISH["bound"])
def test_names_state_their_content(files):
    every = [name for path in ROOT.glob(files) for name in bound_names(path)]
    bad = [name for name in every if name in ENGLISH["names"]]
    assert every and len(bad) <= ENGLISH["bound"][files], bad
