"""From an executed notebook to one HTML page that needs nothing beside it.

    python workflow/report.py report.ipynb          writes report.html

The prose of the notebooks is MyST, which the book understands and a plain converter does not:
numbers that a run has glued, citations, links to other pages.  Here each becomes plain text.
"""

import argparse
import re
import sys
from pathlib import Path

import nbformat
from nbconvert import HTMLExporter

from helpers.files import atomic_path
from known_unknowns.auditing.sentences import plain_text

_ROLE = re.compile(r"\{(glue:text|cite:p|cite:t|doc|term)\}`([^`]+)`")
# What a chapter's card says of its paper; a report is about somebody's model.
_CARD = re.compile(r"^```\{admonition\} What this notebook reproduces\n(?:.*\n)*?```$", re.M)
_BOX = re.compile(r"^```\{(?:admonition|note|tip|warning)\}(.*)\n(?::.*\n)*((?:.*\n)*?)```$", re.M)


def glued(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Return the texts that the cells of a notebook have glued, by their names."""
    return {
        one["metadata"]["scrapbook"]["name"]: next(
            text.strip("'") for kind, text in one["data"].items() if kind.endswith("text/plain")
        )
        for cell in notebook.cells
        for one in cell.get("outputs", [])
        if "scrapbook" in one.get("metadata", {})
    }


def plain(source: str, texts: dict[str, str]) -> str:
    """Return a cell's prose without what only the book understands.

    Examples
    --------
    >>> plain("An ECE of {glue:text}`ece` {cite:p}`guo2017`, see {doc}`below <x>`.", {"ece": "0.1"})
    'An ECE of 0.1 [guo2017], see below.'
    """

    def text(role: re.Match) -> str:
        kind, content = role.groups()
        if kind == "glue:text":
            if content not in texts:
                raise ValueError(f"the notebook glues no '{content}': was it executed to its end?")
            return plain_text(texts[content])
        return f"[{content}]" if kind.startswith("cite") else content.partition(" <")[0]

    boxed = _BOX.sub(lambda box: f"**{box[1].strip()}.**\n\n{box[2]}", source)
    return _ROLE.sub(text, boxed)


def page(notebook: nbformat.NotebookNode) -> str:
    """Return a notebook's prose and outputs as HTML: no code, no progress bars.

    Cells tagged ``remove-report``, the card and the exercises are the book's alone.
    """
    texts = glued(notebook)
    away = {"remove-cell", "remove-report"}
    kept = [cell for cell in notebook.cells if not away & {*cell.metadata.get("tags", [])}]
    for cell in kept:
        if cell.cell_type == "markdown":
            cell.source = plain(_CARD.sub("", cell.source).partition("\n## Exercises")[0], texts)
        elif cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    notebook.cells = kept
    exporter = HTMLExporter(exclude_input=True, exclude_output_prompt=True)
    return exporter.from_notebook_node(notebook)[0]


def main(command_line: list[str] | None = None) -> None:
    """Write a page beside each notebook named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK.ipynb")
    paths = parser.parse_args(command_line).notebooks
    for path in paths:
        if path.suffix != ".ipynb" or not path.is_file():
            parser.error(f"{path}: an executed notebook, a file NAME.ipynb, expected")
    for path in paths:
        try:
            html = page(nbformat.read(path, as_version=4))
        except ValueError as error:
            sys.exit(f"{path}: {error}")
        with atomic_path(path.with_suffix(".html")) as temporary:
            temporary.write_text(html, encoding="utf-8")
        print(path.with_suffix(".html"))


if __name__ == "__main__":
    main()
