import numpy as np
import pandas as pd
import pytest
from scipy import stats

from helpers.metrics.ranks import critical_difference, friedman, mean_ranks
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


@pytest.mark.parametrize("seed", range(4))
def test_friedman_equals_scipys_test(seed):
    """Statistic and p value with ties, and F as in an analysis of variance of the ranks."""
    values = table(np.random.default_rng(seed).integers(4, size=(7, 5)))  # with ties
    test = friedman(values, lower_is_better=True)
    peer = stats.friedmanchisquare(*values.to_numpy().T)
    assert test[:2] == pytest.approx([peer.statistic, peer.pvalue])
    cases, methods = values.shape
    ranks = stats.rankdata(values, axis=1)
    explained = ranks.mean(axis=0) - ranks.mean()
    residual = ranks - ranks.mean() - explained
    freedom = methods - 1, (methods - 1) * (cases - 1)
    f = (cases * (explained**2).sum() / freedom[0]) / ((residual**2).sum() / freedom[1])
    assert test[2:] == pytest.approx([f, stats.f.sf(f, *freedom)])
    turned = values.mul(10.0 ** np.arange(cases), axis=0).iloc[::-1, ::-1]  # the order counts alone
    assert friedman(turned, lower_is_better=False) == pytest.approx(test)


def test_friedman_of_perfect_agreement_and_of_none():
    """Constant cases give p = 1; cases with equal orders give an infinite F."""
    assert friedman(table(np.ones((4, 3))), lower_is_better=True) == (0, 1, 0, 1)
    for case in PRINTED["equal orders"]:
        test = friedman(table([case] * 11), lower_is_better=True)
        assert test.statistic == pytest.approx(11 * 6)
        assert test.f_statistic == np.inf
        assert test.f_p_value == 0 < test.p_value < 1e-10


@pytest.mark.parametrize("alpha", PRINTED["critical"])
def test_critical_values_equal_the_table_of_demsar(alpha):
    """He rounds the studentized range before he divides it by √2."""
    for methods, value in enumerate(PRINTED["critical"][alpha], start=2):
        unit = np.sqrt(methods * (methods + 1) / 6)
        exact = critical_difference(methods, 1, alpha=alpha) / unit
        assert round(round(exact * np.sqrt(2), 3) / np.sqrt(2), 3) == value
        assert critical_difference(methods, 25, alpha=alpha) == pytest.approx(exact * unit / 5)
