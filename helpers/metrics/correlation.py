"""How far two quantities go together: over their values, or over their ranks."""

from __future__ import annotations

import numpy as np


def pearson(first: np.ndarray, second: np.ndarray, *, constant: float = np.nan) -> np.ndarray:
    """Return Pearson's correlation along the first axis.

    For [N, ...] values, many pairs at once, without a warning.  NaN gives NaN; `constant` is
    the value where one of the two does not vary.

    >>> pearson(np.array([1, 2, 3]), np.array([2, 4, 6])).item()
    1.0
    >>> pearson(np.full(3, 0.1), np.full(3, 0.1)).item()  # its mean is rounded
    nan
    """
    varies = (np.ptp(first, axis=0) != 0) & (np.ptp(second, axis=0) != 0)
    first = first - first.mean(axis=0)
    second = second - second.mean(axis=0)
    norm = np.asarray(np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0)))
    nothing = np.full_like(norm, constant)
    return np.divide((first * second).sum(axis=0), norm, out=nothing, where=varies & (norm != 0))


def spearman(first: np.ndarray, second: np.ndarray, *, constant: float = np.nan) -> np.ndarray:
    """Return Spearman's correlation, `pearson` of the ranks; tied values have their mean rank.

    >>> spearman(np.array([1, 2, 30]), np.array([-1, -8, -9])).item()
    -1.0
    """
    from scipy.stats import rankdata  # here, since it takes long to import

    return pearson(rankdata(first, axis=0), rankdata(second, axis=0), constant=constant)
