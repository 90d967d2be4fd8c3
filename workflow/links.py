"""Check the pages of a rendered book: every link leads somewhere, nothing is fetched or told.

    python workflow/links.py runs/mini/book/_build/html

`workflow/book.py` does it at the end of every build.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

ADDRESSES = ("href", "src", "poster", "data")
HEAVIEST = 2_000_000
"""Bytes of a page and its pictures, without what all pages share, such as the theme's scripts."""


_PATH = re.compile(r"(?:Posix|Windows)Path\(")  # as Python shows one, of whoever built the book


class _Page(HTMLParser):
    """What a page can be linked to at, what it links to, and what is loaded with it."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.loaded: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {given.get("id") or ""}
        if tag == "a":
            self.anchors |= {given.get("name") or ""}
        for name in ADDRESSES:
            if not (address := given.get(name)):
                continue
            loads = tag not in ("a", "area", "link", "form") or (
                "stylesheet" in (given.get("rel") or "").split()
            )
            if loads and not address.startswith("data:"):
                self.loaded.append((tag, address))
            self.links.append(address)

    handle_startendtag = handle_starttag


class Checked(NamedTuple):
    """What is wrong with the pages of a book, and what they weigh.

    Attributes
    ----------
    broken : list of str
        Links inside the book to a file or an anchor that is not there.
    fetched : list of str
        What a page would load from elsewhere when it is opened.
    paths : list of str
        Pages that show where something lies on the machine on which they were built.
    bytes : dict of str to int
        Of each page and its pictures.
    shared : int
        Bytes of the scripts and styles that a page loads beside these, at most; a browser keeps
        them from one page to the next.
    """

    broken: list[str]
    fetched: list[str]
    paths: list[str]
    bytes: dict[str, int]
    shared: int


def check(html: Path) -> Checked:
    """Check all pages of a rendered book, but for the theme's own templates."""
    html = html.resolve()
    files = [one for one in sorted(html.rglob("*.html")) if "_static" not in one.parts]
    texts = {one: one.read_text(encoding="utf-8") for one in files}
    pages = {one: _Page(text) for one, text in texts.items()}
    paths = [one.relative_to(html).as_posix() for one in files if _PATH.search(texts[one])]
    broken, fetched, weights, shared = [], [], {}, 0
    for file, page in pages.items():
        name = file.relative_to(html).as_posix()
        for address in dict.fromkeys(page.links):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.is_file():
                broken.append(f"{name}: {address}")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                broken.append(f"{name}: {address} (no such anchor)")
        pictures = other = 0
        for tag, address in dict.fromkeys(page.loaded):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                fetched.append(f"{name}: {tag} {address}")
            elif (target := file.parent / unquote(parts.path)).is_file():
                if tag in ("script", "link"):
                    other += target.stat().st_size
                else:
                    pictures += target.stat().st_size
        weights[name] = file.stat().st_size + pictures
        shared = max(shared, other)
    return Checked(broken, fetched, paths, weights, shared)


def problems(found: Checked) -> list[str]:
    """Return what ends a build."""
    return [
        *(f"leads nowhere: {one}" for one in found.broken),
        *(f"is fetched from elsewhere: {one}" for one in found.fetched),
        *(f"shows a path of this machine: {one}" for one in found.paths),
        *(
            f"is too heavy: {name}, {size / 1e6:.1f} MB with its pictures"
            for name, size in sorted(found.bytes.items(), key=lambda one: -one[1])
            if size > HEAVIEST
        ),
    ]


def main(command_line: list[str] | None = None) -> None:
    """Check the book in the folder that is named, and say what a page weighs at most."""
    (folder,) = sys.argv[1:] if command_line is None else command_line
    found = check(Path(folder))
    print(
        f"{len(found.bytes)} pages; beside its own, one loads {found.shared / 1e6:.1f} MB or less"
    )
    if wrong := problems(found):
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
