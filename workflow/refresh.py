"""Store in the repository's notebooks the outputs of their last execution by the pipeline.

    python workflow/refresh.py                    all of them
    python workflow/refresh.py notebooks/X/Y.ipynb

What changes from one execution to the next without meaning anything (times, progress bars,
warnings on the error stream) is left out, so that a review shows what has really changed.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "runs" / "mini"


def main() -> None:
    """Refresh the notebooks named on the command line, by default all."""
    named = [Path(name).resolve() for name in sys.argv[1:]]
    for path in named or sorted((ROOT / "notebooks").rglob("*.ipynb")):
        executed = RUNS / path.relative_to(ROOT / "notebooks")
        try:
            stored = with_outputs(nbformat.read(path, 4), nbformat.read(executed, 4))
        except (FileNotFoundError, ValueError) as error:
            sys.exit(f"{path.relative_to(ROOT)}: {error}; first: make run")
        before = path.stat()
        nbformat.write(stored, path)
        # its cells are the same: nothing is to be executed anew
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def with_outputs(
    notebook: nbformat.NotebookNode, executed: nbformat.NotebookNode
) -> nbformat.NotebookNode:
    """Return a notebook with the outputs that its cells had when they were executed.

    Raises
    ------
    ValueError
        Its cells are others than those that were executed.
    """
    given = "injected-parameters"  # the cell that papermill adds
    cells = [one for one in executed.cells if given not in one.metadata.get("tags", [])]
    if [one.source for one in notebook.cells] != [one.source for one in cells]:
        raise ValueError("its cells have changed since it was executed")
    number = 0
    for cell, done in zip(notebook.cells, cells, strict=True):
        cell.metadata = {"tags": cell.metadata["tags"]} if "tags" in cell.metadata else {}
        if cell.cell_type == "code":
            number += 1
            cell.outputs = whole_streams(one for one in done.outputs if one.get("name") != "stderr")
            for one in [cell, *(one for one in cell.outputs if "execution_count" in one)]:
                one.execution_count = number
    notebook.metadata = {
        "kernelspec": notebook.metadata["kernelspec"],
        "language_info": {"name": "python"},
    }
    return notebook


def whole_streams(outputs: Iterable[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Return outputs with texts as one that came in pieces, at moments that mean nothing."""
    found: list[nbformat.NotebookNode] = []
    for one in outputs:
        if found and one.output_type == found[-1].output_type == "stream":
            found[-1].text += one.text
        else:
            found.append(one)
    return found


if __name__ == "__main__":
    main()
