"""Decisions by one threshold: accept an image if its score is at least as high."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helpers.checks import float_array, number
from helpers.metrics.ranking import required_count


class DomainConfusion(NamedTuple):
    """Shares of ID images taken for ID and OOD, and of OOD images taken for ID and OOD."""

    InAsIn: float
    InAsOut: float
    OutAsIn: float
    OutAsOut: float


def rejection_threshold(train_scores, *, keep: float = 0.95) -> float:
    """Return the largest threshold that accepts at least the share `keep` of the scores.

    An observed score, never an interpolated one, so that "at least" holds exactly. After Zhu et
    al. 2024, section 4.1: the 5th (1st) percentile for 95 % (99 %).

    Parameters
    ----------
    train_scores : array_like, shape [N]
        Scores of the reference images, higher = more likely known.  The reference images are
        correctly classified training images for DER, and held-out known ones for a rejection rule.
    keep : float
        The share to accept, in (0, 1].

    Returns
    -------
    float
        The threshold; images with a score equal to it are accepted.

    Examples
    --------
    >>> rejection_threshold([5, 4, 3, 2, 1], keep=0.8)
    2.0
    """
    scores = float_array("train_scores", train_scores, finite=False)
    drop = len(scores) - required_count("keep", keep, len(scores))
    return float(np.partition(scores, drop)[drop])


def domain_confusion(id_scores, ood_scores, threshold: float) -> DomainConfusion:
    """Return how ID and OOD images fall on the two sides of a threshold.

    Source: Belghazi and Lopez-Paz 2021, who take the threshold from ID validation images.

    Parameters
    ----------
    id_scores, ood_scores : array_like, shape [N] and [M]
        Scores, higher = more likely ID.
    threshold : float
        An image is treated as ID if its score is at least `threshold`.

    Returns
    -------
    DomainConfusion
        The four shares; each pair (``InAsIn + InAsOut``, ``OutAsIn + OutAsOut``) sums to 1.

    Examples
    --------
    >>> domain_confusion([3, 2, 1, 0], [1, 0], 1)
    DomainConfusion(InAsIn=0.75, InAsOut=0.25, OutAsIn=0.5, OutAsOut=0.5)
    """
    threshold = float(number("threshold", threshold))
    inside = float((float_array("id_scores", id_scores, finite=False) >= threshold).mean())
    outside = float((float_array("ood_scores", ood_scores, finite=False) >= threshold).mean())
    return DomainConfusion(inside, 1 - inside, outside, 1 - outside)
