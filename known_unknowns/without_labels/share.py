"""The share of images that are unlike the validation images, and lists of such images, from scores.

The mixture is :math:`G = (1 - \\pi) F + \\pi U`: known images that are drawn like the
validation images, and a share π of other images, of which nothing is assumed. These may look
like known images, and then no score can tell: π has a lower bound and no upper bound.

All functions take the scores of known images, ``validation`` [n], and of unlabelled images,
``mixture`` [M]; higher = more likely known.  The validation images chose nothing that the score
depends on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, xlogy

from helpers.checks import float_array, open_share
from helpers.metrics.inputs import correct_array

_PLACES = (0.01, 0.03, 0.1, 0.25, 0.5, 0.75)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_LABEL_SHIFT_PLACES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.99)
_GAMMA, _DELTA = 0.01, 0.1  # of the authors' code
_MIDDLE = 0.5  # p-values above it are treated as those of known images


def share_bound(validation, mixture, *, level: float = 0.95) -> float:
    r"""Return a lower confidence bound of the share of images unlike the validation images.

    A known image is below the k-th smallest of the n validation scores with a probability B
    that follows :math:`\operatorname{Beta}(k, n + 1 - k)`. If the share is π, at most
    :math:`\operatorname{Bin}(M, \pi + (1 - \pi) B)` images of the mixture are below it.  The bound
    is the largest π for which the number that was counted is too large:

    .. math:: E_B\, P(\operatorname{Bin}(M, \pi + (1 - \pi) B) \ge c_k) \le (1 - \text{level}) / r

    at one of r ranks k, which depend on n alone.

    Parameters
    ----------
    validation, mixture : array_like, shapes [n] and [M]
        Scores, see the module.
    level : float
        Confidence, in (0, 1).

    Returns
    -------
    float
        In [0, 1). The true share is smaller with a probability of at most 1 − `level`, for
        any number of images. 0 says nothing: with few images, or with constant scores, it is
        0.

    Notes
    -----
    Exact at each rank, like the bound of Clopper and Pearson 1934, and joined by Bonferroni's
    inequality.  Tied scores count as not below, and only make the bound smaller.

    *Do not use* it if the known images have changed: the bound counts all images that are unlike
    the validation images.  `label_shift_share_bound` allows other shares of the classes.

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

    def refused(share: np.ndarray) -> np.ndarray:
        probability = share[:, None] + (1 - share[:, None]) * known
        return betainc(below, images - below + 1, probability) @ weights <= tail

    return float(_bisect(refused, np.zeros(len(ranks)), steps=30)[0].max())


