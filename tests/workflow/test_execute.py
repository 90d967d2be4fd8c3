"""One step: whole or not at all, and a failure that says where, with what, and what to do."""

import sys

import execute
import nbformat
import pytest
import step as steps

from tests.workflow.test_store_outputs import notebook


@pytest.fixture
def step(tmp_path, monkeypatch):
    """Return a function that executes a notebook that divides 12 by its parameter."""

    def run(value, source="12 // divisor", needs=(), name="paper/divide", parameter="divisor"):
        divided = notebook("divisor: int = 3\noverrides = {}", source, "'the end'")
        divided.cells[0].metadata["tags"] = ["parameters"]
        nbformat.write(divided, path := tmp_path / "divide.ipynb")
        chosen = steps.Step(name, str(path), {parameter: value}, needs)
        (tmp_path / "runs").mkdir(exist_ok=True)
        steps.write({chosen.name: chosen}, tmp_path / "runs")
        monkeypatch.setattr(sys, "argv", ["execute.py", chosen.name, str(tmp_path / "runs")])
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
    ("name", "needs", "seen"),
    [
        ("paper/training", (), "'None'"),
        ("paper/evaluation", ("paper/part/a",), "'refused'"),
        ("paper/training", ("paper/part/a",), "'short'"),
    ],
)
def test_a_step_after_the_training_does_not_train(step, tmp_path, monkeypatch, name, needs, seen):
    """A page about training trains its first epochs."""
    (tmp_path / "training.ipynb").touch()
    monkeypatch.delenv("TRAINING", raising=False)
    source = "import os\nstr(os.environ.get('TRAINING'))"
    folder = step(4, source=source, needs=needs, name=name)
    executed = nbformat.read(folder / f"{name.partition('/')[2]}.ipynb", as_version=4)
    assert executed.cells[-2].outputs[0].data["text/plain"] == seen


def test_a_failure_names_notebook_cell_parameter_and_remedy(step, tmp_path):
    words = r"divide.ipynb failed in code cell 3: ZeroDivisionError(.|\n)*divisor: 0(.|\n)*remedy: "
    with pytest.raises(SystemExit, match=words):
        step(0)
    left = [path.name for path in (tmp_path / "runs" / "paper").glob("[!.]*")]
    assert left == ["divide.failed.ipynb"]


def test_a_misspelt_name_of_papermill_stops_the_notebook(step):
    """Before, it ran for minutes with the defaults, and ended with status 0."""
    source = "from helpers.papers.notebook import check_given\ncheck_given()"
    step(3, source)
    with pytest.raises(SystemExit, match="unknown parameter 'divisors'; did you mean 'divisor'"):
        step(3, source, parameter="divisors")


def test_a_failure_names_the_jobs_that_failed_before(step, tmp_path):
    (folder := tmp_path / "runs" / "paper" / "part").mkdir(parents=True)
    (folder / "a.txt").write_text("failed: network 'b' is missing")
    (folder / "c.txt").write_text("9 rows")
    with pytest.raises(SystemExit, match=r"\npaper/part/a: failed: network 'b' is missing$"):
        step(0, needs=("paper/part/a", "paper/part/c"))


def test_a_kernel_that_dies_is_told_from_an_error(step):
    words = "the cell that begins with 'import os': its kernel ended by SIGKILL .Killed.; the syst"
    with pytest.raises(SystemExit, match=f"failed in {words}.*\n.*\n.*\n.*divisor: 3"):
        step(3, source="import os\nos.kill(os.getpid(), 9)")
