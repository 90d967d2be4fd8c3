"""Make one PDF of a rendered book: its pages in reading order, with an outline and inner links.

    python workflow/pdf.py --tier mini

A browser prints it, from the very pages that the book has: Chromium, which has to be installed.
Code that a page folds is left out, solutions that it hides are shown.
"""

from __future__ import annotations

import argparse
import os
import posixpath
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup

import book
from helpers.files import atomic_path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
MISSING = (
    "no browser to print with: install Chromium (Debian and Ubuntu: `apt-get install chromium`), "
    "or name one in the variable CHROMIUM"
)
LEFT_OUT = ("script", "style", "button", "a.headerlink", "details.hide", ".prev-next-area")
STYLE = """
@page { size: A4; margin: 18mm 16mm; @bottom-center { content: counter(page); font: 9pt serif } }
body { background: white; font-size: 10pt }
article { break-before: page; overflow: visible }
article:first-of-type { break-before: auto }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 8pt }
img, svg { max-width: 100%; height: auto }
table { font-size: 6.5pt; max-width: 100%; overflow-wrap: anywhere }
td, th { padding: 2px 4px !important }
figure, tr { break-inside: avoid }
/* no taller than a page with its caption, and no word of a table taken apart */
figure img, .cell_output img { max-height: 23cm; width: auto }
td strong { white-space: nowrap }
"""


def anchor(page: str, fragment: str = "") -> str:
    """Return the anchor of a page, or of a place in it, in the document of all pages.

    >>> anchor("book/intro.html"), anchor("book/intro.html", "summary")
    ('book-intro', 'book-intro--summary')
    """
    name = page.removesuffix(".html").replace("/", "-")
    return f"{name}--{fragment}" if fragment else name


def article(html: Path, page: str, pages: Sequence[str], source: str) -> str:
    """Return one page's text, with anchors that no other page has, and links to match.

    Parameters
    ----------
    html : Path
        Folder of the rendered book.
    page : str
        The page's path in it, with slashes.
    pages : sequence of str
        All pages of the document: links to others lead to `source`.
    source : str
        Address of the repository.
    """
    soup = BeautifulSoup((html / page).read_text(encoding="utf-8"), "html.parser")
    found = soup.find("article") or soup.body
    for selector in LEFT_OUT:
        for one in found.select(selector):
            one.decompose()
    for one in found.find_all("details"):
        one["open"] = ""
    folder = posixpath.dirname(page)
    for one in found.find_all(id=True):
        one["id"] = anchor(page, one["id"])
    for one in found.find_all(["a", "img"]):
        name = "href" if one.name == "a" else "src"
        parts = urlsplit(one.get(name) or "")
        if parts.scheme or parts.netloc or not one.get(name):
            continue
        target = posixpath.normpath(posixpath.join(folder, parts.path)) if parts.path else page
        if target in pages:
            one[name] = "#" + anchor(target, unquote(parts.fragment))
        else:
            one[name] = target if one.name == "img" else source
    found["id"] = anchor(page)
    return str(found)


def document(html: Path, pages: Sequence[str], *, title: str, source: str) -> str:
    """Return all pages as one HTML document, which lies in the folder of the book."""
    first = BeautifulSoup((html / pages[0]).read_text(encoding="utf-8"), "html.parser")
    styles = [
        posixpath.normpath(posixpath.join(posixpath.dirname(pages[0]), one["href"]))
        for one in first.find_all("link", rel="stylesheet")
    ]
    config = yaml.safe_load((book.ROOT / "_config.yml").read_text(encoding="utf-8"))
    mathjax = f"_static/{config['sphinx']['config']['mathjax_path']}"
    links = "".join(f'<link rel="stylesheet" href="{one}">\n' for one in styles)
    articles = "\n".join(article(html, page, pages, source) for page in pages)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f"{links}<style>{STYLE}</style>\n<script>window.MathJax = "
        '{options: {processHtmlClass: "tex2jax_process|mathjax_process|math|output_area"}}'
        f'</script>\n<script src="{mathjax}"></script></head>\n<body>\n{articles}\n</body></html>\n'
    )


def browser() -> str:
    """Return the browser to print with, or end with what to install."""
    names = [os.environ["CHROMIUM"]] if os.environ.get("CHROMIUM") else BROWSERS
    for name in names:
        if path := shutil.which(name):
            return path
    sys.exit(MISSING)


def print_pdf(page: Path, out: Path) -> None:
    """Have the browser print a page into a file, whole or not at all."""
    command = [
        browser(), "--headless", "--disable-gpu", "--no-pdf-header-footer",
        "--generate-pdf-document-outline", "--virtual-time-budget=120000",
        # an administrator's process has no sandbox of its own; the pages are ours
        *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
    ]  # fmt: skip
    with atomic_path(out) as temporary:
        done = subprocess.run(
            [*command, f"--print-to-pdf={temporary}", page.resolve().as_uri()],
            capture_output=True,
            text=True,
        )
        if done.returncode or not temporary.stat().st_size:
            sys.exit(f"{command[0]} printed nothing:\n{done.stderr[-2000:]}")


def main(command_line: list[str] | None = None) -> None:
    """Print the book of the tier that is asked for, and say where the PDF is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tier", default="mini")
    parser.add_argument("--pages", nargs="*", help="some pages only, such as book/intro")
    given = parser.parse_args(command_line)
    folder = book.ROOT / "runs" / given.tier / "book"
    html = folder / "_build" / "html"
    if not (html / "index.html").is_file():
        sys.exit(f"no book of tier {given.tier}; this makes it: make book TIER={given.tier}")
    browser()  # before the work
    listed = given.pages or book.toc_files(yaml.safe_load((folder / book.TOC).read_text()))
    config = yaml.safe_load((book.ROOT / "_config.yml").read_text(encoding="utf-8"))
    pages = [f"{one}.html" for one in listed]
    whole = html / "all_pages.html"
    try:
        text = document(html, pages, title=config["title"], source=config["repository"]["url"])
        whole.write_text(text, encoding="utf-8")
        out = folder.parent / "known_unknowns.pdf"
        print_pdf(whole, out)
    finally:
        whole.unlink(missing_ok=True)
    print(f"{out}, {out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
