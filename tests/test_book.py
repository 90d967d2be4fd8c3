"""The book: its contents list exactly the pages that exist, it builds, and its links lead there."""

import re
import shutil
from pathlib import Path

import explore
import nbformat
import pages
import pytest
import yaml

import book
from helpers import data, scores
from helpers.metrics import records
from helpers.modules import ROOT
from helpers.networks import zoo_records
from pictures import FAMILIES
from synthesis import openings
from tests.mistakes import beside
from tests.workflow.test_store_outputs import notebook

LINKS = beside(__file__, "links.yaml")


@pytest.fixture
def runs(tmp_path):
    """Return a folder of runs with one executed notebook."""
    folder = tmp_path / "repository" / "runs" / "mini" / "openset_calibration"
    folder.mkdir(parents=True)
    title = nbformat.v4.new_markdown_cell("# Dataset\n\n$$\np_k = \\exp(z_k)\n$$\n")
    (first := notebook("1 + 1")).cells.insert(0, title)
    nbformat.write(first, folder / "dataset.ipynb")
    return folder.parent


def test_pages_are_made_from_every_record_and_listed():
    """The contents list exactly the pages that exist: about fifty, and no part of another page."""
    texts = pages.reference()
    titles = {
        "methods": [f"`{name}`. " for name in scores.names()],
        "metrics": [f"## {record.title}\n" for record in records.read()],
        "data_sets": [f"**{card.title}**, `{card.name}`: " for card in data.cards()],
    }
    titles["data_sets"] += [f"| `{name}` |" for name in zoo_records.records()]
    for page, expected in titles.items():
        assert expected and not [title for title in expected if title not in texts[page]]
    every = re.findall(r"automodule:: (.+)", "".join(texts.values()))
    assert len(every) == len(set(every)) and "helpers.papers.run" in every
    listed = sorted(book.parse_toc_data(book.contents()))
    sources = [*(ROOT / "book").rglob("*.md"), *(ROOT / "notebooks").rglob("*.ipynb")]
    there = {path.relative_to(ROOT).with_suffix("").as_posix() for path in sources}
    prose = "".join(path.read_text("utf-8") for path in (ROOT / "book").glob("*.md"))
    there -= {f"book/{name}" for name in re.findall(r"^```\{include\} (\w+)\.md$", prose, re.M)}
    assert len(listed) <= 52 and listed == sorted(there | {f"book/reference/{n}" for n in texts})


def test_the_contact_sheet_has_a_picture_and_an_area_of_each_available_set():
    tiles = pages.thumbnails()
    slices = {card.name: card.slice_of for card in data.cards() if card.slice_of}
    assert {*FAMILIES, *slices, *slices.values()} <= {*tiles}
    assert all(tile.startswith("data:image/webp;base64,") for tile in tiles.values())
    areas = pages.areas_of_sets()
    assert areas["road_potholes_mini"] == areas["road_potholes"] > areas["chess"] > 0.5


def test_the_table_of_methods_has_the_means_of_the_committed_results():
    measured = pages.measured_scores()
    assert measured["mahalanobis_pp"]["far"] > measured["msp"]["far"] > 50
    assert measured["msp"]["test"] < measured["mahalanobis_pp"]["test"] < 10
    assert "jacobian" not in measured
    assert f"| {measured['msp']['far']:.1f} |" in pages.reference()["methods"]


@pytest.fixture
def small_book(tmp_path, monkeypatch):
    """Return the root of a repository whose book has two pages, with this one's settings."""
    root = tmp_path / "repository"
    (root / "book" / "_static").mkdir(parents=True)
    files = ("book/extra", "book/reference/api", "notebooks/openset_calibration/dataset")
    toc = {"format": "jb-book", "root": "book/intro", "chapters": [{"file": f} for f in files]}
    opening = "```{include} reference/toy_found.txt\n```\n"
    shutil.copytree(ROOT / "book" / "_templates", root / "book" / "_templates")
    for name in ("_config.yml", "book/references.bib", "book/_static/book.css"):
        shutil.copy(ROOT / name, root / name)
    (root / "book/intro.md").write_text(f"# Intro\n\n{opening}\nTo the {{doc}}`next <extra>`.\n")
    (root / "book/extra.md").write_text("# Extra\n\n```{bibliography}\n:all:\n```\n")
    (root / book.TOC).write_text(yaml.safe_dump(toc))
    monkeypatch.setattr(book, "ROOT", root)
    monkeypatch.setattr(pages, "reference", lambda: {"api": "# API\n"})
    monkeypatch.setattr(pages, "reproducibility", lambda *arguments, **keywords: "made elsewhere")
    monkeypatch.setattr(openings, "judge", lambda runs, tier: (None, {}))
    monkeypatch.setattr(openings, "write", lambda *arguments: {"toy": "What was found of toys."})
    monkeypatch.setattr(explore, "write", dict)
    return root


