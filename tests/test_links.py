"""The check of a rendered book's links finds what is broken, and only that."""

import links
import pytest

PAGES = {
    "index.html": '<a href="book/intro.html">in</a>',
    "book/intro.html": (
        '<h1 id="intro">Intro</h1><a href="#intro">top</a><a href="#">top</a>'
        '<a href="../notebooks/one%20two.html#a-title">there</a>'
        '<a href="https://example.org/nowhere#else">outside</a><a href="mailto:a@b.c">write</a>'
        '<img src="../_images/one.png"><img src="data:image/png;base64,AAAA">'
        '<link rel="stylesheet" href="../_static/book.css?v=1">'
        '<script src="../_static/a.js"></script>'
    ),
    "notebooks/one two.html": '<h2 id="a-title">A title</h2><a href="../book/intro.html">back</a>',
    "_static/template.html": '<a href="{{ pathto(1) }}">the theme fills this in</a>',
    "_images/one.png": 1000 * "x",
    "_static/book.css": 30 * "x",
    "_static/a.js": 70 * "x",
}


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("", ""),
        ('<a href="missing.html">x</a>', "leads nowhere: book/intro.html: missing.html"),
        ('<a href="#missing">x</a>', "#missing (no such anchor)"),
        ('<a href="../notebooks/one two.html#b">x</a>', "one two.html#b (no such anchor)"),
        ('<img src="../_images/two.png">', "leads nowhere: book/intro.html: ../_images/two.png"),
        ('<script src="https://cdn.example/m.js"></script>', "is fetched from elsewhere"),
        ('<link rel="stylesheet" href="//cdn.example/m.css"/>', "link //cdn.example/m.css"),
        ('<img src="https://example.org/badge.svg">', "img https://example.org/badge.svg"),
        ("<code>PosixPath('/srv/packs')</code>", "a path of this machine: book/intro.html"),
    ],
)
def test_what_is_broken_is_named(tmp_path, added, message):
    for name, text in PAGES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + added * (name == "book/intro.html"))
    problems = links.problems(tmp_path)
    assert len(problems) == bool(added) and message in "".join(problems)
