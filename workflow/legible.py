"""List the tables of a rendered book that are cut off, and text that is too small.

    python workflow/legible.py runs/mini/book/_build/html --width 1300

Chromium opens each page in a frame and measures it with the script `legible.js`.  PNG figures have
no text to measure: their smallest letters have `SMALLEST` points, which a test checks, and
resolution and width on the page give the height.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image

from helpers.report.figures.style import SMALLEST

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--dump-dom",
           "--allow-file-access-from-files")  # fmt: skip
LEAST = {"figure": 9, "table": 12}  # pixels
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def measure(pages: Sequence[Path], width: int) -> list[dict]:
    """Return the widths and letter heights of the parts of each page in a window of this width."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("no browser to measure with: install Chromium")
    addresses = json.dumps([page.resolve().as_uri() for page in pages])
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as file:
        file.write(f"<script>const width = {width}, pages = {addresses};{SCRIPT}</script>")
        file.flush()
        budget = f"--virtual-time-budget={20_000 * len(pages)}"
        command = [browser, *OPTIONS, budget, Path(file.name).as_uri()]
        done = subprocess.run(command, capture_output=True, text=True)
    result = re.search('<pre id="legible">(.*?)</pre>', done.stdout, re.S)
    if result is None:
        sys.exit(f"the pages could not be measured: {done.stderr}")
    return json.loads(html.unescape(result[1]))


def faults(page: Path, measured: dict) -> Iterator[str]:
    """Yield a line for each part of a page that is cut off or too small."""
    if measured["page"] > 0:
        yield f"the page is {measured['page']} px too wide"
    for table in measured["tables"]:
        if table["cut"] > 1:
            yield f"{table['name']}: {table['cut']:.0f} px cut off"
        if table["letters"] < LEAST["table"]:
            yield f"{table['name']}: letters of {table['letters']:.1f} px"
    pictures = [image for image in measured["images"] if image["name"].endswith(".png")]
    for picture in pictures:
        with Image.open(page.parent / picture["name"]) as file:
            dpi, natural = file.info.get("dpi", (96,))[0], file.width
        picture["letters"] = SMALLEST * dpi / 72 * picture["width"] / natural
    for figure in [*measured["texts"], *pictures]:
        if figure["letters"] < LEAST["figure"]:
            yield f"{figure['name']}: letters of {figure['letters']:.1f} px"


def main() -> None:
    """Print the faults of each page, and their number."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("html", type=Path, help="folder of the rendered book, or some pages of it")
    parser.add_argument("--width", type=int, default=1300, help="of the window, in pixels")
    arguments = parser.parse_args()
    folders = [arguments.html / name for name in ("book", "notebooks")]
    pages = [page for folder in folders for page in sorted(folder.rglob("*.html"))]
    lines = [
        f"{page.relative_to(arguments.html)}: {fault}"
        for page, measured in zip(pages, measure(pages, arguments.width), strict=True)
        for fault in faults(page, measured)
    ]
    print(*lines, f"{len(pages)} pages, {len(lines)} faults", sep="\n")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
