"""The share of images unlike the validation images, and lists of such images, from scores.

The mixture is :math:`G = (1 - \\pi) F + \\pi U`: known images that are drawn like the
validation images, and a share π of any other images. The other images may look like known
images, and no score can detect this: π has a lower bound but not an upper bound.

All functions take the scores of known images, ``validation`` [n], and of unlabelled images,
``mixture`` [M]; higher = more likely known.  The score must not depend on choices made with the
validation images.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv

from helpers.checks import float_array, open_share
from helpers.metrics import auroc
from helpers.metrics.ranking import rounded_up

_PLACES = (0.01, 0.03, 0.1, 0.25, 0.5, 0.75)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_GAMMA = 0.01
_DELTA = 0.1  # from the authors' code
_CAUTIOUS = 0.3  # AUROC minus one half


def share_bound(validation, mixture, *, level: float = 0.95) -> float:
    r"""Return a lower confidence bound of the share of images unlike the validation images.

    A known image is below the k-th smallest of the n validation scores with a probability B
    that follows :math:`\operatorname{Beta}(k, n + 1 - k)`. If the share is π, at most
    :math:`\operatorname{Bin}(M, \pi + (1 - \pi) B)` images of the mixture are below it.  The bound
    is the largest π for which the observed number is too large:

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
        Bound in [0, 1). The true share is smaller with a probability of at most 1 − `level`, for
        any number of images. A bound of 0 is no information: it is 0 with few images, or with
        constant scores.

    Notes
    -----
    The bound is exact at each rank, like the bound of Clopper and Pearson 1934; Bonferroni's
    inequality joins the ranks.  Tied scores count as not below, and can only reduce the bound.

    *Do not use* it if the known images have changed, or other classes have become frequent: the
    bound counts all images that are unlike the validation images.

    Examples
    --------
    >>> known = np.arange(1000.0)
    >>> round(share_bound(known, [*known, *np.full(1000, -1)]), 2)
    0.47
    >>> share_bound(known, known)
    0.0
    """
    validation, mixture = _checked(validation, mixture)
    tail = 1 - open_share("level", level)
    count = len(validation)
    images = len(mixture)
    ranks = np.unique([max(1, round(place * count)) for place in _PLACES])
    below = np.searchsorted(np.sort(mixture), np.sort(validation)[ranks - 1])
    tail = tail / len(ranks)
    ranks = ranks[below > 0, None]
    below = below[below > 0, None]
    if not len(ranks):
        return 0.0
    # Gauss's rule for the expectation, with most nodes at large B, where counts are large.
    place = (_NODES + 1) / 2
    known = betaincinv(ranks, count + 1 - ranks, 1 - place**3)
    weights = _WEIGHTS * 1.5 * place**2

    def refused(share: np.ndarray) -> np.ndarray:
        probability = share[:, None] + (1 - share[:, None]) * known
        return betainc(below, images - below + 1, probability) @ weights <= tail

    low = np.zeros(len(ranks))
    high = np.ones(len(ranks))
    for _ in range(30):
        middle = (low + high) / 2
        lower = refused(middle)
        low = np.where(lower, middle, low)
        high = np.where(lower, high, middle)
    return float(low.max())


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
        Share in [0, 1]. It is too small if some unknown images have the highest scores. *Do not
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
    ours = _survival(validation, places)
    others = _survival(mixture, places)
    best = np.argmin((others + (1 + _GAMMA) * slack) / ours)
    return float(max(0.0, 1 - others[best] / ours[best]))


def _survival(scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the share of scores that are at least each threshold."""
    return 1 - np.searchsorted(np.sort(scores), thresholds) / len(scores)


def cautious_share(validation, mixture) -> float:
    r"""Return a share of unlike images that is too large rather than too small.

    It is the larger of `estimate_share` and :math:`(A - \tfrac12) / 0.3`, where A is the AUROC of
    validation images against the mixture: the share if the AUROC for unknown images is 80 %.  The
    true share can be larger if unknown images look more like known images than this.

    >>> known = np.arange(1000.0)
    >>> round(cautious_share(known, [*known, *known - 400]), 2)
    0.53
    """
    validation, mixture = _checked(validation, mixture)
    excess = auroc(validation, mixture) - 0.5
    return float(np.clip(max(estimate_share(validation, mixture), excess / _CAUTIOUS), 0, 1))


def _checked(validation, mixture) -> tuple[np.ndarray, np.ndarray]:
    return float_array("validation", validation), float_array("mixture", mixture)


class Selection(NamedTuple):
    """The images of a mixture that are suspected to be unknown.

    Attributes
    ----------
    chosen : ndarray of bool, shape [M]
        Whether each image is in the list.
    p_values : ndarray of float64, shape [M]
        P-values of all images, see `conformal_p_values`.
    fewest : int
        Smallest number of unknown images that can be listed; more validation images make it
        smaller.  Above M, no list is possible.
    """

    chosen: np.ndarray
    p_values: np.ndarray
    fewest: int


def conformal_p_values(validation, mixture) -> np.ndarray:
    r"""Return conformal p-values [M]: how often a known image scores as low as each image.

    .. math:: p_i = \frac{1 + \#\{j : v_j \le x_i\}}{n + 1}

    P-values are between 1 / (n + 1) and 1. The p-value of a known image is at most α with a
    probability of at most α, on average over the validation images; ties make it larger.
    `known_unknowns.guarantees.coverage_threshold` compares it with 1 − coverage. Vovk et al.
    2005; Bates et al. 2023.

    >>> conformal_p_values([1, 2, 3], [0, 2, 9])
    array([0.25, 0.75, 1.  ])
    """
    validation = np.sort(float_array("validation", validation))
    below = np.searchsorted(validation, float_array("mixture", mixture), side="right")
    return (1 + below) / (len(validation) + 1)


def suspected_unknown(validation, mixture, *, rate: float = 0.1) -> Selection:
    r"""Return the largest list whose expected share of known images is at most `rate`.

    The list has the k images with the smallest p-values, for the largest k with
    :math:`p_{(k)} \le k \cdot \text{rate} / M` (Benjamini and Hochberg 1995).

    Parameters
    ----------
    validation, mixture : array_like, shapes [n] and [M]
        Scores, see the module.
    rate : float
        False discovery rate: the expected share of known images in the list, in (0, 1).  It is
        :math:`1 - \pi` times `rate` with a share π of unknown images.

    Notes
    -----
    Bates et al. 2023 show that the rate is kept although all p-values share the validation images.
    The rate is an average over lists. *Do not use* it if the known images have changed, or with few
    validation images.  Storey's estimate of π would make the list longer.  We do not use Storey's
    estimate, because the rate no longer holds as soon as the known images change.

    Examples
    --------
    >>> known = np.arange(1000)
    >>> suspects = suspected_unknown(known, [*known[::10], *np.full(50, -1)])
    >>> int(suspects.chosen[-50:].sum()), int(suspects.chosen.sum()), suspects.fewest
    (50, 54, 2)
    """
    from scipy.stats import false_discovery_control  # half a second

    open_share("rate", rate)
    p_values = conformal_p_values(validation, mixture)
    fewest = rounded_up(len(p_values) / rate / (len(validation) + 1))
    listed = false_discovery_control(p_values) <= rate * (1 + 1e-9)  # tolerance for rounding
    return Selection(listed, p_values, fewest)
