"""Store in the repository's notebooks the outputs of their last execution by the pipeline.

    python workflow/store_outputs.py

Times, progress bars and the error stream are left out, so that a review shows real changes.
Figures get a palette, which makes their files a third as large.
"""

import argparse
import base64
import io
import shutil
import sys
from collections.abc import Callable

import nbformat
import numpy as np
from kernels import INJECTED
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from nbformat import NotebookNode
from PIL import Image, ImageChops
from step import ROOT

from helpers.files import atomic_path
from helpers.tables.interactive import without_scripts

RUNS = ROOT / "runs" / "mini"
# of 255 levels of a colour; share of the pixels
_VISIBLE = 12
_FEW = 0.005
_SLIGHT = 7  # levels on average


def main() -> None:
    """Refresh all notebooks."""
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        executed = RUNS / path.relative_to(ROOT / "notebooks")
        try:
            stored = with_outputs(nbformat.read(path, 4), nbformat.read(executed, 4))
        except (FileNotFoundError, ValueError) as error:
            sys.exit(f"{path.relative_to(ROOT)}: {error}; first: make run")
        with atomic_path(path) as temporary:
            nbformat.write(stored, temporary)
            # the cells are unchanged, so nothing must be executed again
            shutil.copystat(path, temporary)


def with_outputs(notebook: NotebookNode, executed: NotebookNode) -> NotebookNode:
    """Return a notebook with the outputs of its execution."""
    cells = [cell for cell in executed.cells if INJECTED not in cell.metadata.get("tags", [])]
    if [cell.source for cell in notebook.cells] != [cell.source for cell in cells]:
        raise ValueError("its cells have changed since it was executed")
    number = 0
    for cell, done in zip(notebook.cells, cells, strict=True):
        kept = ("tags", "mystnb")  # how the book shows the cell
        cell.metadata = {name: cell.metadata[name] for name in kept if name in cell.metadata}
        if cell.cell_type == "code":
            number += 1
            cell.outputs = [out for out in done.outputs if out.get("name") != "stderr"]
            for counted in (each for each in (cell, *cell.outputs) if "execution_count" in each):
                counted.execution_count = number
            reduce_pictures(cell.outputs)
            change_pages(cell.outputs, without_scripts)
    kernel = notebook.metadata["kernelspec"]
    notebook.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return CoalesceStreamsPreprocessor().preprocess(notebook, {})[0]


def change_pages(outputs: list[NotebookNode], change: Callable[[str], str]) -> None:
    """Change the HTML of a cell: the scripts of tables are large, and the same in all notebooks."""
    for output in outputs:
        if page := output.get("data", {}).get("text/html"):
            output.data["text/html"] = change(page)


def reduce_pictures(outputs: list[NotebookNode]) -> None:
    """Give the pictures of a cell few colours."""
    for output in outputs:
        if picture := output.get("data", {}).get("image/png"):
            shown = output.metadata.get("image/png", {}).get("width")
            small = few_colours(base64.b64decode(picture), shown)
            output.data["image/png"] = base64.b64encode(small).decode() + "\n"


def few_colours(png: bytes, shown: int | None = None) -> bytes:
    """Return a picture with a palette, or unchanged if that is visible.

    Lines, letters and areas need few colours, and keep their resolution.  Photographs may change a
    little.  If the page shows them `shown` pixels wide, they have no more pixels.
    """
    picture: Image.Image = Image.open(io.BytesIO(png))
    opaque = picture.convert("RGBA").getchannel("A").getextrema() == (255, 255)
    if picture.mode not in ("RGB", "RGBA") or not opaque:
        return png
    dots = picture.info.get("dpi")
    picture = picture.convert("RGB")
    sample = picture.resize([size // 4 + 1 for size in picture.size], Image.Resampling.NEAREST)
    for colours in (16, 32, 64, 256):
        # colours that are too few for a sixteenth of the pixels are too few for all
        if _share_changed(sample, _with_frequent(sample, colours)) > 4 * _FEW:
            continue
        few = _with_frequent(picture, colours)
        if _share_changed(picture, few) <= _FEW:
            break
    else:
        if shown and shown < picture.width:
            picture = picture.reduce(picture.width // shown)
        few = picture.quantize(256, dither=Image.Dither.NONE)
        if _changes(picture, few).mean() > _SLIGHT:
            few = picture
    few.save(file := io.BytesIO(), "PNG", optimize=True, dpi=dots)
    return min(file.getvalue(), png, key=len)


def _with_frequent(picture: Image.Image, colours: int) -> Image.Image:
    """Return a picture with a palette of its most frequent colours that differ visibly.

    A small marker keeps its colour, since a bright colour counts more often than a grey one.
    """

    def weight(pair: tuple) -> int:
        count, colour = pair
        return count * (10 + max(colour) - min(colour))

    palette = np.empty((0, 3), int)
    counted: list = picture.getcolors(picture.width * picture.height) or []
    for _, colour in sorted(counted, key=weight, reverse=True):
        if (np.abs(palette - colour).max(axis=1) > _VISIBLE).all():
            palette = np.vstack([palette, colour])
        if len(palette) == colours:
            break
    holder = Image.new("P", (1, 1))
    holder.putpalette(palette.astype(np.uint8).tobytes())
    return picture.quantize(palette=holder, dither=Image.Dither.NONE)


def _share_changed(picture: Image.Image, few: Image.Image) -> float:
    """Return the share of the pixels that another palette changes visibly."""
    return (_changes(picture, few) > _VISIBLE).mean()


def _changes(picture: Image.Image, few: Image.Image) -> np.ndarray:
    """Return the largest change of each pixel by another palette, in levels of a colour."""
    return np.asarray(ImageChops.difference(picture, few.convert("RGB"))).max(axis=2)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
