"""The bibliography: each entry has an identifier and is cited; and how this project is cited."""

import re
from datetime import date

import pages
import yaml
from pybtex.database import parse_file

import helpers
from helpers import data
from helpers.metrics import records
from helpers.papers import PAPERS
from lint.reading import NOTEBOOKS, ROOMS, ROOT, source

ENTRIES = parse_file(str(ROOT / "book" / "references.bib")).entries
IDENTIFIERS = {
    "doi": r"10\.\d{4,9}/\S+",
    "eprint": r"\d{4}\.\d{4,5}",
    "url": r"https?://[\w.-]+(/\S*)?",
    "isbn": r"[\dX-]{10,17}",
}
WITHOUT_IDENTIFIER = {"nemenyi1963"}
WITHOUT_YEAR = {"stellarium"}


def test_an_entry_can_be_found():
    for key, entry in ENTRIES.items():
        fields = entry.fields
        given = {name: form for name, form in IDENTIFIERS.items() if name in fields}
        assert given or key in WITHOUT_IDENTIFIER, key
        assert all(re.fullmatch(form, fields[name]) for name, form in given.items()), key
        assert "eprint" not in fields or fields.get("archiveprefix") == "arXiv", key
        assert entry.persons.get("author"), key
        assert re.fullmatch(r"(19|20)\d\d", fields.get("year", "")) or key in WITHOUT_YEAR, key
    for field in ("title", *IDENTIFIERS):
        values = [entry.fields.get(field, key).lower() for key, entry in ENTRIES.items()]
        assert len(values) == len(set(values)), field


def test_every_entry_is_cited_and_every_citation_has_an_entry():
    """By its key, or by the first author and the year."""
    files = [path for folder in (*ROOMS, "book") for path in (ROOT / folder).rglob("*")]
    texts = [path.read_text("utf-8") for path in files if path.suffix in (".md", ".py", ".yaml")]
    for path in NOTEBOOKS:  # without their outputs
        texts += [source(path, "code"), source(path, "markdown")]
    text = "\n".join(texts)
    for key in ENTRIES.keys() - set(re.findall(r"\w+", text)):
        last = " ".join(ENTRIES[key].persons["author"][0].last_names)
        year = ENTRIES[key].fields.get("year", "-")
        assert re.search(rf"\b{re.escape(last)}\b(?:[^.\d]|\bal\.){{0,60}}{year}", text), key
    cited = {item.key for item in records.read()} | {card.citation_key for card in data.cards()}
    cited |= {info.key for each in pages.infos().values() for info in each}
    keys = ",".join(re.findall(r"\{cite:\w+\}`([^`{]+)`", text))
    cited |= set(keys.replace(" ", "").split(","))
    assert len(cited) > 10 and cited <= ENTRIES.keys()


def test_the_project_can_be_cited():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert citation["version"] == helpers.__version__ and citation["license"] == "MIT"
    holders = re.search(r"Copyright \(c\) (\d+) (.+)", (ROOT / "LICENSE").read_text())
    assert citation["authors"] == [{"name": holders[2]}]
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] == "[Unreleased]"
    assert headings[1] == f"[{helpers.__version__}] - {citation['date-released']}"
    assert type(citation["date-released"]) is date
    named = {work["title"]: work for work in citation["references"]}
    assert len(named) == len(PAPERS)
    for paper in PAPERS.values():
        entry = ENTRIES[paper.key]
        work = named[entry.fields["title"]]
        assert work["year"] == int(entry.fields["year"])
        last = [" ".join(person.last_names) for person in entry.persons["author"]]
        assert [person["family-names"] for person in work["authors"]] == last
        identifier = entry.fields.get("eprint") or entry.fields.get("doi")
        assert identifier in str([work.get("identifiers"), work.get("doi")]), paper.key
