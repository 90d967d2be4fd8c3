"""Lists of suspected unknown images, with a bound on the share of false entries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helpers.checks import float_array, open_share
from helpers.metrics.inputs import correct_array

_MIDDLE = 0.5  # p-values above it are treated as those of known images


class Selection(NamedTuple):
    """The images of a mixture that are suspected to be unknown.

    Attributes
    ----------
    chosen : ndarray of bool, shape [M]
        Which they are.
    p_values : ndarray of float64, shape [M]
        Of all images, see `conformal_p_values`.
    known : float
        The share of known images that was reckoned with, at most 1.
    fewest : int
        With fewer unknown images than that none can be listed, however low they score; more
        validation images make it smaller.  Above M, no image ever can.
    """

    chosen: np.ndarray
    p_values: np.ndarray
    known: float
    fewest: int


def conformal_p_values(validation, mixture) -> np.ndarray:
    r"""Return conformal p-values: how often a known image scores as low as each image.

    .. math:: p_i = \frac{1 + \#\{j : v_j \le x_i\}}{n + 1}

    Parameters
    ----------
    validation : array_like, shape [n]
        Scores of known images, higher = more likely known, which chose nothing that the score
        depends on.
    mixture : array_like, shape [M]
        Scores of the unlabelled images.

    Returns
    -------
    ndarray of float64, shape [M]
        From 1 / (n + 1) to 1.  That of a known image is at most α with a probability of at most α,
        on average over the validation images; ties make it larger.

    Notes
    -----
    Vovk et al. 2005; Bates et al. 2023.  It is what `known_unknowns.guarantees.coverage_threshold`
    compares with 1 − coverage, for all coverages at once.

    Examples
    --------
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

    The k images with the least p-values, for the largest k with :math:`p_{(k)} \hat\pi_0 \le k
    \cdot \text{rate} / M`.

    Parameters
    ----------
    validation, mixture
        As for `conformal_p_values`.
    rate : float
        The false discovery rate: the expected share of known images in the list, in (0, 1).
    adaptive : bool
        Whether the share :math:`\pi_0` of known images is estimated, as Storey does, by those with
        a p-value above a half, :math:`(1 + \#\{p_i > \tfrac12\}) / (M / 2)`, in place of 1.

    Returns
    -------
    Selection
        Without `adaptive` the rate is kept with room to spare: at 1 − π times what was asked for,
        with a share π of unknown images.

    Notes
    -----
    Benjamini and Hochberg 1995; Storey, Taylor and Siegmund 2004; that both keep the rate although
    all p-values share the validation images, Bates et al. 2023.  The rate is an average over lists:
    of one list more may be known.  *Not to be used* with known images that have changed since
    validation, which fill the list, nor with a few validation images, of which `fewest` warns.

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
    least = 1 / (len(validation) + 1)
    fewest = int(np.ceil(np.round(least * known * images / rate, 9)))
    return Selection(p_values <= last, p_values, known, fewest)


def selection_outcome(chosen, unknown) -> tuple[float, float]:
    """Return the realised share of known images in a list, and its power."""
    chosen = correct_array(chosen)
    unknown = correct_array(unknown, length=len(chosen))
    if not unknown.any():
        raise ValueError("unknown: no image is, so that there is nothing to find")
    return float((chosen & ~unknown).sum() / max(1, chosen.sum())), float(chosen[unknown].mean())