def _bisect(refused: Callable, low: np.ndarray, *, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of intervals below 1, halved by whether their middles are refused."""
    high = np.ones_like(low)
    for _ in range(steps):
        middle = (low + high) / 2
        lower = refused(middle)
        low, high = np.where(lower, middle, low), np.where(lower, high, middle)
    return low, high


def estimate_share(validation, mixture) -> float:
    r"""Return an estimate of the share of images unlike the validation images.

    If no unknown image scores above t, the mixture has :math:`1 - \pi` times as many images
    there as the validation images have, and so

    .. math:: \hat\pi = 1 - \frac{\hat S_G(t)}{\hat S_F(t)}, \quad
              t = \arg\min_t \frac{\hat S_G(t) + (1 + \gamma)(\epsilon_M + \epsilon_n)}{\hat S_F(t)}

    with the shares :math:`\hat S` of images that score at least t (Garg et al. 2021, best bin
    estimation, with their γ and ε).

    Parameters
    ----------
    validation, mixture : array_like, shapes [n] and [M]
        Scores, see the module.

    Returns
    -------
    float
        In [0, 1]. It is too small if some unknown images have the highest scores. *Do not
        use* it with a weak score, such as the maximum probability of a poor network.

    Examples
    --------
    >>> known = np.arange(1000.0)
    >>> round(estimate_share(known, [*known, *np.full(1000, -1)]), 2)
    0.5
    """
    validation, mixture = _checked(validation, mixture)
    slack = sum(np.sqrt(np.log(4 / _DELTA) / (2 * len(each))) for each in (validation, mixture))
    places = np.unique(validation)
    ours, others = (
        1 - np.searchsorted(np.sort(each), places) / len(each) for each in (validation, mixture)
    )
    best = np.argmin((others + (1 + _GAMMA) * slack) / ours)
    return float(max(0.0, 1 - others[best] / ours[best]))


def _checked(validation, mixture) -> tuple[np.ndarray, np.ndarray]:
    return float_array("validation", validation), float_array("mixture", mixture)


def label_shift_share_bound(
    validation, classes, mixture, *, times: float = 2.0, level: float = 0.95
) -> float:
    r"""Return a lower confidence bound of the share of unknown images, under label shift.

    The share G(t) of the mixture and :math:`F_y(t)` of the images of class y score below t.
    If the known images have the share :math:`w_y` of each class, then
    :math:`G \le \pi + (1 - \pi) \sum_y w_y F_y`, and so

    .. math:: \pi \ge \frac{G(t) - F(t)}{1 - F(t)}, \quad
              F(t) = \max_w \sum_y w_y F_y(t),\; w_y \le \text{times} \cdot n_y / n

    at each of a few t, with a lower bound of G and an upper bound of F.

    Parameters
    ----------
    validation, mixture : array_like, shapes [n] and [M]
        Scores, see the module.  Only the known images of each class must be drawn alike.
    classes : array_like of int, shape [n]
        True class of each validation image.
    times : float
        Factor by which a class may be more frequent than among the validation images, at least 1.
    level : float
        Confidence, in (0, 1).

    Returns
    -------
    float
        In [0, 1). The true share is smaller with a probability of at most 1 − `level`, for
        any number of images and any shares of the classes that `times` allows.

    Notes
    -----
    t is the k-th smallest score of the mixture, for ranks k that depend on M alone.  G(t) follows
    :math:`\operatorname{Beta}(k, M + 1 - k)` or is larger.  A weighted mean of n shares with
    weights of at most times / n obeys Chernoff's bound of n / times images, since the
    logarithm of the moment-generating function is convex in a weight and concave in a
    probability. Bonferroni's inequality joins all bounds.

    *Do not use* it if the images of a class have changed.  Without label shift `share_bound` shows
    more.

    Examples
    --------
    >>> known, classes = np.arange(2000.0), np.arange(2000) % 4
    >>> round(label_shift_share_bound(known, classes, [*known, *np.full(2000, -1)]), 2)
    0.42
    """
    (validation, mixture), numbers = _checked(validation, mixture), np.asarray(classes)
    count, images = len(validation), len(mixture)
    if (
        numbers.shape != (count,)
        or not np.issubdtype(numbers.dtype, np.integer)
        or numbers.min() < 0
    ):
        raise ValueError(f"classes: {count} numbers of classes expected, from 0 on")
    if not times >= 1:
        raise ValueError(f"times: at least 1 expected, got {times}")
    ranks = np.unique([max(1, round(place * images)) for place in _LABEL_SHIFT_PLACES])
    tail = (1 - open_share("level", level)) / (2 * len(ranks))
    mixed = betaincinv(ranks, images + 1 - ranks, tail)
    below = validation[:, None] <= np.sort(mixture)[ranks - 1]
    counts = np.bincount(numbers)
    shares = np.stack([np.bincount(numbers, weights=each) for each in below.T])
    worst = _most(shares / np.maximum(counts, 1), times * counts / count)

    def allowed(middle: np.ndarray) -> np.ndarray:
        """Return where Chernoff's bound does not exclude so large a share."""
        apart = xlogy(worst, worst / middle) + xlogy(1 - worst, (1 - worst) / (1 - middle))
        return ~(count / times * apart > -np.log(tail))

    with np.errstate(divide="ignore", invalid="ignore"):
        known = _bisect(allowed, worst, steps=40)[1]
        bounds = np.where(known < 1, (mixed - known) / (1 - known), 0.0)
    return float(np.clip(bounds.max(), 0, 1))


def _most(shares: np.ndarray, caps: np.ndarray) -> np.ndarray:
    """Return the largest mean of shares [R, K] whose weights are at most the caps and add to 1."""
    order = np.argsort(-shares, axis=1)
    ranked, before = np.take_along_axis(shares, order, axis=1), np.cumsum(caps[order], axis=1)
    return (ranked * np.diff(np.minimum(before, 1), axis=1, prepend=0)).sum(axis=1)


class Selection(NamedTuple):
    """The images of a mixture that are suspected to be unknown.

    Attributes
    ----------
    chosen : ndarray of bool, shape [M]
        Whether each image is in the list.
    p_values : ndarray of float64, shape [M]
        P-values of all images, see `conformal_p_values`.
    known : float
        Share of known images that was assumed, at most 1.
    fewest : int
        Smallest number of unknown images that can be listed; more validation images make it
        smaller.  Above M, no list is possible.
    """

    chosen: np.ndarray
    p_values: np.ndarray
    known: float
    fewest: int


def conformal_p_values(validation, mixture) -> np.ndarray:
    r"""Return conformal p-values [M]: how often a known image scores as low as each image.

    .. math:: p_i = \frac{1 + \#\{j : v_j \le x_i\}}{n + 1}

    They are between 1 / (n + 1) and 1. The p-value of a known image is at most α with a
    probability of at most α, on average over the validation images; ties make it larger.
    `known_unknowns.guarantees.coverage_threshold` compares it with 1 − coverage. Vovk et al.
    2005; Bates et al. 2023.

    >>> conformal_p_values([1, 2, 3], [0, 2, 9])
    array([0.25, 0.75, 1.  ])
    """
    validation = np.sort(float_array("validation", validation))
    below = np.searchsorted(validation, float_array("mixture", mixture), side="right")
    return (1 + below) / (len(validation) + 1)


def suspected_unknown(
    validation, mixture, *, rate: float = 0.1, adaptive: bool = False
) -> Selection:
    r"""Return the largest list whose expected share of known images is at most `rate`.

    The k images with the smallest p-values, for the largest k with
    :math:`p_{(k)} \hat\pi_0 \le k \cdot \text{rate} / M`.

    Parameters
    ----------
    validation, mixture : array_like, shapes [n] and [M]
        Scores, see the module.
    rate : float
        False discovery rate: the expected share of known images in the list, in (0, 1).
    adaptive : bool
        Whether Storey's estimate :math:`(1 + \#\{p_i > \tfrac12\}) / (M / 2)` of the share
        :math:`\pi_0` of known images is used, in place of 1.

    Returns
    -------
    Selection
        Without `adaptive` the rate is 1 − π times `rate`, with a share π of unknown images.

    Notes
    -----
    Benjamini and Hochberg 1995; Storey, Taylor and Siegmund 2004; Bates et al. 2023 show that
    both keep the rate although all p-values share the validation images. The rate is an
    average over lists. *Do not use* it if the known images have changed, nor with few
    validation images.

    Examples
    --------
    >>> known = np.arange(1000)
    >>> found = suspected_unknown(known, [*known[::10], *np.full(50, -1)])
    >>> int(found.chosen[-50:].sum()), int(found.chosen.sum()), found.fewest
    (50, 54, 2)
    """
    open_share("rate", rate)
    p_values = conformal_p_values(validation, mixture)
    images, known = len(p_values), 1.0
    if adaptive:
        known = min(1.0, (1 + int((p_values > _MIDDLE).sum())) / (images * (1 - _MIDDLE)))
    ranked = np.sort(p_values)
    allowed = rate / known * np.arange(1, images + 1) / images
    passed = np.flatnonzero(ranked <= allowed * (1 + 1e-9))  # tolerance for rounding
    last = ranked[passed[-1]] if len(passed) else 0.0
    fewest = int(np.ceil(np.round(known * images / rate / (len(validation) + 1), 9)))
    return Selection(p_values <= last, p_values, known, fewest)


def selection_outcome(chosen, unknown) -> tuple[float, float]:
    """Return the realised share of known images in a list, and its power."""
    chosen = correct_array(chosen)
    unknown = correct_array(unknown, length=len(chosen))
    if not unknown.any():
        raise ValueError("unknown: no image is, so that there is nothing to find")
    return float((chosen & ~unknown).sum() / max(1, chosen.sum())), float(chosen[unknown].mean())
