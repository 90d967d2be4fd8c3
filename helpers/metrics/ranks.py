"""Mean ranks over cases, such as models, on which all methods are measured (Demšar 2006).

Nemenyi's test examines which pairs of methods differ.  It uses only the order of the methods within
each case, and assumes independent cases: average the values of one model on several data sets into
one case first.
"""

from __future__ import annotations

import functools
import math

import pandas as pd

from helpers.checks import float_array, open_share, whole_number


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
    whole_number("methods", methods, least=2)
    whole_number("cases", cases)
    open_share("alpha", alpha)
    from scipy import stats  # here, since SciPy takes long to import

    quantile = stats.studentized_range.ppf(1 - alpha, methods, math.inf)
    # 12, not 6: the quantile is not divided by √2
    return float(quantile * math.sqrt(methods * (methods + 1) / (12 * cases)))


def _ranks(values: pd.DataFrame, lower_is_better: bool) -> pd.DataFrame:
    """Return the ranks within each case, with mean ranks for ties; refuse invalid values."""
    _refuse_duplicates("case", values.index)
    _refuse_duplicates("method", values.columns)
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


def _refuse_duplicates(kind: str, index: pd.Index) -> None:
    if not index.is_unique:
        raise ValueError(f"values: {kind} {index[index.duplicated()][0]} appears twice")
