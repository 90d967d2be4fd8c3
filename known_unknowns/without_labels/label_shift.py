"""The share of images of a mixture that are unknown, where classes have other shares than before.

`share_bound` takes the known images of the mixture to be drawn like the validation
images.  Here only those of each class are: the classes themselves may be more or less frequent.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, xlogy

from helpers.checks import float_array, open_share

_PLACES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.99)
_STEPS = 40  # of the bisection


def label_shift_share_bound(
    validation, classes, mixture, *, times: float = 2.0, level: float = 0.95
) -> float:
    r"""Return a lower confidence bound of the share of unknown images, under label shift.

    Below a score t lie the share G(t) of the mixture and :math:`F_y(t)` of the images of class y.
    If the known images have the share :math:`w_y` of each class, then
    :math:`G \le \pi + (1 - \pi) \sum_y w_y F_y`, and so

    .. math:: \pi \ge \frac{G(t) - F(t)}{1 - F(t)}, \quad
              F(t) = \max_w \sum_y w_y F_y(t),\; w_y \le \text{times} \cdot n_y / n

    at each of a few t, where G is bounded from below and F from above.

    Parameters
    ----------
    validation : array_like, shape [n]
        Scores of known images, higher = more likely known, which chose nothing that the score
        depends on.
    classes : array_like of int, shape [n]
        The true class of each.
    mixture : array_like, shape [m]
        Scores of the unlabelled images; the known ones of each class are drawn like those of that
        class among the validation images.
    times : float
        How many times as frequent a class may be among the known images as among the validation
        images, at least 1.
    level : float
        In (0, 1).

    Returns
    -------
    float
        In [0, 1); the true share is smaller with a probability of at most 1 − `level`, for any
        number of images and any shares of the classes that `times` allows.

    Notes
    -----
    t is the k-th smallest score of the mixture, for ranks k that depend on m alone.  G(t) follows
    :math:`\operatorname{Beta}(k, m + 1 - k)` or is larger.  A weighted mean of n independent shares
    of weights of at most times / n obeys Chernoff's bound of n / times images (the logarithm of the
    moment-generating function is convex in a weight, and concave in a probability), so that
    :math:`\frac{n}{\text{times}} \operatorname{kl}(\hat F, F) \le \log(1 / \delta)` bounds F.  All
    bounds are joined by Bonferroni's inequality.

    *Not to be used* where the images of a class have changed, as those of another camera have, nor
    where classes are told apart by the score alone: it counts all that may be one of these as
    known.  Without label shift `share_bound` shows more.

    Examples
    --------
    >>> known, classes = np.arange(2000.0), np.arange(2000) % 4
    >>> round(label_shift_share_bound(known, classes, [*known, *np.full(2000, -1)]), 2)
    0.42
    >>> label_shift_share_bound(known, classes, known)
    0.0
    """
    validation, mixture = float_array("validation", validation), float_array("mixture", mixture)
    numbers = _classes("classes", classes, len(validation))
    if not times >= 1:
        raise ValueError(f"times: at least 1 expected, got {times}")
    images, tail = len(mixture), 1 - open_share("level", level)
    ranks = np.unique([max(1, round(place * images)) for place in _PLACES])
    tail = tail / (2 * len(ranks))
    found = betaincinv(ranks, images + 1 - ranks, tail)
    below = validation[:, None] <= np.sort(mixture)[ranks - 1]
    counts = np.bincount(numbers)
    shares = np.stack([np.bincount(numbers, weights=one) for one in below.T]) / np.maximum(
        counts, 1
    )
    known = _upper(_most(shares, times * counts / len(numbers)), len(numbers) / times, tail)
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.where(known < 1, (found - known) / (1 - known), 0.0)
    return float(np.clip(bounds.max(), 0, 1))


def _classes(name: str, values, length: int) -> np.ndarray:
    values = np.asarray(values)
    if values.shape != (length,) or not np.issubdtype(values.dtype, np.integer) or values.min() < 0:
        raise ValueError(f"{name}: {length} numbers of classes expected, from 0 on")
    return values


def _most(shares: np.ndarray, caps: np.ndarray) -> np.ndarray:
    """Return the largest mean of shares [R, K] whose weights are at most the caps and add to 1."""
    order = np.argsort(-shares, axis=1)
    ranked, before = np.take_along_axis(shares, order, axis=1), np.cumsum(caps[order], axis=1)
    weights = np.diff(np.minimum(before, 1), axis=1, prepend=0)
    return (ranked * weights).sum(axis=1)


def _upper(shares: np.ndarray, images: float, tail: float) -> np.ndarray:
    """Return the largest probability that shares are not too small for, by Chernoff's bound."""
    low, high = shares.copy(), np.ones_like(shares)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = xlogy(shares, shares / middle) + xlogy(1 - shares, (1 - shares) / (1 - middle))
        refused = images * apart > -np.log(tail)
        low, high = np.where(refused, low, middle), np.where(refused, middle, high)
    return high
