from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from helpers.metrics.ranks import critical_difference, friedman, groups, mean_ranks

# Demšar 2006, table 6: mean ranks of four methods on 14 data sets.
DEMSAR = pd.Series({"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964})


def table(values):
    """Name the cases c0, c1 … and the methods m0, m1 …"""
    values = np.asarray(values)
    return pd.DataFrame(values).rename("c{}".format).rename(columns="m{}".format)


def with_ties(seed, cases=7, methods=5):
    return table(np.random.default_rng(seed).integers(4, size=(cases, methods)))


def test_mean_ranks_by_hand():
    """Ties share their mean rank, and rank 1 is at the end that is better."""
    values = table([[0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0.5, 0.9], [2.0, 3.0, 1.0, 3.0]])
    lower = mean_ranks(values, lower_is_better=True)  # 1 2 3 4, 2 2 2 4, 2 3.5 1 3.5
    assert lower.to_dict() == pytest.approx({"m0": 5 / 3, "m1": 2.5, "m2": 2.0, "m3": 11.5 / 3})
    higher = mean_ranks(values, lower_is_better=False)
    assert higher.tolist() == pytest.approx((5 - lower).tolist())


@pytest.mark.parametrize("seed", range(4))
def test_only_the_order_within_a_case_counts(seed):
    """Neither the scale of a case nor the order of cases and methods matters."""
    values = with_ties(seed)
    scale = 10.0 ** np.arange(len(values))
    other = (values.mul(scale, axis=0) - 3).iloc[::-1, ::-1]
    ranks, others = (mean_ranks(v, lower_is_better=True) for v in (values, other))
    pd.testing.assert_series_equal(ranks, others[ranks.index])
    assert ranks.mean() == pytest.approx((values.shape[1] + 1) / 2)
    expected = friedman(values, lower_is_better=True)
    assert friedman(other, lower_is_better=True) == expected
    assert friedman(values, lower_is_better=False) == expected


def test_friedman_by_hand():
    """With ranks 1.5 1.5 3 and 1 2.5 2.5, S = 2.25 + 0 + 2.25 and T = 1.5 + 1.5."""
    test = friedman(table([[1, 1, 2], [5, 7, 7]]), lower_is_better=True)
    assert test.statistic == 2 * 4.5 / 3
    assert test.f_statistic == 4.5 / (2 * 3 - 4.5)
    assert test.p_value == pytest.approx(np.exp(-1.5))  # chi-square of two degrees of freedom
    assert test.f_p_value == pytest.approx(1 / (1 + 3))  # F of two and two


@pytest.mark.parametrize("seed", range(4))
def test_friedman_is_that_of_scipy(seed):
    """Statistic and p value with ties, and F as in an analysis of variance of the ranks."""
    values = with_ties(seed)
    test = friedman(values, lower_is_better=True)
    theirs = stats.friedmanchisquare(*values.to_numpy().T)
    assert test[:2] == pytest.approx([theirs.statistic, theirs.pvalue])
    cases, methods = values.shape
    ranks = stats.rankdata(values, axis=1)
    explained = ranks.mean(axis=0) - ranks.mean()
    residual = ranks - ranks.mean() - explained
    freedom = methods - 1, (methods - 1) * (cases - 1)
    f = (cases * (explained**2).sum() / freedom[0]) / ((residual**2).sum() / freedom[1])
    assert test[2:] == pytest.approx([f, stats.f.sf(f, *freedom)])
    chi = test.statistic
    assert f == pytest.approx((cases - 1) * chi / (cases * (methods - 1) - chi))


def test_friedman_of_perfect_agreement_and_of_none():
    """Where no case has an order nothing differs; where all have the same, F is infinite."""
    assert friedman(table(np.ones((4, 3))), lower_is_better=True) == (0, 1, 0, 1)
    for case in ([1, 2, 3, 4, 5, 6, 7], [1, 1, 3, 4, 5, 7, 7]):
        test = friedman(table([case] * 11), lower_is_better=True)
        assert test.statistic == pytest.approx(11 * 6)
        assert test.f_statistic == np.inf and test.f_p_value == 0 < test.p_value < 1e-10


@pytest.mark.parametrize("function", [mean_ranks, friedman])
def test_bad_values_are_named(function):
    values = table(np.arange(12.0).reshape(3, 4))
    for bad, message in (
        (values.replace(6.0, np.nan), "missing m2 of c1; leave out"),
        (values * np.nan, "missing m0 of c0, m1 of c0, m2 of c0 and 9 more"),
        (values[["m0"]], "two methods or more expected, got 1"),
        (values[:0], "values: empty"),
        (values.astype(str), "values: numbers expected"),
        (values.rename(index={"c2": "c0"}), "case c0 is there twice"),
        (values.rename(columns={"m2": "m3"}), "method m3 is there twice"),
    ):
        with pytest.raises(ValueError, match=message):
            function(bad, lower_is_better=True)


def test_one_case_has_mean_ranks_but_no_test():
    one = table([[3, 1, 2]])
    assert mean_ranks(one, lower_is_better=True).tolist() == [3, 1, 2]
    with pytest.raises(ValueError, match="one case only"):
        friedman(one, lower_is_better=True)


@pytest.mark.parametrize(
    ("alpha", "printed"),
    [
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_critical_values_are_those_of_demsar(alpha, printed):
    """Table 5a, for 2 to 10 methods; it rounds the studentized range before dividing it by √2."""
    for methods, value in enumerate(printed, start=2):
        unit = np.sqrt(methods * (methods + 1) / 6)
        exact = critical_difference(methods, 1, alpha=alpha) / unit
        assert round(round(exact * np.sqrt(2), 3) / np.sqrt(2), 3) == value
        assert critical_difference(methods, 25, alpha=alpha) == pytest.approx(exact * unit / 5)


def test_critical_difference_refuses_what_is_out_of_range():
    for arguments, message in (((1, 5), "methods: 2"), ((3, 0), "cases: 1")):
        with pytest.raises(ValueError, match=message):
            critical_difference(*arguments)
    for alpha in (0, 1, np.nan):
        with pytest.raises(ValueError, match="alpha: a probability"):
            critical_difference(3, 5, alpha=alpha)


def test_groups_of_demsar():
    """At 0.05 nothing differs; at 0.10 C4.5 differs from both with m, and cf from neither side."""
    assert len(groups(DEMSAR, critical_difference(4, 14))) == 1
    assert groups(DEMSAR, critical_difference(4, 14, alpha=0.10)) == [
        ("C4.5+m+cf", "C4.5+m", "C4.5+cf"),
        ("C4.5+cf", "C4.5"),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_groups_are_all_maximal_sets(seed):
    """Against a search through all subsets; ranks with ties, differences that equal a gap."""
    generator = np.random.default_rng(seed)
    names = list("abcdef")
    ranks = pd.Series(generator.integers(2, 12, size=6) / 2, names)
    for difference in (0.25, 0.5, 1.0, 2.0, 6.0):
        alike = [
            set(chosen)
            for size in range(1, 7)
            for chosen in combinations(names, size)
            if max(ranks[list(chosen)]) - min(ranks[list(chosen)]) < difference
        ]
        maximal = [one for one in alike if not any(one < other for other in alike)]
        found = groups(ranks, difference)
        assert len(found) == len(maximal) and all(set(one) in maximal for one in found)
        assert found[0][0] == ranks.idxmin()
        assert all(ranks[list(one)].is_monotonic_increasing for one in found)


def test_groups_refuse_what_has_no_meaning():
    for ranks, difference, message in (
        (DEMSAR, 0.0, "difference: a positive number"),
        (DEMSAR, np.nan, "difference: a positive number"),
        (DEMSAR * np.nan, 1.0, "ranks: contains NaN"),
        (DEMSAR[:0], 1.0, "ranks: empty"),
        (DEMSAR.rename({"C4.5+m": "C4.5"}), 1.0, "method C4.5 is there twice"),
    ):
        with pytest.raises(ValueError, match=message):
            groups(ranks, difference)


@pytest.mark.parametrize(
    ("count", "words"), [(3, "A of 2; leave"), (4, "A of 2 and 1 more; leave")]
)
def test_as_many_missing_values_are_named_as_can_be_read(count, words):
    values = pd.DataFrame({"A": [np.nan] * count + [1.0], "B": 1.0})
    with pytest.raises(ValueError, match=words):
        mean_ranks(values, lower_is_better=True)


def test_two_methods_are_enough():
    values = pd.DataFrame({"A": [1.0, 3.0], "B": [2.0, 4.0]})
    assert mean_ranks(values, lower_is_better=True).tolist() == [1, 2]
    with pytest.raises(ValueError, match="two methods or more expected, got 1"):
        mean_ranks(values[["A"]], lower_is_better=True)
