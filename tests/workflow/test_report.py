"""The page of one notebook: nothing in it that only the book would understand."""

import re
from pathlib import Path

import nbformat
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
