"""Thresholds of an audit: what may be wished, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from helpers.metrics import guarantees

WISHES = ("risk", "coverage")
"""What the threshold that is deployed may promise."""


@dataclass(frozen=True)
class Threshold:
    """One wish, and what became of it.

    Attributes
    ----------
    wish : str
        One of `WISHES`.
    wished : float
    promise : str
        In words; empty if there is none.
    problem : str
        Why there is none, and what would help; else empty.
    value : float
        The threshold, NaN if there is none.  All below is of the measuring half, and NaN likewise.
    coverage, risk : (float, float, float)
        Share of the ID images that it accepts, and of wrong ones among these; each with the ends
        of an exact 95 % interval, which takes the threshold for given.
    ood_accepted : dict of str to float
        Share of the images of each OOD set that it accepts.
    """

    wish: str
    wished: float
    promise: str = ""
    problem: str = ""
    value: float = np.nan
    coverage: tuple[float, float, float] = (np.nan,) * 3
    risk: tuple[float, float, float] = (np.nan,) * 3
    ood_accepted: dict[str, float] = field(default_factory=dict)


def share(happened: np.ndarray) -> tuple[float, float, float]:
    """Return how often something happened, with the ends of its exact 95 % interval."""
    total = int(happened.sum())
    return (
        total / len(happened),
        *guarantees.clopper_pearson(total, len(happened), confidence=0.95),
    )


def _kept(
    value: float, scores: np.ndarray, correct: np.ndarray, ood: Mapping[str, np.ndarray]
) -> dict:
    """Return what a threshold does on the measuring half."""
    accepted = scores >= value
    return {
        "value": value,
        "coverage": share(accepted),
        "risk": share(~correct[accepted]),
        "ood_accepted": {name: float((theirs >= value).mean()) for name, theirs in ood.items()},
    }


def promise_risk(scores, correct, ood, risk: float, confidence: float) -> Threshold:
    """Return the threshold that promises a risk, or why there is none.

    Parameters
    ----------
    scores, correct : ndarray, shape [N]
        Of the measuring half.
    ood : mapping of str to ndarray
        Scores of each OOD set.
    risk, confidence : float
        As for `helpers.metrics.guarantees.risk_threshold`.
    """
    try:
        found = guarantees.risk_threshold(scores, correct, risk=risk, confidence=confidence)
    except ValueError as error:
        return Threshold("risk", risk, problem=str(error).partition(": ")[2])
    promise = (
        f"Of accepted images like the validation images, at most {100 * risk:g} % are classified "
        f"wrongly, in the long run. This is false for at most {100 * (1 - confidence):g} % of all "
        "draws of validation images."
    )
    return Threshold("risk", risk, promise, **_kept(found.threshold, scores, correct, ood))


def promise_coverage(scores, correct, ood, coverage: float) -> Threshold:
    """Return the threshold that promises a coverage, or why there is none.

    Parameters are those of `promise_risk`, and `coverage` as for
    `helpers.metrics.guarantees.coverage_threshold`.
    """
    try:
        value = guarantees.coverage_threshold(scores, coverage=coverage)
    except ValueError as error:
        return Threshold("coverage", coverage, problem=str(error).partition(": ")[2])
    promise = (
        f"A new image like the validation images is accepted with a probability of at least "
        f"{100 * coverage:g} %, on average over draws of validation images."
    )
    return Threshold("coverage", coverage, promise, **_kept(value, scores, correct, ood))
