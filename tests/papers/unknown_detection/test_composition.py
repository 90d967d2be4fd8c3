"""Which areas can be compared between unions of different composition."""

import numpy as np
import pandas as pd
import pytest

from helpers import metrics
from helpers.papers.unknown_detection import composition
from helpers.tables import printed_numbers


def test_the_excess_falls_with_the_share_of_unknown_images():
    """By a third from 60 to 93 %, with equal distributions of the scores and 80 % right."""
    generator = np.random.default_rng(0)
    excess = []
    for share in (0.60, 0.93):
        unknown = generator.random(100_000) < share
        correct = ~unknown & (generator.random(100_000) < 0.8)
        confidence = generator.standard_normal(100_000) + 1.2 * correct
        excess.append(metrics.eaurc(confidence, correct))
    assert 1 - excess[1] / excess[0] == pytest.approx(0.35, abs=0.03)


def test_there_is_an_excess_of_the_test_images_and_at_the_papers_shares_alone():
    numbers = printed_numbers.load("unknown_detection")
    table = composition.printed(numbers[numbers["table"] == "5"])
    rows = table[table["metric"] == "eaurc"]
    assert set(rows["test_set"]) == {"test", composition.PAPER_UNION}
    assert rows["value"].notna().all() and pd.Series(rows["value"]).between(0, 1).all()
