"""The budgets of CPU seconds that `make test` compares."""

import os
import time

import pandas as pd
import pytest

from benchmarks import pipeline

NAMES = ["audit", "all notebooks", "unit tests"]
BUDGETS = pd.Series([10, 100, 500], NAMES)


@pytest.mark.parametrize(
    ("used", "over"),
    [
        ([10, 100, 500], []),
        ([30, 300, 1500], []),  # on cores that are a third as fast
        ([21, 111, 500], ["audit"]),  # ten seconds became more than twice as many
        ([19, 161, 500], ["all notebooks"]),
        ([19, 159, 500], []),
        ([10, 100, 810], ["unit tests"]),
    ],
)
def test_what_takes_more_than_its_budget_is_named(used, over):
    table = pipeline.compare(pd.Series(used, NAMES), BUDGETS[::-1])
    assert table.index[~(table["seconds"] <= table["allowed here"])].tolist() == over


@pytest.mark.parametrize(("age", "earlier"), [(-60, False), (60, True)])
def test_nothing_is_compared_if_notebooks_read_rows_of_an_earlier_build(
    tmp_path, monkeypatch, age, earlier
):
    monkeypatch.setattr(pipeline, "RUNS", tmp_path / "mini")
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    (tmp_path / "unit_tests.began").touch()
    assert not pipeline.has_earlier_rows()
    (row := tmp_path / "rows" / "a.parquet").parent.mkdir()
    row.touch()
    os.utime(row, (0, time.time() - age))
    assert pipeline.has_earlier_rows() == earlier
