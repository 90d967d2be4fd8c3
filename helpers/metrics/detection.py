"""What is asked of a score on known and unknown images together, from one sort."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helpers.checks import float_array
from helpers.metrics.inputs import correct_array
from helpers.metrics.ranking import RankedGroups, cumulative_counts
from helpers.metrics.selective import mean_risk


class DetectionMetrics(NamedTuple):
    """See `detection_metrics`."""

    aurc: float
    auroc: float
    aupr: float
    fpr_at_tpr: float


def detection_metrics(scores, correct, known, *, tpr: float = 0.95) -> DetectionMetrics:
    """Return AURC, AUROC, AUPR and FPR at a TPR, sorting the scores once for all four.

    Parameters
    ----------
    scores : array_like, shape [N]
        Higher = more likely known.
    correct : array_like of bool, shape [N]
        Whether each image is classified correctly; one of an unknown class never is.
    known : array_like of bool, shape [N]
        Whether it is of a known class.
    tpr : float
        The share of known images to keep, in (0, 1].

    Returns
    -------
    DetectionMetrics
        The numbers that `aurc` of `scores` and `correct`, and `auroc`, `aupr` and `fpr_at_tpr` of
        known against unknown images give; known ones are the positive ones.

    Raises
    ------
    ValueError
        As these; and an image of an unknown class that is said to be classified correctly.

    Notes
    -----
    Kim et al. 2023 take the AURC of the union for the whole task, and the others for its parts.

    Examples
    --------
    >>> detection_metrics([4, 3, 2, 1], [True, False, True, False], [True, True, True, False])
    DetectionMetrics(aurc=0.3333333333333335, auroc=1.0, aupr=1.0, fpr_at_tpr=0.0)
    """
    scores = float_array("scores", scores, finite=False)
    correct, known = (correct_array(one, length=len(scores)) for one in (correct, known))
    if (correct & ~known).any():
        raise ValueError("correct: an image of an unknown class cannot be classified correctly")
    for name, some in (("known", known), ("unknown", ~known)):
        if not some.any():
            raise ValueError(f"known: at least one {name} image expected, got none")
    _, accepted, (wrong, true) = cumulative_counts(scores, np.stack([~correct, known]))
    positives = int(true[-1])
    groups = RankedGroups(accepted - true, true, len(scores) - positives, positives)
    return DetectionMetrics(
        mean_risk(accepted, wrong),
        groups.area,
        groups.average_precision,
        groups.false_positive_rate(tpr),
    )
