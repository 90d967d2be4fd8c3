"""List the tables of a rendered book that are cut off, and text that is too small.

    python workflow/legible.py runs/mini/book/_build/html --width 1300

Chromium opens each page in a frame and measures it with the script `legible.js`.  PNG figures have
no text to measure: their smallest letters have `SMALLEST` points, which a test checks, and the
width on the page gives the height in pixels.
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
from pathlib import Path

import matplotlib.pyplot as plt

from helpers.report import figures
from helpers.report.figures.style import SMALLEST

OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--dump-dom",
           "--allow-file-access-from-files")  # fmt: skip
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def main() -> None:
    """Print the faults of each page, and their number."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("html", type=Path, help="folder of the rendered book, or some pages of it")
    parser.add_argument("--width", type=int, default=1300, help="of the window, in pixels")
    arguments = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("no browser to measure with: install Chromium")
    folders = [arguments.html / name for name in ("book", "notebooks")]
    pages = [page for folder in folders for page in sorted(folder.rglob("*.html"))]
    figures.use_style()
    values = {
        "pages": [page.resolve().as_uri() for page in pages],
        "width": arguments.width,
        "smallest": SMALLEST * plt.rcParams["figure.dpi"] / 72,
    }
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as file:
        file.write(f"<script>const given = {json.dumps(values)};{SCRIPT}</script>")
        file.flush()
        budget = f"--virtual-time-budget={20_000 * len(pages)}"
        command = [browser, *OPTIONS, budget, Path(file.name).as_uri()]
        done = subprocess.run(command, capture_output=True, text=True)
    result = re.search('<pre id="legible">(.*?)</pre>', done.stdout, re.S)
    if result is None:
        sys.exit(f"the pages could not be measured: {done.stderr}")
    faults = zip(pages, json.loads(html.unescape(result[1])), strict=True)
    pairs = ((page.relative_to(arguments.html), line) for page, each in faults for line in each)
    lines = [f"{page}: {line}" for page, line in pairs]
    print(*lines, f"{len(pages)} pages, {len(lines)} faults", sep="\n")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
