"""The CPU seconds of the chapters, read from executed notebooks, stay below their budget."""

import json

import pandas as pd

from benchmarks import comparing, pipeline


def test_seconds_are_the_seconds_that_papermill_noted(tmp_path):
    noted = {"a/training": (10.0, 20.0), "a/figures": (4.0, 5.0), "b/training": (30.0, 31.0)}
    (tmp_path / "plan.json").write_text(json.dumps([{"name": name} for name in noted]))
    for name, (duration, cpu) in noted.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        metadata = {"papermill": {"duration": duration, "cpu_seconds": cpu}}
        (tmp_path / f"{name}.ipynb").write_text(json.dumps({"metadata": metadata}))
    chapters = pipeline.seconds_of_chapters(pipeline.seconds_of_steps(tmp_path))
    assert chapters.to_dict("index") == {
        "b": {"cpu": 31.0, "seconds": 30.0},
        "a": {"cpu": 25.0, "seconds": 14.0},
    }


def test_no_chapter_is_over_its_budget():
    table = pd.read_parquet(comparing.RESULTS / "pipeline.parquet").query("tier == 'mini'")
    used = pipeline.seconds_of_chapters(table)["cpu"]
    assert set(used.index) == set(pipeline.BUDGET)
    assert not {name: cpu for name, cpu in used.items() if cpu > pipeline.BUDGET[name]}
