"""A notebook's kernel that dies is reported with the signal, and stored outputs are compared."""

import os
import subprocess
import sys

import nbformat
import pytest

from helpers.modules import ROOT


def run_pytest(folder, *arguments, expected=1):
    """Return what pytest says in a process of its own, with this repository's conftest."""
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "workflow")])}
    options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run([*command, *arguments], timeout=120, **options)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout


def write_notebook(path, outputs):
    """Write a notebook whose cells, by their source, gave these outputs, or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [nbformat.v4.new_code_cell(source, execution_count=1) for source in outputs]
    for cell, text in zip(cells, outputs.values(), strict=True):
        data = {"text/plain": text or ""}
        result = nbformat.v4.new_output("execute_result", data, execution_count=1)
        cell.outputs = [result] if text else []
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    return path


@pytest.mark.parametrize(("executed", "failed", "words"), [
    ({"1": "1", "2": "2"}, 0, ""),
    ({"1": "1", "2": "3"}, 1, "Cell outputs differ"),
    ({"1": "1", "2": None}, 1, "Missing output fields from running code"),
    ({"1": "1", "1 + 1": "2"}, 1, "was executed with other cells; first: make book"),
])  # fmt: skip
def test_stored_outputs_are_compared_with_those_of_the_pipeline(tmp_path, executed, failed, words):
    write_notebook(tmp_path / "notebooks" / "paper" / "one.ipynb", {"1": "1", "2": "2"})
    runs = write_notebook(tmp_path / "runs" / "paper" / "one.ipynb", executed).parent.parent
    output = run_pytest(tmp_path, "--nbval", "notebooks", "--executed", str(runs), expected=failed)
    assert words in output and f"{2 - failed} passed" in output


def test_a_notebook_whose_kernel_dies(tmp_path):
    """At once, and not after half an hour."""
    write_notebook(tmp_path / "dying.ipynb", {"1": "1", "import os; os.kill(os.getpid(), 6)": None})
    output = run_pytest(tmp_path, "--nbval", "dying.ipynb")
    assert "dying.ipynb::Cell 1" in output and "1 failed, 1 passed" in output
    assert "the notebook's kernel ended by SIGABRT (Aborted)" in output
