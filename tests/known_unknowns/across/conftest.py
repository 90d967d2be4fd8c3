"""Numbers of methods, made up."""

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
