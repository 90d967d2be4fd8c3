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
    texts = [(thing.__module__, dedent(inspect.getsource(thing)).rstrip()) for thing in things]
    return Source("\n\n".join(f"# {name}\n{_without_docstrings(text)}" for name, text in texts))


def _without_docstrings(text: str) -> str:
    """Leave out the docstrings of a piece of Python, each with the empty line below it."""
    lines, left_out = text.splitlines(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if ast.get_docstring(node) is not None and len(node.body) > 1:
                first, end = node.body[0].lineno, node.body[0].end_lineno
                left_out |= {*range(first, end + 1 + (not lines[end].strip()))}
    kept = (line for number, line in enumerate(lines, 1) if number not in left_out)
    return "\n".join(kept)
