from html.parser import HTMLParser

import pytest

from helpers.papers import PAPERS
from helpers.report.claims import Verdict
from helpers.report.ledger import ledger
from helpers.report.tables.ledger import ledger_html

TITLES = {name: paper.heading for name, paper in PAPERS.items()}


class Reader(HTMLParser):
    """Collect the text of a page, its links, and whether every element is closed."""

    def __init__(self, page):
        super().__init__()
        self.text, self.links, self.open = "", [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.links += [value for name, value in attrs if name == "href"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def found():
    return ledger(PAPERS, {}, ["mini"])


def test_every_claim_is_there_once_with_its_source_and_check(found):
    """And with a verdict and a line of each tier."""
    page = Reader(ledger_html(found, titles=TITLES))
    assert page.open == []
    claims = found.drop_duplicates(["paper", "claim"])
    for claim in claims.itertuples():
        assert page.text.count(claim.text) == 1
        assert f"{claim.source}. Supported if {claim.check}." in page.text
        assert not claim.needs or f" Needs {claim.needs}." in page.text
    assert page.text.count("mini: \N{EN DASH} no data") == len(claims)
    assert page.text.count("(no results of this tier)") == len(claims)


def test_numbers_stand_with_their_interval_margin_and_runs(found):
    """Of the effect that decides; and the note, and the link to the place in the book."""
    row = found.iloc[[0]].assign(
        verdict=Verdict.UNDECIDED, decided_by="AURC, a < b", effect=-0.0124, low=-0.02, high=0.004,
        relation="<", margin=-0.01, effects=8, runs=2, models="3 networks on 1 data set",
        caveat="one family of networks", note="one & two",
    )  # fmt: skip
    page = Reader(ledger_html(row, titles=TITLES))
    expected = (
        "mini: undecided. AURC, a < b: \N{MINUS SIGN}0.012 [\N{MINUS SIGN}0.020, +0.004], claimed <"
        " \N{MINUS SIGN}0.01, one of 8 effects; 2 runs of 3 networks on 1 data set; one family of"
        " networks (one & two)."
    )
    assert expected in page.text
    assert page.links == [
        "../../notebooks/unknown_detection/figures.html#the-paper-s-sentences"
    ]  # fmt: skip


def test_an_empty_ledger_is_refused(found):
    with pytest.raises(ValueError, match="found: empty"):
        ledger_html(found.iloc[:0], titles=TITLES)
