"""The budgets of CPU seconds that `make test` compares."""

import pandas as pd
import pytest

from benchmarks import pipeline

NAMES = ["audit", "all notebooks", "unit tests"]
BUDGETS = pd.DataFrame({"seconds": [10, 100, 500], "yardstick": 0.5}, NAMES)


@pytest.mark.parametrize(
    ("used", "here", "over"),
    [
        ([15, 129, 649], 0.5, []),
        ([17, 131, 651], 0.5, NAMES),
        ([30, 250, 1200], 1, []),  # on cores that are half as fast
    ],
)
def test_what_takes_more_than_its_budget_is_named(used, here, over):
    table = pipeline.compare(pd.Series(used, NAMES), BUDGETS[::-1], here)
    assert table.index[~(table["seconds"] <= table["allowed here"])].tolist() == over
