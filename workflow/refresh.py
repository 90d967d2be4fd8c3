"""Store in the repository's notebooks the outputs of their last execution by the pipeline.

    python workflow/refresh.py                    all of them
    python workflow/refresh.py notebooks/X/Y.ipynb

What changes from one execution to the next without meaning anything (times, progress bars,
warnings on the error stream) is left out, so that a review shows what has really changed.
Figures keep their look in a third of the bytes.
"""

import base64
import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import nbformat
import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "runs" / "mini"
_VISIBLE, _FEW = 12, 0.005  # of 255 levels of a colour; share of the pixels


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
        kept = ("tags", "mystnb")  # how the book shows the cell
        cell.metadata = {name: cell.metadata[name] for name in kept if name in cell.metadata}
        if cell.cell_type == "code":
            number += 1
            cell.outputs = whole_streams(one for one in done.outputs if one.get("name") != "stderr")
            for one in [cell, *(one for one in cell.outputs if "execution_count" in one)]:
                one.execution_count = number
            reduce_pictures(cell.outputs)
    notebook.metadata = {
        "kernelspec": notebook.metadata["kernelspec"],
        "language_info": {"name": "python"},
    }
    return notebook


def reduce_pictures(outputs: Iterable[nbformat.NotebookNode]) -> None:
    """Give the pictures of a cell few colours, which makes their files a third as large."""
    for output in outputs:
        if picture := output.get("data", {}).get("image/png"):
            small = few_colours(base64.b64decode(picture))
            output.data["image/png"] = base64.b64encode(small).decode() + "\n"


def few_colours(png: bytes) -> bytes:
    """Return a picture with a palette, where that shows at hardly a pixel, and else as it is.

    Lines, letters and areas need few colours; what holds photographs stays untouched.  The file
    keeps its dots per inch, of which the size of its letters follows.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> Image.new("RGBA", (300, 200), (0, 114, 178, 255)).save(file, "PNG")
    >>> Image.open(io.BytesIO(few_colours(file.getvalue()))).getpixel((0, 0)) in range(256)
    True
    """
    picture = Image.open(io.BytesIO(png))
    if picture.mode not in ("RGB", "RGBA") or np.asarray(picture)[..., 3:].min(initial=255) < 255:
        return png
    plain = picture.convert("RGB")
    for colours in (64, 256):
        few = plain.quantize(colours, dither=Image.Dither.NONE)
        changed = np.abs(np.asarray(plain, int) - np.asarray(few.convert("RGB"), int)).max(axis=2)
        if (changed > _VISIBLE).mean() <= _FEW:
            file = io.BytesIO()
            few.save(file, "PNG", optimize=True, dpi=picture.info.get("dpi"))
            return min(file.getvalue(), png, key=len)
    return png


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
