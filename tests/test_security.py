"""The page on security: each promise names tests that there are; and the list of licences."""

import re
from pathlib import Path

import licences

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "book" / "security.md").read_text(encoding="utf-8")


def missing(page: str) -> list[str]:
    """Return the tests that a page names and that are not there."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    return [
        f"{file}::{test}"
        for file, test in named
        if not (ROOT / file).is_file()
        or not re.search(rf"^def {test}\(", (ROOT / file).read_text(encoding="utf-8"), re.M)
    ]


def promises(page: str) -> list[str]:
    """Return the rows of the table of promises."""
    table = page.partition("## What is promised")[2].partition("\n## ")[0]
    return [line for line in table.splitlines() if line.startswith("| ")][2:]


def test_each_promise_names_a_test_that_there_is():
    rows = promises(PAGE)
    assert len(rows) > 10
    assert [row for row in rows if "::test_" not in row] == []
    assert missing(PAGE) == []


def test_a_promise_without_its_test_is_seen():
    other = PAGE.replace("::test_names_are_text`", "::test_names_are_anything`")
    assert missing(other) == [
        "tests/known_unknowns/auditing/test_report.py::test_names_are_anything"
    ]
    assert missing("`tests/test_nowhere.py::test_it`") == ["tests/test_nowhere.py::test_it"]
    bare = PAGE.replace("\n## What is not", "| Nothing ever breaks. | |\n\n## What is not")
    assert any("::test_" not in row for row in promises(bare))


def test_every_pinned_package_is_listed_with_its_licence():
    page = licences.page()
    rows = re.findall(r"^\| ([\w.-]+) \| ([^ ]+) \| ([^|]+) \|", page, re.M)
    pinned = licences.pinned(licences.LOCK.read_text(encoding="utf-8").splitlines())
    assert {row[0] for row in rows} - {"package", "---"} == set(pinned)
    stated = {name: text.strip() for name, _, text in rows}
    assert "BSD" in stated["numpy"] and "MIT" in stated["pytest"]
    unknown = [name for name, text in stated.items() if text in ("not stated", "")]
    assert len(unknown) < 0.05 * len(stated), unknown
