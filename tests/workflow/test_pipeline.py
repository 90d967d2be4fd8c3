"""Where the time of the pipeline goes, read from executed notebooks."""

from datetime import UTC, datetime

import nbformat
import pandas as pd
import pytest
import step as steps

from benchmarks import pipeline


def moment(second: float) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()


def noted(begin: float, end: float) -> dict:
    return {
        "papermill": {
            "start_time": moment(begin), "end_time": moment(end), "cpu_seconds": 2 * (end - begin)
        }
    }  # fmt: skip


@pytest.fixture
def runs(tmp_path):
    """A plan of three steps, executed on two cores: one waits for the two others."""
    spans = {"a/training": (0, 10), "b/training": (1, 5), "a/evaluation": (10, 30)}
    needs = {"a/evaluation": ("a/training", "b/training")}
    plan = {name: steps.Step(name, "", {}, needs.get(name, ())) for name in spans}
    steps.write(plan, tmp_path)
    for name, (begin, end) in spans.items():
        cells = [
            nbformat.v4.new_code_cell("import torch", metadata=noted(begin + 1, begin + 2.5)),
            nbformat.v4.new_markdown_cell("text", metadata=noted(begin + 2.5, begin + 2.5)),
            nbformat.v4.new_code_cell("1", metadata=noted(begin + 2.5, end - 0.5)),
        ]
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=noted(begin, end))
        (tmp_path / name).parent.mkdir(exist_ok=True)
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    return tmp_path


def test_the_times_are_those_that_papermill_noted(runs):
    table = pipeline.pipeline(runs).set_index(["part", "quantity"])["value"]
    own = table["b/training"]
    assert own.to_dict() == {
        "begin": 1, "end": 5, "seconds": 4, "start": 1, "stop": 0.5, "imports": 1.5,
        "cpu": 8,
    }  # fmt: skip
    assert table["a/training", "place"] == 1 and table["a/evaluation", "place"] == 2
    assert table[pipeline.WHOLE].to_dict() == {
        "wall": 30, "sum": 34, "cores": 2, "ratio": 30 / 17, "critical": 30, "cpu": 68,
    }  # fmt: skip


def test_the_page_names_the_critical_path(runs):
    nothing = pipeline._rows(pipeline.EMPTY, {"process": 2.0, "start": 0.7, "stop": 0.1})
    table = pd.concat([pipeline.pipeline(runs), nothing], ignore_index=True)
    page = pipeline.where_time_goes(table.assign(tier="mini", machine="x86_64, 2 cores"))
    assert "| a | 2 | 60 | – | 30 | 3 | 3 | `evaluation`, 20 |" in page
    assert "critical path, 30 s: `a/training` (10 s) → `a/evaluation` (20 s)." in page
    assert "1.76 times the sum over 2 cores" in page


def test_no_chapter_is_over_its_budget():
    table = pd.read_parquet(pipeline.RESULTS / "pipeline.parquet").query("tier == 'mini'")
    used = pipeline.cpu_of_chapters(table)
    assert set(used.index) == set(pipeline.BUDGET)
    assert not {name: cpu for name, cpu in used.items() if cpu > pipeline.BUDGET[name]}


def test_without_one_whole_run_it_says_how_to_make_one(runs, tmp_path):
    with pytest.raises(FileNotFoundError, match="no plan; `make run`"):
        pipeline.pipeline(tmp_path / "elsewhere")
    (runs / "b" / "training.ipynb").rename(runs / "b" / "training.failed.ipynb")
    with pytest.raises(FileNotFoundError, match="not executed: b/training; run `make book`"):
        pipeline.pipeline(runs)


def test_notebooks_of_several_runs_have_no_wall_time(runs):
    path = runs / "a" / "evaluation.ipynb"
    text = path.read_text().replace(moment(30), moment(130)).replace(moment(10), moment(110))
    path.write_text(text)
    with pytest.raises(ValueError, match="notebooks of several runs"):
        pipeline.pipeline(runs)


def test_notebooks_of_an_older_pipeline_are_named(runs):
    path = runs / "a" / "evaluation.ipynb"
    path.write_text(path.read_text().replace("cpu_seconds", "other"))
    with pytest.raises(ValueError, match=r"evaluation\.ipynb: no CPU seconds noted"):
        pipeline.pipeline(runs)
