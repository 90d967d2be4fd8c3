"""List broken links, foreign scripts and paths of this machine in a rendered book.

`workflow/book.py` calls `problems` at the end of every build.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

_SCRIPT = re.compile(r"(<script\b[^>]*>).*?</script>", re.S)
_TAG = re.compile(r"<(\w+)\b((?:[^>\"]|\"[^\"]*\")*)>")
_ADDRESS = re.compile(r'\b(?:href|src|poster|data)="([^"]+)"')
_ANCHOR = re.compile(r'\b(?:id|name)="([^"]*)"')


def problems(folder: Path) -> list[str]:
    """Return a line for each problem of the pages in a folder, without the theme's templates."""
    files = [file for file in sorted(folder.rglob("*.html")) if "_static" not in file.parts]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    anchors = {file: {"", "top", *_ANCHOR.findall(text)} for file, text in texts.items()}
    lines = {}  # each once
    for file, text in texts.items():
        name = file.relative_to(folder).as_posix()
        if "PosixPath(" in text:
            lines[f"shows a path of this machine: {name}"] = None
        for tag, attributes in _TAG.findall(_SCRIPT.sub(r"\1", text)):
            loads = tag not in ("a", "area", "link", "form") or "stylesheet" in attributes
            for address in map(html.unescape, _ADDRESS.findall(attributes)):
                parts = urlsplit(address)
                target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
                if parts.scheme or parts.netloc:
                    if loads and parts.scheme != "data":
                        lines[f"is fetched from elsewhere: {name}: {tag} {address}"] = None
                elif not target.is_file():
                    lines[f"leads nowhere: {name}: {address}"] = None
                elif unquote(parts.fragment) not in anchors.get(target, {unquote(parts.fragment)}):
                    lines[f"leads nowhere: {name}: {address} (no such anchor)"] = None
    return [*lines]
