from pathlib import Path

import pandas as pd
import pytest

from helpers.tables import printed_numbers
from tests.mistakes import beside

KEY = ["data_set", "test_set", "backbone", "method", "calibration", "metric"]
TABLES = beside(__file__, "printed_tables.yaml")
FILE = Path(__file__).with_name("printed_cells.csv")  # read from the papers
CELLS = pd.read_csv(FILE, comment="#", dtype=str, keep_default_na=False).to_dict("records")


@pytest.mark.parametrize("paper", TABLES)
def test_every_cell_of_the_tables_occurs_once_in_its_unit(paper):
    numbers = printed_numbers.load(paper)
    assert printed_numbers.papers() == tuple(sorted(TABLES))
    assert tuple(numbers.columns) == printed_numbers.COLUMNS
    assert numbers.groupby("table").size().to_dict() == TABLES[paper]
    assert not numbers.duplicated(KEY).any()
    assert not numbers.drop(columns="std").isna().any().any()
    assert numbers["value"].between(-(paper == "gscore"), 1).all()
    assert numbers["std"].dropna().between(0, 0.5).all()


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell['paper']}-{cell['value']}")
def test_cells_equal_the_cells_of_the_paper(cell):
    """Values and deviations equal the printed cell, in the unit interval."""
    numbers = printed_numbers.load(cell["paper"]).set_index(KEY).sort_index()
    row = numbers.loc[tuple(cell[name] for name in KEY)]
    expected = [float(cell["value"]), float(cell["std"])]
    assert [row["value"], row["std"]] == pytest.approx(expected, nan_ok=True)
    assert row["source"] == f"Table {cell['table']}, arXiv:{cell['arxiv']}"


def test_averages_are_the_means_of_their_cells():
    """123 of 144 printed averages are these means, rounded, but no average of KNN."""
    numbers = printed_numbers.load("human_centric")
    average = numbers["test_set"] == "average"
    fresh = printed_numbers.with_averages(numbers)
    assert fresh[~average].equals(numbers[~average])
    off = (fresh["value"] - numbers["value"])[average].abs()
    agree = off < 1e-4 + 1e-9  # cells and average are rounded to 0.0001
    methods = numbers.loc[average, "method"]
    assert agree.sum() == 123
    assert (~agree[methods == "knn"]).all()
    assert off[methods == "knn"].max() < 0.019
    assert off[methods != "knn"].max() < 4e-4
