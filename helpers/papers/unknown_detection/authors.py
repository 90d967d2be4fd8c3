"""Choices of the authors' code that are not ours: where a gap to their tables would be looked for.

Their numbers stand under the variant `AUTHORS`, from the very same networks and images.  What needs
other networks is a parameter: ``ensemble_of: runs``, and EDL's constant weight by its
``ramp_epochs``.
"""

from __future__ import annotations

import numpy as np

AUTHORS = "authors"
"""The variant: OpenMax by the rule of the authors' code, every false positive rate as there."""

FLAT = 0.5
"""The factor of every logit that OpenMax revises on CIFAR, whatever its rank (``openmax.py``)."""


def fpr_at_nearest_tpr(known, unknown, *, tpr: float = 0.95) -> float:
    """Return the false positive rate of the authors' code, `metrics_ood.py`.

    The known image with the lowest score is dropped, then the next, until the share of those kept
    is nearest to `tpr` (of two as near the larger one).  Unknown images count as accepted where
    they score at least as high as the last one that was dropped, and all of them where none was.
    `helpers.metrics.fpr_at_tpr` keeps at least `tpr`, and asks for the score of the lowest kept.

    Parameters
    ----------
    known, unknown : array_like, shape [P] and [U]
        Scores, higher = more likely known; checked already.

    Examples
    --------
    Of ten known images nine or all can be kept, which are as near to 95 %; of eleven ten are:

    >>> fpr_at_nearest_tpr(range(10, 20), [9.5, 10.5, 0, 30])
    1.0
    >>> fpr_at_nearest_tpr(range(10, 21), [9.5, 10.5, 0, 30])
    0.5
    """
    known, unknown = np.sort(np.asarray(known)), np.asarray(unknown)
    dropped = np.abs(np.arange(len(known), -1, -1) / len(known) - tpr).argmin()
    return float((unknown >= known[dropped - 1]).mean()) if dropped else 1.0
