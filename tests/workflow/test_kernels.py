"""A notebook's kernel that dies is reported with the signal, and stored outputs are compared."""

import os
import subprocess
import sys

import nbformat

from helpers.modules import ROOT
from tests.workflow.test_store_outputs import notebook


def run_pytest(folder, *arguments):
    """Return what pytest says in a process of its own, with this repository's conftest."""
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "workflow")])}
    options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run([*command, *arguments], timeout=120, **options)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def write_notebook(path, outputs):
    """Write a notebook whose cells, by their source, gave these outputs, or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = notebook(*outputs)
    for cell, text in zip(stored.cells, outputs.values(), strict=True):
        result = nbformat.v4.new_output("execute_result", {"text/plain": text or ""})
        cell.outputs, cell.execution_count = [result] if text else [], 1
    nbformat.write(stored, path)


def test_stored_outputs_are_compared_with_those_of_the_pipeline(tmp_path):
    seconds = {"same": {"2": "2"}, "differs": {"2": "3"}, "missing": {"2": None}}
    for name, second in (seconds | {"changed": {"1 + 1": "2"}}).items():
        write_notebook(tmp_path / f"notebooks/paper/{name}.ipynb", {"1": "1", "2": "2"})
        write_notebook(tmp_path / f"runs/paper/{name}.ipynb", {"1": "1"} | second)
    output = run_pytest(tmp_path, "--nbval", "notebooks", "--executed", "runs", "-rf")
    assert "3 failed, 5 passed" in output
    texts = {"differs": "Cell outputs differ", "missing": "Missing output fields from running code",
             "changed": "was executed with other cells; first: make book"}  # fmt: skip
    for name, text in texts.items():
        assert text in output and f"FAILED notebooks/paper/{name}.ipynb::Cell 1" in output


def test_a_notebook_whose_kernel_dies(tmp_path):
    """At once, and not after half an hour."""
    write_notebook(tmp_path / "dying.ipynb", {"1": "1", "import os; os.kill(os.getpid(), 6)": None})
    output = run_pytest(tmp_path, "--nbval", "dying.ipynb")
    assert "dying.ipynb::Cell 1" in output and "1 failed, 1 passed" in output
    assert "the notebook's kernel ended by SIGABRT (Aborted)" in output


def test_a_module_that_its_package_imports_can_be_tested_alone():
    """Pytest executed it twice, and its score was "registered already"."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:nbval"]
    done = subprocess.run([*command, "helpers/scores/moments.py"], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stdout.decode()
