"""The outputs that are stored in the notebooks are those of the execution, and nothing else."""

import io

import nbformat
import numpy as np
import pandas as pd
import pytest
import store_outputs
from PIL import Image

from helpers.tables.interactive import interactive, with_scripts


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


def test_small_markers_of_a_chart_keep_their_colours():
    """Grey lines and letters take most of the pixels, and markers less than half a per cent."""
    chart = np.full((400, 600, 3), 255, np.uint8)
    chart[::40] = np.linspace(0, 255, 600)[:, None]
    markers = [(213, 94, 0), (222, 143, 5), (1, 115, 178), (128, 128, 128)]
    for number, colour in enumerate(markers):
        chart[5:9, 20 * number : 20 * number + 4] = colour
    Image.fromarray(chart).save(file := io.BytesIO(), "PNG")
    small = Image.open(io.BytesIO(store_outputs.few_colours(file.getvalue())))
    assert small.mode == "P"
    colours = np.asarray(small.convert("RGB"))[6, 1:80:20].astype(int)
    assert np.abs(colours - markers).max() <= 12


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


def test_a_stored_table_has_no_scripts_and_the_book_gets_them_back():
    """They are 0.28 MB, the same for each table of each notebook."""
    page = interactive(pd.DataFrame({"AUROC": [0.9]}), caption="a table").data
    executed = notebook(
        "table", outputs=[nbformat.v4.new_output("display_data", {"text/html": page})]
    )
    (output,) = store_outputs.with_outputs(notebook("table"), executed).cells[0].outputs
    assert len(output.data["text/html"]) < 10_000 < 250_000 < len(page)
    store_outputs.change_pages([output], with_scripts)
    assert output.data["text/html"] == page
