"""One step: whole or not at all, and a failure that says where, with what, and what to do."""

import subprocess
import sys
from pathlib import Path

import execute
import nbformat
import pytest
import step as steps

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def step(tmp_path, monkeypatch):
    """Return a function that executes a notebook that divides 12 by its parameter."""
    cells = [
        nbformat.v4.new_code_cell("divisor: int = 3", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("12 // divisor"),
        nbformat.v4.new_code_cell("'the end'"),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})

    def run(divisor, source="12 // divisor", needs=()):
        cells[1].source = source
        nbformat.write(notebook, tmp_path / "divide.ipynb")
        parameters = {"divisor": divisor}
        one = steps.Step("paper/divide", str(tmp_path / "divide.ipynb"), parameters, needs)
        (tmp_path / "runs").mkdir()
        steps.write({one.name: one}, tmp_path / "runs")
        command_line = ["execute.py", "mini", one.name, str(tmp_path / "runs")]
        monkeypatch.setattr(sys, "argv", command_line)
        execute.main()
        return tmp_path / "runs" / "paper"

    return run


def test_the_executed_notebook_has_its_parameters_and_nothing_is_left_beside_it(step):
    folder = step(4)
    assert [path.name for path in folder.glob("[!.]*")] == ["divide.ipynb"]
    executed = nbformat.read(folder / "divide.ipynb", as_version=4)
    assert executed.cells[-2].outputs[0].data["text/plain"] == "3"
    assert executed.metadata.papermill.cpu_seconds > 0.1  # the kernel's among them


@pytest.mark.parametrize(
    ("deaths", "words"), [(2, ""), (3, "Kernel died before replying"), (1, "something else")]
)
def test_a_kernel_that_finds_its_port_taken_is_started_again(step, monkeypatch, deaths, words):
    """Twice at most, and for this reason alone."""
    left = [RuntimeError(words or "Kernel died before replying to kernel_info")] * deaths
    executes = execute.papermill.execute_notebook

    def dies(*given, **options):
        if left:
            raise left.pop()
        return executes(*given, **options)

    monkeypatch.setattr(execute.papermill, "execute_notebook", dies)
    if words:
        with pytest.raises(RuntimeError, match=words):
            step(4)
    else:
        assert (step(4) / "divide.ipynb").exists()


@pytest.mark.parametrize(("needs", "seen"), [((), "'None'"), (("paper/training",), "'refused'")])
def test_a_step_after_the_training_does_not_train(step, monkeypatch, needs, seen):
    monkeypatch.setenv("TRAINING", "")  # and so as it was, afterwards
    monkeypatch.delenv("TRAINING")
    folder = step(4, source="import os\nstr(os.environ.get('TRAINING'))", needs=needs)
    executed = nbformat.read(folder / "divide.ipynb", as_version=4)
    assert executed.cells[-2].outputs[0].data["text/plain"] == seen


def test_a_failure_names_notebook_cell_parameter_and_remedy(step, tmp_path):
    with pytest.raises(SystemExit) as stop:
        step(0)
    message = str(stop.value)
    assert "divide.ipynb failed in code cell 3: ZeroDivisionError" in message
    assert "divisor: 0" in message and "remedy: " in message
    left = [path.name for path in (tmp_path / "runs" / "paper").glob("[!.]*")]
    assert left == ["divide.failed.ipynb"]


@pytest.mark.parametrize(
    ("death", "words"),
    [
        ("os.kill(os.getpid(), 9)", "its kernel ended by SIGKILL (Killed); the system ends"),
    ],
)
def test_a_kernel_that_dies_is_told_from_an_error(step, death, words):
    with pytest.raises(SystemExit) as stop:
        step(3, source=f"import os\n{death}")
    message = str(stop.value)
    assert f"failed in the cell that begins with 'import os': {words}" in message
    assert "divisor: 3" in message


def test_a_step_is_read_from_the_plan_that_was_written(tmp_path):
    """As it was, without the packages that the plan is checked with."""
    step = steps.Step("paper/a", "a.ipynb", {"n": [1, 2.5, None, "x"]}, ("paper/b",), threads=2)
    steps.write({step.name: step}, tmp_path)
    read = steps.read(tmp_path)["paper/a"]
    assert (read.parameters, [*read.needs], read.threads) == (step.parameters, ["paper/b"], 2)
    imported = "import sys, execute; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", imported], cwd=ROOT / "workflow").returncode == 0
