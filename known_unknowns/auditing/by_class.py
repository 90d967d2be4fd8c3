"""What is true of each class: how right the model is there, and what can be promised of it.

A promise about all accepted images together may be broken in a class of few: at 96 to 4, a risk of
5 % allows that most of the smaller class's accepted images are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.outputs import Outputs
from known_unknowns import guarantees
from known_unknowns.auditing.thresholds import share

LEVEL = 0.95
"""With which a class is said to be worse than promised, all classes together."""


@dataclass(frozen=True)
class OfClass:
    """The images of one class.

    Attributes
    ----------
    name : str
    images : int
        Validation images of this class.
    right : (float, float, float)
        Accuracy on them, with the ends of its exact 95 % interval; NaN without any.
    accepted : int
        Images of the measuring half that the rejector accepts.
    wrong : (float, float, float)
        Share of wrong answers among these, likewise, taking the threshold for given.
    beyond : bool
        More of these are wrong than was promised of all, beyond noise (5 % over all classes).
    """

    name: str
    images: int
    right: tuple[float, float, float]
    accepted: int
    wrong: tuple[float, float, float]
    beyond: bool


@dataclass(frozen=True)
class OfAnswer:
    """The images of the measuring half to which the model gives one answer, or of one stratum.

    Attributes
    ----------
    name : str
    images : int
    value : float
        The threshold above which the wished risk is promised of these; NaN if there is none.
    coverage, bound : float
        Share of these images that it accepts, and the upper bound of their risk.
    """

    name: str
    images: int
    value: float = np.nan
    coverage: float = np.nan
    bound: float = np.nan


def by_class(
    validation: Outputs,
    names: tuple[str, ...],
    measuring: np.ndarray,
    accepted: np.ndarray,
    risk: float,
) -> tuple[OfClass, ...]:
    """Return what is true of the images of each class.

    Parameters
    ----------
    validation : Outputs
        N images.
    names : tuple of str, length K
    measuring : ndarray of int64, shape [M]
        Places of the measuring half.
    accepted : ndarray of bool, shape [M]
    risk : float
        What was promised of all accepted images; 1 for nothing.
    """
    labels, correct = validation.labels, validation.correct
    nothing = (np.nan,) * 3
    kept = measuring[accepted]
    tail = (1 - LEVEL) / len(names)
    rows = []
    for number, name in enumerate(names):
        own, theirs = correct[labels == number], ~correct[kept[labels[kept] == number]]
        wrong, beyond = nothing, False
        if len(theirs):
            wrong, total = share(theirs), int(theirs.sum())
            low = guarantees.clopper_pearson(total, len(theirs), confidence=1 - 2 * tail).low
            beyond = low > risk
        right = share(own) if len(own) else nothing
        rows.append(OfClass(name, len(own), right, len(theirs), wrong, bool(beyond)))
    return tuple(rows)


def by_answer(
    scores: np.ndarray,
    correct: np.ndarray,
    answers: np.ndarray,
    names: tuple[str, ...],
    risk: float,
    confidence: float,
) -> tuple[int, tuple[OfAnswer, ...]]:
    """Return what can be promised of each answer by itself, of all of them together.

    The answer of a new image is known, and its class is not, so that a threshold for each answer
    can be used; the same holds of strata, whose numbers may stand in the place of answers.  Each is
    promised with a share of what is left to `confidence`, so that with this confidence none of the
    promises is false.

    Parameters
    ----------
    scores : ndarray, shape [M]
        Of the measuring half.
    correct : ndarray of bool, shape [M]
    answers : ndarray of int64, shape [M]
        The predicted classes of the same images.
    names : tuple of str, length K
    risk, confidence : float
        As for `known_unknowns.guarantees.risk_threshold`.

    Returns
    -------
    needed : int
        How many images of an answer it takes at the least.
    answers : tuple of OfAnswer
    """
    each = 1 - (1 - confidence) / len(names)
    needed = guarantees.images_needed(risk, each)
    rows = []
    for number, name in enumerate(names):
        own = answers == number
        row = OfAnswer(name, int(own.sum()))
        if row.images >= needed:
            try:
                found = guarantees.risk_threshold(
                    scores[own], correct[own], risk=risk, confidence=each
                )
                row = OfAnswer(name, row.images, found.threshold, found.coverage, found.bound)
            except ValueError:  # too many of the surest are wrong
                pass
        rows.append(row)
    return needed, tuple(rows)
