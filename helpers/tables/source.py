"""The package's own lines, shown on a page."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from textwrap import dedent


class Source(str):
    """Lines of Python that a notebook shows highlighted, and a terminal as they are."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return f"```python\n{self}\n```"


def show_source(*things: Callable) -> Source:
    """Return the lines of functions, methods or classes, without their docstrings.

    Comments stay.  The page shows the code that runs, not a copy of it.

    >>> from helpers.scores.calibration import softmax
    >>> show_source(softmax).splitlines()[:2]
    ['# helpers.scores.calibration', 'def softmax(logits, temperature: float = 1.0) -> np.ndarray:']
    """
    texts = []
    for thing in things:
        code = _without_docstrings(dedent(inspect.getsource(thing)).rstrip())
        texts.append(f"# {thing.__module__}\n{code}")
    return Source("\n\n".join(texts))


def _without_docstrings(text: str) -> str:
    """Leave out the docstrings of a piece of Python, each with the empty line below it."""
    lines = text.splitlines()
    docstrings: set[int] = set()  # numbers of their lines, from 1
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if ast.get_docstring(node) is None or len(node.body) == 1:
            continue
        docstring = node.body[0]
        end = docstring.end_lineno or docstring.lineno
        docstrings.update(range(docstring.lineno, end + 1))
        if not lines[end].strip():
            docstrings.add(end + 1)
    code = (line for number, line in enumerate(lines, 1) if number not in docstrings)
    return "\n".join(code)
