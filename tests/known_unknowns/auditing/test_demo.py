"""The demo prints what the pages show, needs no torch, and leaves what an audit leaves."""

import os
import re
import subprocess
import sys
from pathlib import Path

from known_unknowns.auditing.command import DEMO, REFUSED, main

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = (
    "import sys\n"
    "from known_unknowns.auditing.command import main\n"
    "status = main(['demo'])\n"
    "sys.exit('torch is imported' if 'torch' in sys.modules else status)\n"
)


def shown(page):
    """Return what a page prints below the command, in each block that shows its output."""
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    parts = [re.split(r"^(?:\$ )?known-unknowns demo\n", block, flags=re.M) for block in blocks]
    return [text for part in parts for text in part[1:] if text.strip()]


def test_pages_show_what_the_demo_prints(tmp_path):
    """But for line breaks, which a page may add.  The report of an earlier demo is replaced."""
    (tmp_path / DEMO).mkdir()
    (tmp_path / DEMO / "report.html").touch()
    here = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=tmp_path, env=here
    )
    assert not done.returncode and not done.stderr, done.stderr[-500:]
    assert (tmp_path / DEMO / "report.html").stat().st_size
    files = {file.name for file in (tmp_path / DEMO).iterdir()}
    assert files == {"audit.json", "rejector.safetensors", "report.html"}
    assert shown(ROOT / "book" / "audit.md")
    for page in (ROOT / "book" / "audit.md", ROOT / "README.md"):
        for text in shown(page):
            assert text.split() == done.stdout.split(), page.name


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path(DEMO).mkdir()
    (Path(DEMO) / "mine.txt").write_text("mine")
    assert main(["demo"]) == REFUSED
    assert "holds other files (mine.txt)" in capsys.readouterr().err
