"""Choices of the authors' code that are not ours: where a gap to their tables would be looked for.

Their numbers stand under the variant `AUTHORS`, from the very same networks and images.  What needs
other networks is said by parameters; the book's page has the command that says all of it.
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
    is nearest to `tpr`.  Unknown images count as accepted where they score at least as high as the
    last one that was dropped, and all of them where none was.
    `helpers.metrics.fpr_at_tpr` keeps at least `tpr`, and asks for the score of the lowest kept.

    Parameters
    ----------
    known, unknown : array_like, shape [P] and [U]
        Scores, higher = more likely known; checked already.

    Examples
    --------
    Of twenty known images nineteen are kept; what lies between the one that is dropped and the
    next one is accepted here, and not by the other:

    >>> from helpers.metrics import fpr_at_tpr
    >>> known, unknown = range(20), [-1, 0.5, 0.5, 30]
    >>> fpr_at_nearest_tpr(known, unknown), fpr_at_tpr(known, unknown)
    (0.75, 0.25)
    """
    known, unknown = np.sort(np.asarray(known)), np.asarray(unknown)
    dropped = np.abs(np.arange(len(known), -1, -1) / len(known) - tpr).argmin()
    return float((unknown >= known[dropped - 1]).mean()) if dropped else 1.0
