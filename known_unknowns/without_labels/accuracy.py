"""A bracket for the accuracy of a classifier on unlabelled images with unknown images."""

from __future__ import annotations

import numpy as np

from helpers.metrics.inputs import correct_array, probability_array

#: Smallest number of unlabelled images for an estimate.
FEWEST = 50
#: Margin of each end of the bracket.  It was measured, not derived: see the chapter.
SLACK = 0.05


def accuracy_bracket(
    validation, correct, mixture, *, share: float, accepted=None
) -> tuple[float, float]:
    r"""Return a low and a high value of the accuracy on unlabelled images, without labels.

    With the accuracy :math:`a` and the mean confidence :math:`c_v` on the validation images, the
    mean confidence :math:`c` on the mixture, and the share π of images unlike the validation
    images, the bracket is

    .. math:: a \, (1 - \pi) - 0.05 \quad\text{to}\quad a + c - c_v + 0.05.

    The low end counts every unlike image as incorrect.  The high end is the difference of
    confidences (Guillory et al. 2021), too high if unknown images have a high confidence.

    Parameters
    ----------
    validation : array_like, shape [V, K]
        Probabilities of labelled images that were not used to train the classifier or to fit its
        temperature.
    correct : array_like of bool, shape [V]
        Whether each validation image is classified correctly.
    mixture : array_like, shape [M, K]
        Probabilities of at least 50 unlabelled images.
    share : float
        π, from `cautious_share`, in [0, 1].
    accepted : (array_like of bool, array_like of bool), shapes [V] and [M], optional
        Images that a rejector accepts; its threshold was not chosen on them.  The bracket is then
        for the accepted images.  If it accepts the share r of the validation images and m of the
        mixture, the share of known images in the accepted mixture is :math:`(1 - \pi) \, r / m`.

    Returns
    -------
    (float, float)
        Low and high end, in [0, 1].

    Raises
    ------
    ValueError
        Fewer than 50 images in the mixture, or no validation image.

    Examples
    --------
    A third of the mixture is unknown, and the classifier has equal confidence for all images:

    >>> sure = np.tile([0.9, 0.1], (100, 1))
    >>> low, high = accuracy_bracket(sure, np.arange(100) >= 10, sure, share=1 / 3)
    >>> round(low, 2), round(high, 2)
    (0.55, 0.95)
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share: a number in [0, 1] expected, got {share}")
    held = probability_array("validation", validation)
    mixed = probability_array("mixture", mixture)
    correct = correct_array(correct, length=len(held))
    if held.shape[1] != mixed.shape[1]:
        raise ValueError(
            f"mixture: {held.shape[1]} classes expected as in validation, got {mixed.shape[1]}"
        )
    known = 1 - share
    among = ""
    if accepted is not None:
        among = " among the accepted images"
        ours = correct_array(accepted[0], length=len(held))
        theirs = correct_array(accepted[1], length=len(mixed))
        if ours.any() and theirs.any():
            known = min(1.0, known * ours.mean() / theirs.mean())
        held = held[ours]
        correct = correct[ours]
        mixed = mixed[theirs]
    if not len(held) or len(mixed) < FEWEST:
        raise ValueError(
            f"mixture: a validation image and at least {FEWEST} unlabelled images expected"
            f"{among}, got {len(held)} and {len(mixed)}"
        )
    accuracy = correct.mean()
    high = accuracy + mixed.max(axis=1).mean() - held.max(axis=1).mean() + SLACK
    low = min(accuracy * known - SLACK, high)
    return float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))
