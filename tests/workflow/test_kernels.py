"""A worker and a notebook's kernel that die are reported with the signal, in pytest's own words."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def run_pytest(folder, *arguments):
    """Return what pytest says in a process of its own, with this repository's conftest."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "workflow")])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("number", "words"),
    [(11, "ended by SIGSEGV (Segmentation fault); a library's"), (9, "ended by SIGKILL (Killed)")],
)
def test_a_test_that_kills_its_worker(tmp_path, number, words):
    """The others go on."""
    (tmp_path / "test_dying.py").write_text(
        "import os\n\n\ndef test_dies():\n"
        f"    os.kill(os.getpid(), {number})\n\n\ndef test_lives():\n    pass\n"
    )
    said = run_pytest(tmp_path, "-n", "1")
    assert f"test_dying.py::test_dies: its worker 'gw0' {words}" in said
    assert "1 failed, 1 passed" in said


def test_a_notebook_whose_kernel_dies(tmp_path):
    """At once, and not after half an hour."""
    cells = [nbformat.v4.new_code_cell(one) for one in ("1", "import os; os.kill(os.getpid(), 6)")]
    for one in cells:
        one.execution_count = 1
    cells[0].outputs = [
        nbformat.v4.new_output("execute_result", {"text/plain": "1"}, execution_count=1)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, tmp_path / "dying.ipynb")
    said = run_pytest(tmp_path, "--nbval", "dying.ipynb")
    assert "dying.ipynb::Cell 1" in said and "1 failed, 1 passed" in said
    assert "the notebook's kernel ended by SIGABRT (Aborted)" in said
