"""Numbers of methods, made up."""

import pandas as pd
import pytest

from known_unknowns.across.measures import MEASURES


@pytest.fixture(scope="session")
def table_of_measures(table_of):
    """Return a function that makes a results table of {(run, method, measure): value}."""

    def build(values, bootstrap=None):
        records = (
            {
                "run": run, "method": method, "value": float(value),
                "metric": MEASURES[name].metric, "test_set": MEASURES[name].test_set,
                "bootstrap": (bootstrap or {}).get((run, method, name), ()),
            }
            for (run, method, name), value in values.items()
        )  # fmt: skip
        return table_of(records, paper="synthesis", calibration="before")

    return build


@pytest.fixture
def means():
    """Four cells; by AURC the baseline's best score is vim."""
    cells = [("baseline", "msp"), ("baseline", "vim"), ("mixup", "msp"), ("edl", "native")]
    columns = {"accuracy": [0.8, 0.8, 0.9, 0.7], "ece": [0.1, 0.1, 0.2, 0.3],
               "passes": [1, 1, 1, 5], "aurc": [0.3, 0.2, 0.4, 0.5]}  # fmt: skip
    return pd.DataFrame(columns, pd.MultiIndex.from_tuples(cells, names=["algorithm", "score"]))
