"""The book as one PDF: its pages in one document, whose links stay inside; and the browser."""

import sys

import pdf
import pytest
import yaml

import book

HEAD = '<link rel="stylesheet" href="../_static/book.css">'
PAGES = {
    "book/intro.html": (
        f"<html><head>{HEAD}</head><body><nav>menu</nav><article><h1 id='summary'>Intro</h1>"
        '<a href="other.html#summary">there</a> <a href="#summary">here</a> '
        '<a href="https://example.org/">away</a> <a href="data.csv">a table</a>'
        '<img src="../_images/one.png"><script>alert(1)</script>'
        '<details class="hide above-input">folded code</details>'
        '<details class="sd-dropdown">a solution</details></article></body></html>'
    ),
    "book/other.html": (
        f"<html><head>{HEAD}</head><body><article><h1 id='summary'>Other</h1>"
        '<a class="headerlink" href="#summary">#</a></article></body></html>'
    ),
}


@pytest.fixture
def html(tmp_path, monkeypatch):
    """Return the folder of the pages of a made-up book."""
    (tmp_path / "_config.yml").write_bytes((book.ROOT / "_config.yml").read_bytes())
    monkeypatch.setattr(book, "ROOT", tmp_path)
    html = tmp_path / "runs" / "mini" / "book" / "_build" / "html"
    for name, text in PAGES.items():
        (html / name).parent.mkdir(parents=True, exist_ok=True)
        (html / name).write_text(text)
    (html / "index.html").touch()
    toc = {"format": "jb-book", "root": "book/intro", "chapters": [{"file": "book/other"}]}
    place = tmp_path / "runs" / "mini" / "book" / book.TOC
    place.parent.mkdir(parents=True)
    place.write_text(yaml.safe_dump(toc))
    return html


def test_links_stay_inside_and_anchors_are_of_one_page(html):
    text = pdf.document(html, list(PAGES), title="Two", source="https://example.org/repository")
    for part in (
        'href="#book-other--summary">there',
        'href="#book-intro--summary">here',
        'id="book-intro--summary"',
        'id="book-other--summary"',
        'href="https://example.org/">away',
        'href="https://example.org/repository">a table',
        'src="_images/one.png"',
        'href="_static/book.css"',
    ):
        assert text.count(part) == 1, part
    assert "a solution" in text and '<details class="sd-dropdown" open' in text
    for part in ("menu", "alert(1)", "folded code", "headerlink"):
        assert part not in text


def browser(folder, program: str):
    """Write a program that is called like a browser, and return its path."""
    path = folder / "browser"
    path.write_text(f"#!{sys.executable}\nimport sys\n{program}\n")
    path.chmod(0o755)
    return str(path)


def test_the_browser_prints_the_whole(html, tmp_path, monkeypatch, capsys):
    program = (
        "from pathlib import Path; from urllib.request import url2pathname\n"
        "page = Path(url2pathname(sys.argv[-1].removeprefix('file://')))\n"
        "out = next(one for one in sys.argv if one.startswith('--print-to-pdf='))\n"
        "Path(out.partition('=')[2]).write_text(page.read_text())\n"
    )
    monkeypatch.setenv("CHROMIUM", browser(tmp_path, program))
    pdf.main([])
    out = tmp_path / "runs" / "mini" / "known_unknowns.pdf"
    assert str(out) in capsys.readouterr().out
    printed = out.read_text()
    assert printed.index("Intro</h1>") < printed.index("Other</h1>")
    assert not list(html.glob("all_pages*"))


def test_what_fails_is_said_and_leaves_nothing(html, tmp_path, monkeypatch):
    monkeypatch.setenv("CHROMIUM", browser(tmp_path, "sys.exit('no fonts')"))
    with pytest.raises(SystemExit, match="printed nothing:\nno fonts"):
        pdf.main([])
    assert not list((tmp_path / "runs" / "mini").glob("*.pdf"))
    assert not list(html.glob("all_pages*"))
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    with pytest.raises(SystemExit, match="apt-get install chromium"):
        pdf.main([])
    (html / "index.html").unlink()
    with pytest.raises(SystemExit, match="make book TIER=mini"):
        pdf.main([])
