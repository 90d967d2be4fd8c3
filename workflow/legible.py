"""List what readers of a rendered book cannot see whole: cut tables, and text that is too small.

    python workflow/legible.py runs/mini/book/_build/html --width 1300

Chromium opens each page, and must be installed.  The text of an SVG figure is measured.  A PNG
figure has no text to measure: its smallest letters have `SMALLEST` points, which a test checks,
and its resolution and its width on the page give their height.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from websocket import create_connection

from helpers.report.figures.style import SMALLEST

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
LEAST = {"figure": 9, "table": 12}  # pixels
MEASURE = """(async () => {
  document.querySelectorAll("details").forEach(folded => folded.open = true);
  document.querySelectorAll(".toggle-hidden").forEach(folded =>
    folded.classList.remove("toggle-hidden"));
  document.querySelectorAll("img").forEach(image => image.loading = "eager");
  await window.MathJax?.startup?.promise;
  await Promise.all([...document.images].map(image => image.decode().catch(() => null)));
  await new Promise(done => setTimeout(done, 500));  // tables that scripts draw
  const article = document.querySelector("article"), end = document.documentElement.clientWidth;
  const shown = (root, tags) => [...root.querySelectorAll(tags)].filter(one => one.offsetWidth ||
    one.getClientRects().length);
  const size = one => parseFloat(getComputedStyle(one).fontSize);
  const tables = shown(article, "table").map((table, number) => {
    let box = table, cut = table.getBoundingClientRect().right - end;
    while ((box = box.parentElement) && box !== article.parentElement)
      if (getComputedStyle(box).overflowX !== "visible")
        cut = Math.max(cut, box.scrollWidth - box.clientWidth);
    const cells = shown(table, "td, th").filter(cell => cell.innerText.trim());
    const text = table.innerText.trim().replace(/\\s+/g, " ").slice(0, 50);
    return {name: `table ${number + 1} (${text})`, cut, letters: Math.min(99, ...cells.map(size))};
  });
  const texts = shown(article, "svg text").map(text => ({name: `"${text.textContent.trim()}"`,
    letters: size(text) * Math.hypot(text.getScreenCTM().c, text.getScreenCTM().d)}));
  const images = shown(article, ".cell_output img").map(image => ({
    name: image.getAttribute("src"), width: image.getBoundingClientRect().width}));
  return JSON.stringify({tables, texts, images, page: document.documentElement.scrollWidth - end});
})()"""


def measure(pages: list[Path], width: int) -> Iterator[tuple[Path, dict]]:
    """Open each page in a window of this width, and yield the widths and letters of its parts."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("no browser to measure with: install Chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            browser, "--headless", "--disable-gpu", "--no-first-run", "--remote-allow-origins=*",
            "--remote-debugging-port=0", f"--user-data-dir={profile}", "--disable-sync",
            "--disable-background-networking", "--disable-component-update",
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
        ]  # fmt: skip
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as chromium:
            try:
                port = Path(profile, "DevToolsActivePort")
                while not (port.exists() and "\n" in port.read_text()):
                    time.sleep(0.1)
                address, path = port.read_text().split()
                socket = create_connection(f"ws://127.0.0.1:{address}{path}", timeout=300)
                numbers = itertools.count(1)

                def call(method: str, session: str | None = None, **params) -> dict:
                    sent = {"id": next(numbers), "method": method, "params": params}
                    socket.send(json.dumps(sent | ({"sessionId": session} if session else {})))
                    while (answer := json.loads(socket.recv())).get("id") != sent["id"]:
                        pass
                    return answer["result"]

                target = call("Target.createTarget", url="about:blank")["targetId"]
                session = call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
                call(
                    "Emulation.setDeviceMetricsOverride", session,
                    width=width, height=900, deviceScaleFactor=1, mobile=False,
                )  # fmt: skip
                call("Page.enable", session)
                for page in pages:
                    call("Page.navigate", session, url=page.resolve().as_uri())
                    while json.loads(socket.recv()).get("method") != "Page.loadEventFired":
                        pass
                    asked = {"expression": MEASURE, "awaitPromise": True}
                    answer = call("Runtime.evaluate", session, **asked)
                    yield page, json.loads(answer["result"]["value"])
            finally:
                chromium.terminate()


def faults(page: Path, found: dict) -> Iterator[str]:
    """Yield a line for each part of a page that is cut off or too small."""
    if found["page"] > 0:
        yield f"the page is {found['page']} px too wide"
    for table in found["tables"]:
        if table["cut"] > 1:
            yield f"{table['name']}: {table['cut']:.0f} px cut off"
        if table["letters"] < LEAST["table"]:
            yield f"{table['name']}: letters of {table['letters']:.1f} px"
    for image in found["images"]:
        if not image["name"].endswith(".png"):
            continue
        with Image.open(page.parent / image["name"]) as file:
            dpi, natural = file.info.get("dpi", (96,))[0], file.width
        image["letters"] = SMALLEST * dpi / 72 * image["width"] / natural
    for figure in [*found["texts"], *found["images"]]:
        if figure.get("letters", 99) < LEAST["figure"]:
            yield f"{figure['name']}: letters of {figure['letters']:.1f} px"


def main(command_line: list[str] | None = None) -> None:
    """Print what is cut off or too small on each page, and how much there is of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("html", type=Path, help="folder of the rendered book, or some pages of it")
    parser.add_argument("--width", type=int, default=1300, help="of the window, in pixels")
    arguments = parser.parse_args(command_line)
    listed = sorted(arguments.html.glob("book/**/*.html")) + sorted(
        arguments.html.glob("notebooks/**/*.html")
    )
    count = 0
    for page, found in measure(listed, arguments.width):
        for line in faults(page, found):
            print(f"{page.relative_to(arguments.html)}: {line}", flush=True)
            count += 1
    print(f"{len(listed)} pages, {count} faults")
    sys.exit(bool(count))


if __name__ == "__main__":
    main()
