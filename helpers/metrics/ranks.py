"""Rank tests over cases, such as models, on which all methods are measured (Demšar 2006).

Friedman's test examines whether any method is better than another, Nemenyi's test which pairs
differ.  Both use only the order of the methods within each case.  They assume independent cases:
average the values of one model on several data sets into one case first.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import pandas as pd

from helpers.checks import float_array


class Friedman(NamedTuple):
    """What `friedman` returns: the statistic as chi-square and as F, each with its p value."""

    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float


def mean_ranks(values: pd.DataFrame, *, lower_is_better: bool) -> pd.Series:
    """Return the mean rank of each method over the cases; the best method of a case has rank 1.

    Parameters
    ----------
    values : DataFrame of numbers, shape [cases, methods]
        One metric.  Methods that tie in a case share the mean of their ranks.
    lower_is_better : bool
        Whether rank 1 belongs to the lowest number (error rates) or the highest (accuracies).

    Returns
    -------
    Series of float64, shape [methods]
        In [1, methods], in the order of the columns; the mean over them is (methods + 1) / 2.
        All tied gives that to every method.

    Examples
    --------
    >>> values = pd.DataFrame({"msp": [0.2, 0.3], "vim": [0.1, 0.3], "knn": [0.4, 0.5]})
    >>> mean_ranks(values, lower_is_better=True).to_dict()
    {'msp': 1.75, 'vim': 1.25, 'knn': 3.0}
    """
    return _ranks(values, lower_is_better).mean().rename("mean rank")


def friedman(values: pd.DataFrame, *, lower_is_better: bool) -> Friedman:
    r"""Test whether all methods are equally good: Friedman's test, corrected for ties.

    With the ranks :math:`r_{ij}` of k methods in n cases and their mean :math:`(k + 1) / 2`,

    .. math::
        \chi^2 = (k - 1) \frac{S}{T}, \quad F = \frac{(n - 1) S}{n T - S}, \quad
        S = \sum_j \Big(\sum_i r_{ij} - n \frac{k + 1}{2}\Big)^2, \quad
        T = \sum_{ij} \Big(r_{ij} - \frac{k + 1}{2}\Big)^2,

    with k − 1 degrees of freedom for chi-square, and k − 1 and (k − 1)(n − 1) for F.  F is the form
    of Iman and Davenport, :math:`(n - 1) \chi^2 / (n (k - 1) - \chi^2)`.  The p value of chi-square
    is too high for few cases and methods, and the p value of F less so.  Sources: Friedman 1937;
    Iman and Davenport 1980; Demšar 2006, section 3.2.2, whose formula does not correct for ties.
    For three methods or more, statistic and p value equal ``scipy.stats.friedmanchisquare``, which
    returns NaN if all values are tied and refuses two methods.  For two methods they equal the sign
    test with the normal approximation.

    Parameters
    ----------
    values, lower_is_better
        As for `mean_ranks`; both directions give equal results.

    Returns
    -------
    Friedman
        ``statistic`` in [0, n (k - 1)] and its ``p_value``, ``f_statistic`` and its ``f_p_value``.
        If all methods tie in every case, the statistics are 0 and the p values 1; equal ranks in
        every case give an infinite F with p value 0.

    Examples
    --------
    >>> values = pd.DataFrame({"msp": [1, 2, 3], "vim": [2, 4, 4], "knn": [3, 3, 5]})
    >>> test = friedman(values, lower_is_better=True)
    >>> round(test.statistic, 3), round(test.f_statistic, 3), round(test.f_p_value, 3)
    (4.667, 7.0, 0.049)
    """
    ranks = _ranks(values, lower_is_better)
    cases, methods = ranks.shape
    if cases < 2:
        raise ValueError("values: one case only; give two or more, on which methods can agree")
    # Ranks and their mean are multiples of 0.5, so these sums and their difference are exact.
    deviations = ranks.to_numpy() - (methods + 1) / 2
    between = float((deviations.sum(axis=0) ** 2).sum())
    total = float((deviations**2).sum())
    if not total:
        return Friedman(0.0, 1.0, 0.0, 1.0)
    from scipy import stats  # here, since SciPy takes long to import

    freedom = methods - 1
    statistic = freedom * between / total
    rest = cases * total - between
    f_statistic = (cases - 1) * between / rest if rest else math.inf
    return Friedman(
        statistic,
        float(stats.chi2.sf(statistic, freedom)),
        f_statistic,
        float(stats.f.sf(f_statistic, freedom, freedom * (cases - 1))),
    )


@functools.cache  # SciPy integrates numerically
def critical_difference(methods: int, cases: int, *, alpha: float = 0.05) -> float:
    r"""Return the smallest significant difference of two mean ranks in Nemenyi's test.

    .. math:: \mathrm{CD} = q_\alpha \sqrt{\frac{k (k + 1)}{6 n}}

    for k methods and n cases, with :math:`q_\alpha` the quantile of the studentized range of k
    normal variables (``scipy.stats.studentized_range``, infinite degrees of freedom) over √2.
    Source: Nemenyi 1963; Demšar 2006, section 3.2.2 and table 5a.

    Parameters
    ----------
    methods, cases : int
        Number of methods k, at least 2, of which all pairs are tested at once; number of cases n.
    alpha : float
        Probability, in (0, 1), that any pair differs if all methods are equally good.

    Returns
    -------
    float
        In ranks.  With few cases it may exceed k − 1, the largest possible difference.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    if methods < 2:
        raise ValueError(f"methods: 2 or more expected, got {methods}")
    if cases < 1:
        raise ValueError(f"cases: 1 or more expected, got {cases}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha: a probability between 0 and 1 expected, got {alpha}")
    from scipy import stats  # here, since SciPy takes long to import

    quantile = stats.studentized_range.ppf(1 - alpha, methods, math.inf)
    # 12, not 6: the quantile is not divided by √2
    return float(quantile * math.sqrt(methods * (methods + 1) / (12 * cases)))


def _ranks(values: pd.DataFrame, lower_is_better: bool) -> pd.DataFrame:
    """Return the ranks within each case, with mean ranks for ties; refuse invalid values."""
    _refuse_duplicates("values", "case", values.index)
    _refuse_duplicates("values", "method", values.columns)
    missing: list[str] = []
    for case, row in values.isna().iterrows():
        missing += [f"{method} of {case}" for method in values.columns[row]]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise ValueError(
            f"values: missing {', '.join(missing[:3])}{more}; leave out the case or the method"
        )
    if values.shape[1] < 2:
        raise ValueError(f"values: two methods or more expected, got {values.shape[1]}")
    float_array("values", values, ndim=2, finite=False)
    return values.rank(axis=1, ascending=lower_is_better)


def _refuse_duplicates(name: str, kind: str, index: pd.Index) -> None:
    if not index.is_unique:
        raise ValueError(f"{name}: {kind} {index[index.duplicated()][0]} appears twice")
