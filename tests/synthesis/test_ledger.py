"""The ledger of the committed tables: every verdict, the numbers behind it, and pages made of it.

If tables or claims change on purpose, write the file again (``python -m synthesis.ledger``) and
read the difference.
"""

import json
import re
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from docutils.nodes import make_id

from helpers.modules import ROOT
from helpers.papers import PAPERS, TIERS
from helpers.tables import results
from known_unknowns.bench import packs
from synthesis import front, openings, readme
from synthesis.effects import Verdict
from synthesis.findings import front_page
from synthesis.ledger import FILE, ledger, read, stored, write
from tests.synthesis.claim_tables import table_of


@pytest.fixture(scope="module")
def rows():
    return openings.judge("results", "mini")


def test_the_verdicts_on_committed_tables_are_as_before():
    """Every claim is judged again; the file has six digits of each number."""
    before = stored()
    tables = {pair: results.read(ROOT / "results" / pair[0] / f"{pair[1]}.parquet")
              for pair in product(TIERS, PAPERS)
              if (ROOT / "results" / pair[0] / f"{pair[1]}.parquet").exists()}  # fmt: skip
    now = ledger(PAPERS, tables, TIERS)
    pd.testing.assert_frame_equal(now, before, rtol=1e-5, check_dtype=False)


def test_a_ledger_of_other_tables_is_refused_and_stays_until_another_is_whole(
    tmp_path, monkeypatch
):
    (tmp_path / "results").mkdir()
    (tmp_path / FILE).write_text((ROOT / FILE).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr("synthesis.ledger.project_root", lambda: tmp_path)
    with pytest.raises(ValueError, match=r"python -m synthesis\.ledger"):
        stored()

    def fill_the_disk(path, text, encoding):
        path.write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_text", fill_the_disk)
    with pytest.raises(OSError, match="could not be written: no space left"):
        write()
    assert (tmp_path / FILE).read_bytes() == (ROOT / FILE).read_bytes()


def test_the_last_correction_of_each_verdict_has_the_verdict_of_today(rows):
    """A page of corrections once had two verdicts of one sentence at one tier."""
    page = (ROOT / "book" / "corrections.md").read_text(encoding="utf-8")
    verdicts = rows.set_index(["text", "tier"])["verdict"].map(str).to_dict()
    seen = set()
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        sentence = tuple(cells[1:3])
        if len(cells) != 6 or sentence not in verdicts or sentence in seen:
            continue  # a text, an older correction, or a sentence with other words today
        if sentence[1] == "mini":
            continue  # no committed tables
        seen.add(sentence)
        assert cells[4] == verdicts[sentence], line
    assert len(seen) > 10


def test_clearance_tells_on_which_side_of_the_margin_an_interval_lies(rows):
    """Beyond 1 it lies wholly on one side, below it holds the margin, or is near it."""
    others = rows["note"].map(str).str.contains("against|doubted|by the")
    clear = rows[(rows["models"] != "") & ~others]
    by_verdict = clear.groupby("verdict")["clearance"]
    assert by_verdict.min()[Verdict.SUPPORTED] > 1
    assert by_verdict.max().get(Verdict.CONTRADICTED, -2) < -1
    assert clear[clear["verdict"] == Verdict.UNDECIDED]["clearance"].abs().max() <= 1.5


def test_of_open_effects_the_one_with_the_most_contrary_reading_is_shown(rows):
    """By fresh thresholds, some scores are better than MSP on each network."""
    (row,) = rows.query("claim == 'consistent' and tier == 'pretrained'").itertuples()
    fresh = {reading.name: reading for reading in row.second}["fresh threshold"]
    assert row.verdict == Verdict.UNDECIDED and fresh.low > row.margin
    assert "by the fresh threshold it is contradicted" in str(row.note)


def test_tables_are_read_where_they_lie(tmp_path, monkeypatch):
    """The tier's own runs first, then committed tiers; another paper's table is refused."""
    monkeypatch.setattr("synthesis.ledger.project_root", lambda: tmp_path)
    paper, number = "openset_calibration", {"method": "closed-set", "metric": "ece", "value": 0.1}
    mini, small = (table_of([number], paper=paper, tier=tier) for tier in ("mini", "small"))
    results.write(mini, tmp_path / "runs" / "mini" / paper / "results.parquet")
    results.write(small, tmp_path / "results" / "small" / f"{paper}.parquet")
    tables = read(PAPERS, "runs/mini", ["small", "mini", "paper"])
    assert list(tables) == [("mini", paper), ("small", paper)]
    (tmp_path / "runs" / "mini" / paper).rename(tmp_path / "runs" / "mini" / "uimnet")
    with pytest.raises(ValueError, match="paper uimnet expected, got openset_calibration"):
        read(PAPERS, "runs/mini", [])


def test_links_lead_to_headings_of_the_notebooks(rows):
    """The notebook of figures of each chapter has the heading."""
    for notebook, name in {*rows[["notebook", "anchor"]].itertuples(index=False)}:
        cells = json.loads((ROOT / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
        lines = [line for c in cells if c["cell_type"] == "markdown" for line in c["source"]]
        assert name in {make_id(line.lstrip("# ")) for line in lines if line.startswith("#")}
    assert set(rows.query("paper == 'uimnet'")["anchor"]) == {"the-paper-s-conclusions"}


def test_the_readmes_are_up_to_date():
    """The README of the repository, and that of the committed results."""
    text = (readme.ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.filled(text) == text
    assert (readme.RESULTS / "README.md").read_text(encoding="utf-8") == readme.details()


def test_the_pictures_have_the_numbers_of_the_committed_data(tmp_path):
    stored, measured = front.stored(), front.accepted_shares(packs())
    assert (stored["networks"], stored["sets"]) == (measured["networks"], measured["sets"])
    for score, kinds in measured["accepted"].items():
        for kind, shares in kinds.items():
            assert stored["accepted"][score][kind] == pytest.approx(shares, abs=5e-4), kind
    front.write(stored | {"sets": 3}, tmp_path / "front.png")
    assert front.stored(tmp_path / "front.png") == stored | {"sets": 3}
    front_page.write(tmp_path)
    for file in tmp_path.glob("*.svg"):
        committed = (front_page.FOLDER / file.name).read_text("utf-8")
        assert words_of(committed) == words_of(file.read_text("utf-8")), file.name


def words_of(svg):
    """Return all texts of a picture."""
    texts = re.findall(r"<text[^>]*>(.*?)</text>", svg, re.S)
    assert len(texts) > 5
    return texts
