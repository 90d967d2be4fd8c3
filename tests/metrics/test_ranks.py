import numpy as np
import pandas as pd
import pytest

from helpers.metrics.ranks import critical_difference, mean_ranks
from tests.mistakes import beside

PRINTED = beside(__file__, "demsar.yaml")


def table(values):
    """Name the cases c0, c1 … and the methods m0, m1 …"""
    values = np.asarray(values)
    return pd.DataFrame(values).rename("c{}".format).rename(columns="m{}".format)


def test_mean_ranks_by_hand():
    """Ties share their mean rank, and rank 1 is at the end that is better."""
    values = table(PRINTED["values"])
    lower = mean_ranks(values, lower_is_better=True)
    assert lower.tolist() == pytest.approx(np.mean(PRINTED["ranks"], axis=0).tolist())
    assert mean_ranks(values[["m1", "m0"]], lower_is_better=True).tolist() == [11 / 6, 7 / 6]
    higher = mean_ranks(values, lower_is_better=False)
    assert higher.tolist() == pytest.approx((5 - lower).tolist())


@pytest.mark.parametrize("alpha", PRINTED["critical"])
def test_critical_values_equal_the_table_of_demsar(alpha):
    """He rounds the studentized range before he divides it by √2."""
    for methods, value in enumerate(PRINTED["critical"][alpha], start=2):
        unit = np.sqrt(methods * (methods + 1) / 6)
        exact = critical_difference(methods, 1, alpha=alpha) / unit
        assert round(round(exact * np.sqrt(2), 3) / np.sqrt(2), 3) == value
        assert critical_difference(methods, 25, alpha=alpha) == pytest.approx(exact * unit / 5)
