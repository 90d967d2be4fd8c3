"""Brier score and calibration error when the answer may be "unknown" (Lyu et al. 2022).

The model gives K probabilities and a probability of "unknown"; labels and answers are 0 to K − 1
or −1.  The K + 1 numbers sum to 1 for OpenMax (its first K columns and its last one), and do not
for the thresholded softmax (see `helpers.scores.openset.unknown_probability`).
"""

from __future__ import annotations

import numpy as np

from helpers.checks import known_name, label_array
from helpers.metrics.calibration import calibration_error
from helpers.metrics.inputs import share_array


def open_set_squared_errors(probabilities, unknown, labels) -> np.ndarray:
    """Return each image's term of `open_set_brier`.

    Parameters
    ----------
    probabilities, unknown, labels
        As in `open_set_brier`.

    Returns
    -------
    ndarray of float64, shape [N]
        In [0, 2], or [0, 3] if the K + 1 numbers of a row sum to more than 1; their mean is
        `open_set_brier`, and `weighted_mean` resamples them.
    """
    probabilities, unknown = _open_probabilities(probabilities, unknown)
    length, classes = probabilities.shape
    labels = label_array("labels", labels, classes=classes, length=length, unknown=True)
    vector = np.column_stack([probabilities, unknown])
    vector[np.arange(length), labels] -= 1  # label −1 is the last column, "unknown"
    return np.square(vector).sum(axis=1)


def open_set_brier(probabilities, unknown, labels) -> float:
    r"""Return the Brier score of the (K + 1)-class problem, in which "unknown" is a class.

    .. math::
        \frac{1}{N} \sum_{i=1}^{N} \Bigl( \sum_{k=1}^{K} (p_{ik} - [y_i = k])^2
        + (p_{i,\mathrm{unknown}} - [y_i = \mathrm{unknown}])^2 \Bigr)

    Parameters
    ----------
    probabilities : array_like, shape [N, K]
        Probabilities of the known classes, in [0, 1]; rows sum to at most 1.
    unknown : array_like, shape [N]
        Probability of "unknown", in [0, 1].
    labels : array_like of int, shape [N]
        0 to K − 1, or −1 for an unknown class.

    Returns
    -------
    float
        In [0, 2], or [0, 3] if the K + 1 numbers of a row sum to more than 1; lower is better.

    Notes
    -----
    Lyu et al. 2022 print the inner sum up to K.  With K terms an unknown image costs 1 at most,
    for any probability of "unknown".  With 40 % unknown images and the paper's closed-set
    score of about 0.255 the result is about 0.4 × 1 + 0.6 × 0.255 ≈ 0.55.  The paper prints 0.814
    (CIFAR-10, ResNet, before scaling).  Known images can cost up to 2, so this is not a strict
    bound, but K terms are unlikely to reach such a value.  Therefore "unknown" has a separate term.

    Examples
    --------
    An unknown image assigned to class 0 with certainty costs 2, the maximum of its K + 1 terms.

    >>> open_set_brier([[1.0, 0.0]], [0.0], [-1])
    2.0
    """
    return float(open_set_squared_errors(probabilities, unknown, labels).mean())


def answer_confidence(probabilities, unknown, answers, *, rejected: str = "unknown") -> np.ndarray:
    """Return the probability that the model gives to its own answer.

    Parameters
    ----------
    probabilities, unknown : array_like, shape [N, K] and [N]
        As in `open_set_brier`.
    answers : array_like of int, shape [N]
        0 to K − 1, or −1 for "unknown".
    rejected : {"unknown", "known"}
        The confidence of the answer "unknown": its probability, or the largest probability of a
        known class (which the threshold uses, and which is low for a confident rejection).

    Returns
    -------
    ndarray of float64, shape [N]
        In [0, 1].

    Examples
    --------
    >>> answer_confidence([[0.9, 0.1], [0.6, 0.4]], [0.09, 0.24], [0, -1])
    array([0.9 , 0.24])
    """
    known_name("confidence of a rejected image", rejected, ("unknown", "known"))
    probabilities, unknown = _open_probabilities(probabilities, unknown)
    length, classes = probabilities.shape
    answers = label_array("answers", answers, classes=classes, length=length, unknown=True)
    accepted = probabilities[np.arange(length), answers]  # −1 reads the last class, not used
    rejection = unknown if rejected == "unknown" else probabilities.max(axis=1)
    return np.where(answers >= 0, accepted, rejection)


def open_set_ece(
    probabilities, unknown, labels, answers, *, bins: int = 15, rejected: str = "unknown"
) -> float:
    r"""Return the expected calibration error of open-set answers.

    .. math:: \sum_{b=1}^{B} \frac{n_b}{N} \left| \mathrm{acc}_b - \mathrm{conf}_b \right|

    `calibration_error` of the answer's probability (`answer_confidence`), for answers that are
    correct or not: the correct answer is the class of a known image, and "unknown" otherwise.

    Parameters
    ----------
    probabilities, unknown : array_like, shape [N, K] and [N]
        As in `open_set_brier`.
    labels, answers : array_like of int, shape [N]
        0 to K − 1, or −1 for unknown.
    bins : int
        Equal, right-closed bins over [0, 1], at least 1.
    rejected : {"unknown", "known"}
        The confidence of a rejected image, see `answer_confidence`.

    Returns
    -------
    float
        In [0, 1], lower is better.

    Notes
    -----
    Lyu et al. 2022 define confidence as the maximum probability of the answer.  They do not define
    it for a rejected image.  The thresholded softmax gives "unknown" at most
    :math:`(1 - 1/K)^K < 0.37`: correct rejections are under-confident and add to the error in
    proportion to their share.  OpenMax does not have this limit.

    Examples
    --------
    >>> open_set_ece([[1.0, 0.0], [0.5, 0.5]], [0.0, 0.25], [0, -1], [0, -1])
    0.375
    """
    confidence = answer_confidence(probabilities, unknown, answers, rejected=rejected)
    classes = np.shape(probabilities)[1]
    labels = label_array("labels", labels, classes=classes, length=len(confidence), unknown=True)
    return calibration_error(confidence, np.asarray(answers) == labels, bins=bins)


def _open_probabilities(probabilities, unknown):
    probabilities = share_array("probabilities", probabilities, ndim=2)
    unknown = share_array("unknown", unknown, length=len(probabilities))
    largest = probabilities.sum(axis=1).max()
    if largest > 1 + 1e-3:
        raise ValueError(f"probabilities: rows that sum to at most 1 expected, got {largest:g}")
    return probabilities, unknown
