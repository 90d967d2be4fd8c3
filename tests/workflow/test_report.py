"""The page of one notebook: nothing in it that only the book would understand."""

import re
from pathlib import Path

import nbformat
import pytest
import report

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_page_of_the_audit_is_plain():
    """Numbers are in their places, and neither code nor the book's own words are left."""
    notebook = nbformat.read(ROOT / "notebooks/audit/audit.ipynb", as_version=4)
    texts = report.glued(notebook)
    html = report.page(notebook)
    assert texts["accuracy"] and f"{texts['accuracy']} %" in html
    assert not re.search(r"\{(glue|cite|doc|term|admonition)", html)
    assert "counted from 1" not in html and "Exercises" not in html
    assert "Out[" not in re.sub(r"<script.*?</script>|<style.*?</style>", "", html, flags=re.S)
    assert "check_parameters(globals())" not in html and "image/png;base64" in html


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
