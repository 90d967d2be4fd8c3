"""Thresholds of an audit: what may be wished, and what became of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from helpers.checks import number
from known_unknowns import guarantees

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
    unknown : float
        Share of unknown images, like those of the OOD sets, that the promise of a risk and the
        `risk` above reckon with; they are wrong where they are accepted.
    conditional : float
        Of a coverage, which is promised on average over draws of validation images: what this draw
        has with the wished confidence (`known_unknowns.guarantees.conditional_coverage`).
    """

    wish: str
    wished: float
    promise: str = ""
    problem: str = ""
    value: float = np.nan
    coverage: tuple[float, float, float] = (np.nan,) * 3
    risk: tuple[float, float, float] = (np.nan,) * 3
    ood_accepted: dict[str, float] = field(default_factory=dict)
    unknown: float = 0.0
    conditional: float = np.nan


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


def check_share(unknown: float, ood: Collection[str]) -> None:
    """Refuse a share of unknown images outside [0, 1), or one above 0 without any set of them.

    Raises
    ------
    ValueError
        As it says.
    """
    if not 0 <= number("share", unknown) < 1:
        raise ValueError(f"share: at least 0 and below 1 expected, got {unknown}")
    if unknown and not ood:
        raise ValueError(
            "share: images of unknown classes expected, to see how many are accepted; bring "
            "ood_NAME_logits, or leave the share out"
        )


def draw_mixture(
    scores, correct, ood: Mapping[str, np.ndarray], unknown: float, *, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return independent draws from a mixture of ID images and of unknown ones.

    Each is unknown with this probability, and then of any of the sets with the same one.  How many
    are of each kind is drawn first, and so many images are taken of each: as many in all as leave
    four standard deviations of room, so that one draw in ten thousand, at the most, has to be cut.

    Parameters
    ----------
    scores, correct : ndarray, shape [N]
        Of the ID images.
    ood : mapping of str to ndarray
        Scores of each set.
    unknown : float
        In [0, 1); with 0 the ID images are returned as they are.

    Returns
    -------
    scores, correct : ndarray, shape [M]
        An unknown image is never correct.

    Raises
    ------
    ValueError
        No set, though some images are to be unknown; a share outside [0, 1).

    Examples
    --------
    >>> known, pets = np.ones(900), {"pets": np.zeros(90)}
    >>> scores, correct = draw_mixture(known, known > 0, pets, 0.1)
    >>> len(scores), bool(np.array_equal(correct, scores == 1))
    (604, True)
    """
    check_share(unknown, ood)
    if not unknown:
        return scores, correct
    groups = [scores, *ood.values()]
    shares = np.array([1 - unknown, *[unknown / len(ood)] * len(ood)])
    noise = 4 * np.sqrt(shares * (1 - shares))
    sizes = np.array([len(one) for one in groups])
    # the largest m with m p + 4 sqrt(m p (1 - p)) <= size, for each group
    roots = (np.sqrt(noise**2 + 4 * shares * sizes) - noise) / (2 * shares)
    generator = np.random.default_rng(seed)
    counts = np.minimum(generator.multinomial(int(roots.min() ** 2), shares), sizes)
    places = [generator.permutation(len(one))[:n] for one, n in zip(groups, counts, strict=True)]
    drawn = np.concatenate([one[place] for one, place in zip(groups, places, strict=True)])
    right = np.zeros(len(drawn), bool)
    right[: counts[0]] = correct[places[0]]
    return drawn, right


def promise_risk(
    scores, correct, ood, risk: float, confidence: float, *, unknown: float = 0.0, seed: int = 0
) -> Threshold:
    """Return the threshold that promises a risk, or why there is none.

    Parameters
    ----------
    scores, correct : ndarray, shape [N]
        Of the measuring half.
    ood : mapping of str to ndarray
        Scores of each OOD set.
    risk, confidence : float
        As for `known_unknowns.guarantees.risk_threshold`.
    unknown, seed
        As for `draw_mixture`.  The risk grows with the share of unknown images, so that what is
        promised at this share holds at any smaller one.
    """
    drawn, right = draw_mixture(scores, correct, ood, unknown, seed=seed)
    try:
        found = guarantees.risk_threshold(drawn, right, risk=risk, confidence=confidence)
    except ValueError as error:
        return Threshold("risk", risk, problem=str(error).partition(": ")[2], unknown=unknown)
    images, wrong = "accepted images like the validation images", "classified wrongly"
    if unknown:
        images = (
            f"images that are accepted, where up to {100 * unknown:g} % of all are unknown ones "
            "like those of the sets and the others like the validation images"
        )
        wrong = "classified wrongly or of no known class"
    promise = (
        f"Of {images}, at most {100 * risk:g} % are {wrong}, in the long run. This is false for at "
        f"most {100 * (1 - confidence):g} % of all draws of these images."
        if unknown
        else f"Of {images}, at most {100 * risk:g} % are {wrong}, in the long run. This is false "
        f"for at most {100 * (1 - confidence):g} % of all draws of validation images."
    )
    kept = _kept(found.threshold, scores, correct, ood)
    kept["risk"] = share(~right[drawn >= found.threshold])
    return Threshold("risk", risk, promise, unknown=unknown, **kept)


def promise_coverage(scores, correct, ood, coverage: float, confidence: float = 0.95) -> Threshold:
    """Return the threshold that promises a coverage, or why there is none.

    Parameters are those of `promise_risk`, and `coverage` as for
    `known_unknowns.guarantees.coverage_threshold`; `confidence` is that of what a single draw of
    validation images has.
    """
    try:
        value = guarantees.coverage_threshold(scores, coverage=coverage)
    except ValueError as error:
        return Threshold("coverage", coverage, problem=str(error).partition(": ")[2])
    least = guarantees.conditional_coverage(len(scores), coverage=coverage, confidence=confidence)
    promise = (
        f"A new image like the validation images is accepted with a probability of at least "
        f"{100 * coverage:g} %, on average over draws of validation images, and of at least "
        f"{100 * least:.1f} % in {100 * confidence:g} % of these draws."
    )
    kept = _kept(value, scores, correct, ood)
    return Threshold("coverage", coverage, promise, conditional=least, **kept)
