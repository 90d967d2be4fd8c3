"""Numbers of the default build, next to the committed numbers and the paper's."""

import pytest

from helpers.files import project_root
from helpers.papers import load
from helpers.papers.unknown_detection import tables
from helpers.tables import results

SMALL = results.read(project_root() / "results/small/unknown_detection.parquet")


def test_a_build_is_compared_with_the_tier_of_its_networks():
    """A tier that trains its networks has its own rows on whole sets."""
    assert len(load("unknown_detection", "mini").committed()) == len(SMALL)
    assert load("unknown_detection", "small").committed() is None


def test_a_number_has_its_interval_the_whole_sets_and_the_paper_beside_it():
    few = SMALL[SMALL["run"] < 2]
    both = tables.side_by_side(few, SMALL).set_index(["method", "metric", "test_set"])
    row = both.loc["baseline", "accuracy", "test"]
    assert row["slice"] == pytest.approx((0.8035 + 0.7960) / 2)
    assert row["whole sets"] == pytest.approx(0.8005, abs=5e-5)
    assert row["paper"] == pytest.approx(0.7443)
    assert row["low"] < row["slice"] - 0.005 and row["slice"] + 0.005 < row["high"]
