"""The share of images of a mixture that are unlike the validation images, from scores alone.

The mixture is :math:`G = (1 - \\pi) F + \\pi U`: known images that are drawn like the validation
images, and a share π of others, of which nothing is assumed.  Those may look like known ones, and
then no score tells: π can be bounded from below, never from above.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincinv

from helpers.checks import float_array, open_share

_PLACES = (0.01, 0.03, 0.1, 0.25, 0.5, 0.75)
_STEPS = 30  # of the bisection: a share to within 1e-9
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
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
