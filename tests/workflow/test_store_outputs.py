"""The outputs that are stored in the notebooks are those of the execution, and nothing else."""

import io

import nbformat
import numpy as np
import pytest
import store_outputs
from PIL import Image


def notebook(*sources, outputs=()):
    """Return a notebook of code cells, the last of which has outputs."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[-1].outputs = list(outputs)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def test_outputs_come_over_without_the_injected_cell_and_the_error_stream():
    shown = nbformat.v4.new_output("execute_result", {"text/plain": "6"}, execution_count=3)
    texts = [("stdout", "a\n"), ("stderr", "12 %"), ("stdout", "b\n")]
    printed = [nbformat.v4.new_output("stream", name=name, text=text) for name, text in texts]
    executed = notebook("a = 1", "a = 2", "3 * a", outputs=[*printed, shown])
    executed.cells[1].metadata["tags"] = ["injected-parameters"]
    executed.cells[2].metadata["papermill"] = {"duration": 3}
    setup = executed.cells[0].metadata["mystnb"] = {"code_prompt_show": "Setup"}
    source = notebook("a = 1", "3 * a")
    source.cells[0].metadata["mystnb"] = setup
    stored = store_outputs.with_outputs(source, executed)
    assert [cell.execution_count for cell in stored.cells] == [1, 2]
    printed, output = stored.cells[1].outputs
    assert (printed.text, output.data, output.execution_count) == ("a\nb\n", shown.data, 2)
    assert [cell.metadata for cell in stored.cells] == [{"mystnb": setup}, {}]


def test_a_picture_with_fewer_colours_keeps_its_dots_per_inch():
    file = io.BytesIO()
    Image.new("RGBA", (300, 200), (0, 114, 178, 255)).save(file, "PNG", dpi=(96, 96))
    picture = Image.open(io.BytesIO(store_outputs.few_colours(file.getvalue())))
    assert picture.mode == "P" and round(picture.info["dpi"][0]) == 96


def test_a_photograph_has_the_pixels_that_the_page_shows_and_a_chart_twice_as_many():
    """With twice as many, the photographs of all notebooks would be five megabytes larger."""
    colours = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    photograph = Image.fromarray(colours).resize((600, 400), Image.Resampling.BICUBIC)
    chart = Image.new("RGB", (600, 400), "white")
    for picture, width in ((photograph, 300), (chart, 600)):
        picture.save(file := io.BytesIO(), "PNG")
        small = Image.open(io.BytesIO(store_outputs.few_colours(file.getvalue(), shown=300)))
        assert small.width == width


def test_a_notebook_that_was_changed_since_is_refused():
    with pytest.raises(ValueError, match="changed since it was executed"):
        store_outputs.with_outputs(notebook("4 * a"), notebook("3 * a"))
