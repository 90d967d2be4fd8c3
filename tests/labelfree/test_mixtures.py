import numpy as np
import pytest

from helpers.labelfree import counts_in_ratio, draw_counts, draw_places


def test_mixtures_in_a_ratio():
    """The largest that the images allow, at least one of each."""
    assert counts_in_ratio(10, 400) == (10, 10)
    assert counts_in_ratio(1000, 1000, (100, 1)) == (1000, 10)
    assert counts_in_ratio(1000, 70, (3, 7)) == (30, 70)
    assert counts_in_ratio(1000, 1000, (1, 4), size=50) == (10, 40)
    assert counts_in_ratio(5, 9, (1, 100)) == (1, 9)
    with pytest.raises(ValueError, match="known, unknown: at least one image each, got 0 and 3"):
        counts_in_ratio(0, 3)
    with pytest.raises(ValueError, match="ratio: positive numbers expected"):
        counts_in_ratio(3, 3, (0, 1))


def test_drawn_counts_stay_within_what_there_is():
    """From the least to all of them, both ends included."""
    generator = np.random.default_rng(0)
    drawn = np.array([draw_counts(103, 60, 100, generator) for _ in range(200)])
    assert set(drawn[:, 0]) == {100, 101, 102, 103} and set(drawn[:, 1]) == {60}


def test_places_follow_from_name_and_seed():
    """Fewer are a part of more; another name or seed draws others."""
    few, more = draw_places("a", 100, 10, 0), draw_places("a", 100, 50, 0)
    assert set(few) < set(more) and len(set(more)) == 50
    assert set(draw_places("b", 100, 10, 0)) != set(few) != set(draw_places("a", 100, 10, 1))
    assert np.array_equal(draw_places("a", 7, 7, 3), np.arange(7))
