"""A table has the same cells and marks in every language."""

import html
import json
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from helpers.papers import PAPERS
from helpers.report.claims import Verdict
from helpers.report.ledger import ledger
from helpers.report.table import ABSENT, Table, categories, single
from helpers.report.tables.interactive import interactive
from helpers.report.tables.ledger import ledger_html

CELLS = pd.DataFrame(
    [
        ("msp", "dtd_subset", "1.0 ± 0.1", "a1 a2", True, False),
        ("vim", "dtd_subset", "−2.0", "a3", False, True),
        ("msp", "near & far", "3 < 4", "", False, False),
        ("msp", "dtd_subset", "5", "a4", False, False),
    ],
    columns=["method", "set", "text", "rows", "bold", "underlined"],
)


def table(**changes):
    cells = CELLS.assign(method=categories(CELLS["method"], {"vim": "ViM", "msp": "MSP"}))
    given = dict(name="a table", caption="Scores ↑ of 5 % & more, <one>.", data=CELLS)
    return Table(cells, ["method"], ["set"], **given | changes)


class Reader(HTMLParser):
    """Collect the cells of a page with what they show under the pointer."""

    def __init__(self, page):
        super().__init__()
        self.cells = {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if "title" in dict(attrs):
            self.title = dict(attrs)["title"]

    def handle_data(self, data):
        if getattr(self, "title", ""):
            self.cells.setdefault(self.title, data)


def test_lines_are_in_the_order_of_categories_and_numbers_of_a_cell_are_joined():
    """The columns come as they are; what is not there is a dash."""
    frame = table().frame()
    assert frame.index.tolist() == ["ViM", "MSP"]
    assert frame.columns.tolist() == ["dtd_subset", "near & far"]
    assert frame.to_numpy().tolist() == [["−2.0", ABSENT], ["1.0 ± 0.1 | 5", "3 < 4"]]
    assert table(separator="; ").frame().iloc[1, 0] == "1.0 ± 0.1; 5"


def test_the_page():
    """The same each time; marked, escaped, without a colour; a cell names the rows behind it."""
    page = table().html()
    assert page == table()._repr_html_()
    assert "<u>−2.0</u>" in page and "<b>1.0 ±\N{NO-BREAK SPACE}0.1</b> | 5" in page
    assert "3 &lt; 4" in page and "&lt;one&gt;" in page and "dtd_<wbr>subset" in page
    assert not re.search(r"color|background|#[0-9a-f]{3}", page)
    assert Reader(page).cells == {"rows a3": "−2.0", "rows a1 a2 a4": "1.0 ±\N{NO-BREAK SPACE}0.1"}
    head = 'class="index_name'
    assert head in table(named=True).html() and head not in page


def test_latex():
    """Plain ASCII with the rules of booktabs, the same marks, and a label of its own."""
    latex = table().latex()
    assert latex.isascii()
    assert latex.count(r"\toprule") == latex.count(r"\midrule") == latex.count(r"\bottomrule") == 1
    assert r"ViM & \underline{$-$2.0} & -- \\" in latex
    assert r"MSP & \textbf{1.0 $\pm$ 0.1} $\mid$ 5 & 3 < 4 \\" in latex
    assert r"\caption{Scores $\uparrow$ of 5 \% \& more" in latex
    assert r"\label{tab:a-table}" in latex


def test_markdown():
    assert table().markdown().splitlines() == [
        "|  | dtd_subset | near & far |",
        "| --- | --- | --- |",
        "| ViM | <u>−2.0</u> | – |",
        r"| MSP | **1.0 ± 0.1** \| 5 | 3 < 4 |",
    ]
    assert table(named=True).markdown().startswith("| method | dtd_subset |")


def test_files_are_written_as_their_names_end(tmp_path):
    """CSV has the numbers behind the table; another ending is refused."""
    for suffix in ("html", "tex", "csv", "md"):
        table().write(tmp_path / f"table.{suffix}")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "table.csv", keep_default_na=False), CELLS)
    assert (tmp_path / "table.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (tmp_path / "table.tex").read_text(encoding="utf-8") == table().latex()
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == table().markdown()
    with pytest.raises(ValueError, match=r"unknown kind of file '\.text'; did you mean '\.tex'"):
        table().write(tmp_path / "table.text")


def test_what_must_be_one_is_refused_where_it_is_several():
    assert single("part", CELLS.head(1), "method")["set"] == "dtd_subset"
    with pytest.raises(ValueError, match=r"part: several of method \(msp, vim\); choose one"):
        single("part", CELLS, "method")
    with pytest.raises(ValueError, match="part: empty"):
        single("part", CELLS.head(0), "method")


FRAME = pd.DataFrame(
    {"score": ["msp", "<b>&"], "set": ["near", "far"], "AUROC": [0.12345678, float("nan")]}
)


def test_an_interactive_table_is_whole_and_fetches_nothing():
    """Its loader defines the module that the table awaits; the same table gives the same page."""
    page = interactive(FRAME, caption="AUROC").data
    assert not re.search(r"""(src|from|import\()\s*=?\s*["']https?:|<link|unpkg\.com""", page)
    (loaded,) = re.findall(r"window\.(\w+) \?\?=", page)
    assert f"await window.{loaded};" in page
    data = re.search(r'"data_json": ("(?:[^"\\]|\\.)*")', page)[1]
    rows = json.loads(json.loads(data))
    assert rows == [["msp", "near", 0.1235], ["&lt;b&gt;&amp;", "far", "___NaN___"]]
    assert page == interactive(FRAME, caption="AUROC").data
    assert "19999" in interactive(pd.DataFrame({"number": range(20_000)})).data
    with pytest.raises(ValueError, match="frame: empty"):
        interactive(FRAME.head(0))
    with pytest.raises(ValueError, match="column set is twice"):
        interactive(FRAME.set_axis(["score", "set", "set"], axis=1))


def test_the_ledger_as_a_page_has_every_claim_and_the_deciding_effect():
    found = ledger(PAPERS, {}, ["mini"])
    titles = {name: paper.heading for name, paper in PAPERS.items()}
    page = html.unescape(ledger_html(found, titles=titles))
    for claim in found.drop_duplicates(["paper", "claim"]).itertuples():
        assert page.count(f"<summary>{claim.text}") == 1
    row = found.iloc[[0]].assign(
        verdict=Verdict.UNDECIDED, decided_by="AURC, a < b", effect=-0.0124, low=-0.02, high=0.004,
        relation="<", margin=-0.01, effects=8, runs=2, models="3 networks on 1 data set",
        caveat="one family of networks", note="one & two",
    )  # fmt: skip
    page = html.unescape(re.sub("<[^<>]+>", "", ledger_html(row, titles=titles)))
    assert (
        "mini: undecided. AURC, a < b: −0.012 [−0.020, +0.004], claimed < −0.01, one of 8 effects;"
        " 2 runs of 3 networks on 1 data set; one family of networks (one & two)."
    ) in page
    with pytest.raises(ValueError, match="found: empty"):
        ledger_html(found.iloc[:0], titles=titles)
