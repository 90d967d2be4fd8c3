"""Which areas can be compared between unions of different composition."""

import pandas as pd

from helpers.papers.unknown_detection import composition
from helpers.tables import printed_numbers


def test_there_is_an_excess_of_the_test_images_and_at_the_papers_shares_alone():
    numbers = printed_numbers.load("unknown_detection")
    table = composition.printed(numbers[numbers["table"] == "5"])
    rows = table[table["metric"] == "eaurc"]
    assert set(rows["test_set"]) == {"test", composition.PAPER_UNION}
    assert rows["value"].notna().all() and pd.Series(rows["value"]).between(0, 1).all()
