"""The detection error rate (DER): wrong accepted plus right rejected images."""

from __future__ import annotations

from helpers.checks import float_array, number
from helpers.metrics.inputs import correct_array

#: Share of the correctly classified training images that each threshold keeps.
DETECTION_ERROR_RATES = {"der95": 0.95, "der99": 0.99}


def detection_error_rate(scores, correct, threshold: float) -> float:
    """Return the detection error rate (DER): wrong accepted plus right rejected, of all.

    After Zhu et al. 2024: (FN + FP) / n, with "positive" meaning correctly classified.

    Parameters
    ----------
    scores : array_like, shape [N]
        Higher = more likely known.
    correct : array_like of bool, shape [N]
        Whether each image is classified correctly; images of unknown classes never are.
    threshold : float
        From `rejection_threshold`; an image is accepted when its score is at least that.

    Returns
    -------
    float
        In [0, 1], lower is better.  Accepting everything gives the error rate.

    Examples
    --------
    >>> detection_error_rate([0.9, 0.8, 0.2], [True, False, True], 0.5)
    0.6666666666666666
    """
    scores = float_array("scores", scores, finite=False)
    correct = correct_array(correct, length=len(scores))
    return float(((scores >= number("threshold", threshold)) != correct).mean())