def build(runs, *options):
    """Build a book, and return the folder of its pages."""
    book.main(["mini", *options])
    return runs / "book" / "_build" / "html"


def test_build(small_book, runs, capsys, tmp_path, monkeypatch):
    """A preview, a warning, and then the executed book in its place."""
    monkeypatch.setattr(book, "STORED", shutil.copytree(runs, tmp_path / "stored"))
    executed = runs / "openset_calibration" / "dataset.ipynb"
    now = nbformat.read(executed, 4)
    now.cells[1].outputs = [nbformat.v4.new_output("stream", text="what it says now")]
    nbformat.write(now, executed)
    html = build(runs, "--preview")
    page = html / "notebooks" / "openset_calibration" / "dataset.html"
    assert "what it says now" not in page.read_text()
    assert "A preview" in (html / "book/intro.html").read_text()

    # A warning is an error, and leaves the book of before ...
    toc = yaml.safe_load((small_book / book.TOC).read_text())
    (small_book / book.TOC).write_text(yaml.safe_dump(toc | {"chapters": toc["chapters"][1:]}))
    (small_book / "book" / "extra.md").unlink()
    with pytest.raises(SystemExit, match="not built"):
        build(runs)
    assert "unknown document: 'extra'" in capsys.readouterr().err
    assert (html / "book" / "extra.html").exists() and "what it says now" not in page.read_text()
    # ... but a page that lost its source is gone from the next build.
    intro = small_book / "book" / "intro.md"
    intro.write_text(intro.read_text().replace("To the {doc}`next <extra>`", "Nothing more"))
    build(runs)
    assert not (html / "book" / "extra.html").exists()
    assert "what it says now" in page.read_text()
    index = Path(capsys.readouterr().out.splitlines()[-1])
    assert index == html / "index.html" and "book/intro.html" in index.read_text()
    text = (html / "book" / "intro.html").read_text()
    assert "What was found of toys." in text and "A preview" not in text
    shown = re.findall(r'"og:(title|image)" content="(.*?)"', index.read_text())
    site = yaml.safe_load((ROOT / "_config.yml").read_text())["html"]["baseurl"]
    assert shown == [("title", "Intro"), ("image", f"{site}/_static/front.png")]

    links = re.findall(r'href="([^"]+)"', page.read_text())
    repository = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]
    slug, branch = repository["url"].removeprefix("https://github.com/"), repository["branch"]
    notebook = "notebooks/openset_calibration/dataset.ipynb"
    assert f"https://colab.research.google.com/github/{slug}/blob/{branch}/{notebook}" in links
    assert f"https://mybinder.org/v2/gh/{slug}/{branch}?urlpath=lab/tree/{notebook}" in links
    (download,) = (link for link in links if link.endswith(".ipynb") and "_sources" in link)
    assert (page.parent / download).read_bytes() == executed.read_bytes()


def test_a_missing_notebook_is_named_with_the_command_that_makes_it(small_book, runs):
    (runs / "openset_calibration" / "dataset.ipynb").unlink()
    with pytest.raises(SystemExit, match=r"dataset\.ipynb.*make run TIER=mini"):
        build(runs)
    assert not (runs / "book").exists()


def test_a_page_of_another_tier_names_its_tier(small_book, runs, tmp_path, monkeypatch):
    monkeypatch.setattr(book, "plan", lambda tier: {"openset_calibration/dataset": None})
    (tmp_path / "tree").mkdir()
    book.assemble(tmp_path / "tree", runs, "small")
    page = nbformat.read(tmp_path / "tree/notebooks/openset_calibration/dataset.ipynb", 4)
    start = "# Dataset\n\n```{admonition} Tier `small`\n"
    assert page.cells[0].source.startswith(start) and "$$" in page.cells[0].source


def test_no_line_ends_between_a_number_and_its_per_cent_sign():
    page = "<p>In 95 % of <strong>31.0</strong>\n%, 2 ± 1, <code>95 %</code>"
    expected = "<p>In 95&nbsp;% of <strong>31.0</strong>&nbsp;%, 2&nbsp;±&nbsp;1, <code>95 %</code>"
    assert book.with_units(page) == expected


@pytest.mark.parametrize("message", LINKS["added"])
def test_what_is_broken_is_named(tmp_path, message):
    added = LINKS["added"][message]
    for name, text in LINKS["pages"].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + added * (name == "book/intro.html"))
    problems = book.problems(tmp_path)
    assert len(problems) == bool(added) and message in "".join(problems)
