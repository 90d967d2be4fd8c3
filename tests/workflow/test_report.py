"""The page of one notebook: nothing in it that only the book would understand."""

import re
from pathlib import Path

import nbformat
import pytest
import report

from known_unknowns.auditing import sentences as words

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_page_of_the_audit_is_plain():
    """Numbers are in their places, and neither code nor the book's own words are left."""
    notebook = nbformat.read(ROOT / "notebooks/audit/audit.ipynb", as_version=4)
    texts = report.glued(notebook)
    html = report.page(notebook)
    assert texts["accuracy"] and f"{texts['accuracy']} %" in html
    assert not re.search(r"\{(glue|cite|doc|term|admonition)", html)
    assert "counted from 1" not in html and "Exercises" not in html
    assert "What this notebook reproduces" not in html
    assert "Out[" not in re.sub(r"<script.*?</script>|<style.*?</style>", "", html, flags=re.S)
    assert any("**overrides" in cell.source for cell in notebook.cells)  # which is code
    assert "**overrides" not in html and "image/png;base64" in html


def test_names_in_the_report_are_text():
    """Both those that a cell prints and those that it glues."""
    name = "m<img src=z onerror=alert(4)>.npz"
    glue = {"scrapbook": {"name": "source"}}
    kept = {"application/papermill.record/text/plain": repr(name)}
    shown = {"text/markdown": words.markdown(name)}
    outputs = [
        nbformat.v4.new_output("display_data", kept, metadata=glue),
        nbformat.v4.new_output("display_data", shown),
    ]
    cells = [
        nbformat.v4.new_markdown_cell("Audited was {glue:text}`source`."),
        nbformat.v4.new_code_cell("", outputs=outputs),
    ]
    html = report.page(nbformat.v4.new_notebook(cells=cells))
    assert html.count("m&lt;img src=z onerror=alert(4)&gt;.npz") == 2
    assert "<img src" not in html and "<img onerror" not in html


def test_a_notebook_that_was_not_executed_is_named(tmp_path):
    cells = [nbformat.v4.new_markdown_cell("Right on {glue:text}`accuracy` %.")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "a.ipynb")
    with pytest.raises(SystemExit, match=r"a\.ipynb: the notebook glues no 'accuracy': was it"):
        report.main([str(tmp_path / "a.ipynb")])
    assert not (tmp_path / "a.html").exists()


def test_boxes_and_roles_become_text():
    source = "```{admonition} What it is\n:class: note\nAs {cite:t}`guo2017` say.\n```\nEnd.\n"
    assert report.plain(source, {}) == "**What it is.**\n\nAs [guo2017] say.\n\nEnd.\n"


def test_what_is_no_notebook_is_refused_and_stays(tmp_path, capsys):
    """A notebook under the name of a page would be overwritten by its own page."""
    text = (ROOT / "notebooks/audit/audit.ipynb").read_text(encoding="utf-8")
    (tmp_path / "a.html").write_text(text, encoding="utf-8")
    for command in ([str(tmp_path / "a.html")], [str(tmp_path / "b.ipynb")], []):
        with pytest.raises(SystemExit, match=r"^2$"):
            report.main(command)
        assert "NOTEBOOK.ipynb" in capsys.readouterr().err
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == text
    with pytest.raises(SystemExit, match=r"^0$"):
        report.main(["--help"])
