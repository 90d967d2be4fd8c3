"""The bibliography: each entry can be found, and is cited; and how this project is cited."""

import json
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
import yaml
from pybtex.database import Entry, parse_file, parse_string

import helpers

ROOT = Path(__file__).resolve().parent.parent
ENTRIES = parse_file(str(ROOT / "book" / "references.bib")).entries
IDENTIFIERS = {
    "doi": r"10\.\d{4,9}/\S+",
    "eprint": r"\d{4}\.\d{4,5}",
    "url": r"https?://[\w.-]+(/\S*)?",
    "isbn": r"[\dX-]{10,17}",
}
ON_PAPER = {"nemenyi1963"}
"""Printed without a DOI, and at no address that is known to stay."""
UNDATED = {"stellarium"}
"""Software that is cited as a whole."""
SOURCES = [
    path
    for folder in ("book", "helpers", "known_unknowns", "notebooks", "pictures", "workflow")
    for kind in ("md", "py", "yaml", "ipynb")
    for path in (ROOT / folder).rglob(f"*.{kind}")
]


def wrong_with(key: str, entry: Entry) -> list[str]:
    """Return what an entry of the bibliography lacks, or holds in another form."""
    found = [
        f"{field}: {entry.fields[field]}"
        for field, form in IDENTIFIERS.items()
        if field in entry.fields and not re.fullmatch(form, entry.fields[field])
    ]
    if not set(IDENTIFIERS) & {*map(str.lower, entry.fields)} and key not in ON_PAPER:
        found.append("no DOI, arXiv number, address or ISBN")
    if "eprint" in entry.fields and entry.fields.get("archiveprefix") != "arXiv":
        found.append("eprint without archiveprefix")
    if not entry.persons.get("author"):
        found.append("no author")
    if not re.fullmatch(r"(19|20)\d\d", entry.fields.get("year", "")) and key not in UNDATED:
        found.append("no year")
    return found


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_can_be_found(key):
    assert not wrong_with(key, ENTRIES[key])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("author = {A, B}, year = {2020}", "no DOI"),
        ("author = {A, B}, year = {2020}, doi = {https://doi.org/10.1000/182}", "doi: https"),
        ("author = {A, B}, year = {2020}, eprint = {2101.00001}", "archiveprefix"),
        ("year = {2020}, doi = {10.1000/182}", "no author"),
        ("author = {A, B}, year = {forthcoming}, doi = {10.1000/182}", "no year"),
    ],
)
def test_what_is_wrong_with_an_entry_is_seen(fields, message):
    entry = parse_string(f"@misc{{made_up, title = {{T}}, {fields}}}", "bibtex").entries["made_up"]
    (found,) = wrong_with("made_up", entry)
    assert message in found


def text_of(path: Path) -> str:
    """Return a file's text; of a notebook that of its cells, without their outputs."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text


def uncited(entries: Mapping[str, Entry], text: str) -> list[str]:
    """Return the entries of which a text has neither the key nor the first author and the year."""
    words, found = set(re.findall(r"\w+", text)), []
    for key in entries.keys() - words:
        last = " ".join(entries[key].persons["author"][0].last_names)
        year = entries[key].fields.get("year", "-")
        if not re.search(rf"\b{re.escape(last)}\b(?:[^.\d]|\bal\.){{0,60}}{year}", text):
            found.append(key)
    return sorted(found)


def test_every_entry_is_cited():
    assert uncited(ENTRIES, "\n".join(map(text_of, SOURCES))) == []


def test_a_citation_is_told_from_none():
    one = {"storey2004": ENTRIES["storey2004"]}
    for text in ("{cite:p}`storey2004`", "Storey, Taylor and\n    Siegmund 2004", "Storey (2004)"):
        assert uncited(one, text) == []
    for text in ("storey2004a", "Storey does. In 2004", "Storey, Taylor and Siegmund 2003"):
        assert uncited(one, text) == ["storey2004"]


def test_no_work_is_there_twice():
    for field in ("title", *IDENTIFIERS):
        there = [one.fields[field].lower() for one in ENTRIES.values() if field in one.fields]
        assert len(there) == len(set(there)), field


def wrong_with_citation(citation: dict) -> list[str]:
    """Return what keeps a file CITATION.cff from being one of version 1.2.0 of its format."""
    needed = {"cff-version": str, "message": str, "title": str, "authors": list}
    found = [name for name, kind in needed.items() if not isinstance(citation.get(name), kind)]
    if citation.get("cff-version") != "1.2.0":
        found.append("cff-version is not 1.2.0")
    if citation.get("type") not in ("software", "dataset"):
        found.append("type")
    if type(citation.get("date-released")) is not date:  # YAML reads YYYY-MM-DD as one
        found.append("date-released")
    works = [citation, *citation.get("references", [])]
    for number, work in enumerate(works):
        for author in work.get("authors", []):
            if not {"name", "family-names", "alias"} & set(author):
                found.append(f"an author of work {number}")
        for one in work.get("identifiers", []):
            if one.get("type") not in ("doi", "url", "swh", "other") or not one.get("value"):
                found.append(f"an identifier of work {number}")
        if number and not {"authors", "title", "type"} <= set(work):
            found.append(f"work {number}")
    return found


@pytest.fixture
def citation():
    """Return this project's CITATION.cff."""
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_project_can_be_cited(citation):
    assert not wrong_with_citation(citation)
    assert citation["version"] == helpers.__version__
    holders = re.search(r"Copyright \(c\) (\d+) (.+)", (ROOT / "LICENSE").read_text())
    assert citation["authors"] == [{"name": holders[2]}]
    assert citation["date-released"].year >= int(holders[1])
    assert citation["license"] == "MIT"


def test_the_papers_that_it_reproduces_are_named_as_in_the_bibliography(citation):
    from helpers.papers import PAPERS

    keys = [paper.key for paper in PAPERS.values() if getattr(paper, "key", "")]
    named = {work["title"]: work for work in citation["references"]}
    assert len(named) == len(keys) == 5
    for key in keys:
        work, entry = named[ENTRIES[key].fields["title"]], ENTRIES[key]
        assert work["year"] == int(entry.fields["year"])
        last = [" ".join(one.last_names) for one in entry.persons["author"]]
        assert [one["family-names"] for one in work["authors"]] == last
        values = [str(one["value"]) for one in work.get("identifiers", [])] + [work.get("doi")]
        own = entry.fields.get("eprint") or entry.fields.get("doi")
        assert any(own in value for value in values if value), key


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"authors": [{"email": "a@b.c"}]}, "an author of work 0"),
        ({"date-released": "soon"}, "date-released"),
        ({"cff-version": "1.1.0"}, "cff-version"),
        ({"references": [{"title": "T"}]}, "work 1"),
        ({"references": [{"title": "T", "type": "article", "authors": [],
                          "identifiers": [{"type": "isbn", "value": "1"}]}]}, "an identifier"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_citation_is_seen(citation, change, message):
    assert any(message in one for one in wrong_with_citation(citation | change))
