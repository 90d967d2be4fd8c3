"""Which labels are probably wrong, by what a model says of images that it has not learnt from."""

from __future__ import annotations

import numpy as np

from helpers.outputs import Outputs
from helpers.scores.calibration import row_blocks, softmax


def likely_label_errors(outputs: Outputs, temperature: float = 1.0) -> np.ndarray:
    r"""Return the places of images whose labels are probably wrong, the surest first.

    A class is likely for an image where its probability is at least as large as it is on average
    on images that have its label,

    .. math:: t_j = \frac{1}{|\{i : y_i = j\}|} \sum_{i : y_i = j} p_{ij}.

    A label is suspected where the most probable of the likely classes is another one, and more
    probable than the label.

    Parameters
    ----------
    outputs : Outputs
        With labels, of images that the model has not learnt from.
    temperature : float

    Returns
    -------
    ndarray of int64
        By falling difference of the probabilities of that class and of the label.  A model that is
        sure and wrong is listed, too, so that each is to be looked at.

    Notes
    -----
    Northcutt, Jiang and Chuang 2021 (confident learning), the off-diagonal of the confident joint.

    Examples
    --------
    >>> labels = np.array([0] * 50 + [1] * 50)
    >>> logits = 4 * np.eye(2)[labels]
    >>> labels[7] = 1
    >>> likely_label_errors(Outputs(logits, np.empty((100, 0)), labels))
    array([7])
    """
    labels, classes = outputs.labels, outputs.num_classes
    blocks = row_blocks(outputs.logits.shape)
    own = np.concatenate(
        [
            np.take_along_axis(
                softmax(outputs.logits[rows], temperature), labels[rows, None], axis=1
            )[:, 0]
            for rows in blocks
        ]
    )
    counts = np.bincount(labels, minlength=classes)
    least = np.full(classes, np.inf)  # a class without a label is likely nowhere
    np.divide(np.bincount(labels, own, classes), counts, out=least, where=counts > 0)
    lead = np.full(len(outputs), -np.inf)
    for rows in blocks:
        probabilities = softmax(outputs.logits[rows], temperature)
        # of equal ones none is suspected for a rounding error
        likely = np.where(probabilities >= least * (1 - 1e-9), probabilities, -np.inf)
        other = likely.argmax(axis=1)
        lead[rows] = np.where(other == labels[rows], -np.inf, likely.max(axis=1) - own[rows])
    places = np.flatnonzero(lead > 0)
    return places[np.argsort(-lead[places], kind="stable")]
