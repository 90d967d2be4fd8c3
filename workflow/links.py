"""List broken links, foreign scripts, paths of this machine and heavy pages of a rendered book.

`workflow/book.py` calls `problems` at the end of every build.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

HEAVIEST = 2_000_000
"""Bytes of a page with its pictures, without the scripts and styles that all pages share."""
_SCRIPT = re.compile(r"(<script\b[^>]*>).*?</script>", re.S)
_TAG = re.compile(r"<(\w+)\b((?:[^>\"]|\"[^\"]*\")*)>")
_ADDRESS = re.compile(r'\b(?:href|src|poster|data)="([^"]+)"')
_ANCHOR = re.compile(r'\b(?:id|name)="([^"]*)"')
_PATH = re.compile(r"(?:Posix|Windows)Path\(")


def problems(folder: Path) -> list[str]:
    """Return a line for each problem of the pages in a folder, without the theme's templates."""
    files = [file for file in sorted(folder.rglob("*.html")) if "_static" not in file.parts]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    anchors = {file: {"", "top", *_ANCHOR.findall(text)} for file, text in texts.items()}
    found = []
    for file, text in texts.items():
        name, weight = file.relative_to(folder).as_posix(), file.stat().st_size
        if _PATH.search(text):
            found.append(f"shows a path of this machine: {name}")
        for tag, address, loads in dict.fromkeys(addresses(_SCRIPT.sub(r"\1", text))):
            parts = urlsplit(address)
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if parts.scheme or parts.netloc:
                if loads and parts.scheme != "data":
                    found.append(f"is fetched from elsewhere: {name}: {tag} {address}")
            elif not target.is_file():
                found.append(f"leads nowhere: {name}: {address}")
            elif unquote(parts.fragment) not in anchors.get(target, {unquote(parts.fragment)}):
                found.append(f"leads nowhere: {name}: {address} (no such anchor)")
            elif loads and tag not in ("script", "link"):
                weight += target.stat().st_size
        if weight > HEAVIEST:
            found.append(f"is too heavy: {name}, {weight / 1e6:.1f} MB with its pictures")
    return found


def addresses(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each address of a page with its tag, and whether the browser loads it with the page."""
    for tag, attributes in _TAG.findall(text):
        loads = tag not in ("a", "area", "link", "form") or "stylesheet" in attributes
        for address in _ADDRESS.findall(attributes):
            yield tag, html.unescape(address), loads
