"""A table has the same cells and marks in every language."""

import json
import re

import pandas as pd
import pytest

from helpers.papers import PAPERS
from helpers.tables.interactive import interactive
from helpers.tables.table import Table, categories, single

CELLS = pd.DataFrame([
    ("msp", "dtd_subset", "1.0 ± 0.1", "a1 a2", True),
    ("vim", "dtd_subset", "−2.0", "a3", False),
    ("msp", "near & far", "3 < 4", "", False),
    ("msp", "dtd_subset", "5", "a4", False),
], columns=["method", "set", "text", "rows", "bold"])  # fmt: skip


def table():
    cells = CELLS.assign(method=categories(CELLS["method"], {"vim": "ViM", "msp": "MSP"}))
    caption = "Scores ↑ of 5 % & more, <one>."
    return Table(cells, ["method"], ["set"], name="a table", caption=caption)


def test_an_html_table_is_escaped_and_names_its_rows():
    """Marked, escaped, without a colour; a cell names the rows behind it."""
    page = table().html()
    assert '<table id="T_a-table">' in page
    assert "<b>1.0 ±\N{NO-BREAK SPACE}0.1</b> | 5" in page
    assert "3 &lt; 4" in page
    assert "&lt;one&gt;" in page
    assert "dtd_<wbr>subset" in page
    assert not re.search(r"color|background|#[0-9a-f]{3}", page)
    cells = re.findall(r'title="rows ([^"]*)"[^>]*>(?:<\w+>)*([^<]*)', page)
    assert cells == [("a3", "−2.0"), ("a1 a2 a4", "1.0 ±\N{NO-BREAK SPACE}0.1")]


def test_lines_are_in_the_order_of_categories_and_numbers_of_a_cell_are_joined():
    """The columns come as they are; a missing number is a dash."""
    assert table().markdown().splitlines() == [
        "|  | dtd_subset | near & far |",
        "| --- | --- | --- |",
        "| ViM | −2.0 | – |",
        r"| MSP | **1.0 ± 0.1** \| 5 | 3 < 4 |",
    ]


@pytest.mark.parametrize("paper", ["unknown_detection", "openset_calibration", "gscore"])
def test_a_main_table_has_the_papers_number_in_the_next_cell(paper):
    """Before, a cell of the first two had up to four numbers: 80.1 ± 0.6 (74.4 ± 0.5; +3.8 σ)."""
    head, *rows = PAPERS[paper].headline().markdown().splitlines()
    assert "(ours) |" in head and "(" not in "".join(rows)


def test_several_values_are_refused_if_a_single_value_is_needed():
    assert single("part", CELLS.head(1), "method")["set"] == "dtd_subset"
    with pytest.raises(ValueError, match=r"part: several of method \(msp, vim\); choose one"):
        single("part", CELLS, "method")
    with pytest.raises(ValueError, match="part: empty"):
        single("part", CELLS.head(0), "method")


def test_an_interactive_table_is_complete_and_works_offline():
    """Its loader defines the module that the table awaits."""
    frame = pd.DataFrame({"score": ["msp", "<b>&"], "AUROC": [0.12345678, float("nan")]})
    page = interactive(frame, caption="AUROC").data
    assert not re.search(r"""(src|from|import\()\s*=?\s*["']https?:|<link|unpkg\.com""", page)
    (loaded,) = re.findall(r"window\.(\w+) \?\?=", page)
    assert f"await window.{loaded};" in page
    rows = json.loads(json.loads(re.search(r'"data_json": ("(?:[^"\\]|\\.)*")', page)[1]))
    assert rows == [["msp", 0.1235], ["&lt;b&gt;&amp;", "___NaN___"]]
    assert "19999" in interactive(pd.DataFrame({"number": range(20_000)})).data
