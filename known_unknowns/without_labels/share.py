"""The share of images of a mixture that are unlike the validation images, from scores alone.

The mixture is :math:`G = (1 - \\pi) F + \\pi U`: known images that are drawn like the validation
images, and a share π of others, of which nothing is assumed.  Those may look like known ones, and
then no score tells: π can be bounded from below, never from above.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincinv, xlogy

from helpers.checks import float_array, open_share

_PLACES = (0.01, 0.03, 0.1, 0.25, 0.5, 0.75)
_STEPS = 30  # of the bisection: a share to within 1e-9
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_LABEL_SHIFT_PLACES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.99)
_LABEL_SHIFT_STEPS = 40  # of the bisection
_GAMMA, _DELTA = 0.01, 0.1  # of the authors' code


def share_bound(validation, mixture, *, level: float = 0.95) -> float:
    r"""Return a lower confidence bound of the share of images unlike the validation images.

    At the k-th smallest of the n validation scores, known images lie below with a probability B
    that follows the law :math:`\operatorname{Beta}(k, n + 1 - k)`, whatever the scores.  If the
    share is π, no more than :math:`\operatorname{Bin}(m, \pi + (1 - \pi) B)` of the m images of the
    mixture lie below it, and the bound is the largest π for which what was counted is too many:

    .. math:: E_B\, P(\operatorname{Bin}(m, \pi + (1 - \pi) B) \ge c_k) \le (1 - \text{level}) / r

    at one of r ranks k, which depend on n alone.

    Parameters
    ----------
    validation : array_like, shape [n]
        Scores of known images, higher = more likely known, which chose nothing that the score
        depends on.
    mixture : array_like, shape [m]
        Scores of the unlabelled images, the known ones among them drawn like those.
    level : float
        In (0, 1).

    Returns
    -------
    float
        In [0, 1); the true share is smaller with a probability of at most 1 − `level`, for any
        number of images.  0 says nothing: with few images, or with constant scores, it is 0.

    Notes
    -----
    Exact at each rank, as the binomial bound of Clopper and Pearson 1934 is, and joined by
    Bonferroni's inequality.  Tied scores count as not below, which makes it smaller only.  Unlike a
    band of one width it is narrow at low scores, where few known images and most unknown ones are.

    *Not to be used* where the known images have changed too: it counts all that is unlike the
    validation images, whether known or not.  Other shares of the classes are no such change for
    `label_shift_share_bound`; another camera is one for both.

    Examples
    --------
    >>> known = np.arange(1000.0)
    >>> round(share_bound(known, [*known, *np.full(1000, -1)]), 2)
    0.47
    >>> share_bound(known, known)
    0.0
    """
    (validation, mixture), tail = _checked(validation, mixture), 1 - open_share("level", level)
    count, images = len(validation), len(mixture)
    ranks = np.unique([max(1, round(place * count)) for place in _PLACES])
    below = np.searchsorted(np.sort(mixture), np.sort(validation)[ranks - 1])
    ranks, below, tail = ranks[below > 0], below[below > 0, None], tail / len(ranks)
    if not len(ranks):
        return 0.0
    # Gauss's rule for the expectation, with most nodes where B is large and so are counts.
    place = (_NODES + 1) / 2
    known = betaincinv(ranks[:, None], count + 1 - ranks[:, None], 1 - place**3)
    weights = _WEIGHTS * 1.5 * place**2
    low, high = np.zeros(len(ranks)), np.ones(len(ranks))
    for _ in range(_STEPS):
        share = (low + high) / 2
        probability = share[:, None] + (1 - share[:, None]) * known
        refused = betainc(below, images - below + 1, probability) @ weights <= tail
        low, high = np.where(refused, share, low), np.where(refused, high, share)
    return float(low.max())


def estimate_share(validation, mixture) -> float:
    r"""Return an estimate of the share of images unlike the validation images.

    Where no unknown image scores above t, the mixture has :math:`1 - \pi` times as many images
    there as the validation images have, and so

    .. math:: \hat\pi = 1 - \frac{\hat S_G(t)}{\hat S_F(t)}, \quad
              t = \arg\min_t \frac{\hat S_G(t) + (1 + \gamma)(\epsilon_m + \epsilon_n)}{\hat S_F(t)}

    with the shares :math:`\hat S` of images that score at least t.

    Parameters
    ----------
    validation, mixture
        As for `share_bound`.

    Returns
    -------
    float
        In [0, 1].  Where even the highest scores are shared by unknown images, it is too small,
        however many images there are: it tends to the largest share that can be shown.

    Notes
    -----
    Garg et al. 2021 (best bin estimation), whose γ = 0.01 and
    :math:`\epsilon_n = \sqrt{\log(4 / 0.1) / 2 n}` are taken.

    *Not to be used* to divide by with a weak score, such as the maximum probability of a poor
    network: give the bound then.

    Examples
    --------
    >>> known = np.arange(1000.0)
    >>> round(estimate_share(known, [*known, *np.full(1000, -1)]), 2)
    0.5
    """
    validation, mixture = _checked(validation, mixture)
    slack = sum(np.sqrt(np.log(4 / _DELTA) / (2 * len(one))) for one in (validation, mixture))
    places = np.unique(validation)
    ours, theirs = (
        1 - np.searchsorted(np.sort(one), places) / len(one) for one in (validation, mixture)
    )
    best = np.argmin((theirs + (1 + _GAMMA) * slack) / ours)
    return float(max(0.0, 1 - theirs[best] / ours[best]))


def _checked(validation, mixture) -> tuple[np.ndarray, np.ndarray]:
    return float_array("validation", validation), float_array("mixture", mixture)


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
    ranks = np.unique([max(1, round(place * images)) for place in _LABEL_SHIFT_PLACES])
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
    """Return an upper confidence bound of probabilities by Chernoff's bound."""
    low, high = shares.copy(), np.ones_like(shares)
    for _ in range(_LABEL_SHIFT_STEPS):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = xlogy(shares, shares / middle) + xlogy(1 - shares, (1 - shares) / (1 - middle))
        refused = images * apart > -np.log(tail)
        low, high = np.where(refused, low, middle), np.where(refused, middle, high)
    return high
