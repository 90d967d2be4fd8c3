"""Thresholds of an audit: what may be wished, and what became of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from helpers.checks import number
from helpers.outputs import Outputs
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
    """Refuse a share of unknown images outside [0, 1), or one above 0 without any set of them."""
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
    sizes = np.array([len(group) for group in groups])
    # the largest m with m p + 4 sqrt(m p (1 - p)) <= size, for each group
    roots = (np.sqrt(noise**2 + 4 * shares * sizes) - noise) / (2 * shares)
    generator = np.random.default_rng(seed)
    counts = np.minimum(generator.multinomial(int(roots.min() ** 2), shares), sizes)
    places = [
        generator.permutation(len(group))[:n] for group, n in zip(groups, counts, strict=True)
    ]
    drawn = np.concatenate([group[place] for group, place in zip(groups, places, strict=True)])
    right = np.zeros(len(drawn), bool)
    right[: counts[0]] = correct[places[0]]
    return drawn, right


def promise_risk(
    scores, correct, ood, risk: float, confidence: float, *, unknown: float = 0.0, seed: int = 0
) -> Threshold:
    """Return the threshold that promises a risk, or why there is none."""
    drawn, right = draw_mixture(scores, correct, ood, unknown, seed=seed)
    try:
        rule = guarantees.risk_threshold(drawn, right, risk=risk, confidence=confidence)
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
    kept = _kept(rule.threshold, scores, correct, ood)
    kept["risk"] = share(~right[drawn >= rule.threshold])
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
    """Return what is true of the images of each class."""
    labels, correct = validation.labels, validation.correct
    nothing = (np.nan,) * 3
    kept = measuring[accepted]
    tail = (1 - LEVEL) / len(names)
    rows = []
    for place, name in enumerate(names):
        right, errors = correct[labels == place], ~correct[kept[labels[kept] == place]]
        wrong, beyond = nothing, False
        if len(errors):
            wrong, total = share(errors), int(errors.sum())
            low = guarantees.clopper_pearson(total, len(errors), confidence=1 - 2 * tail).low
            beyond = low > risk
        accuracy = share(right) if len(right) else nothing
        rows.append(OfClass(name, len(right), accuracy, len(errors), wrong, bool(beyond)))
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
    """
    each = 1 - (1 - confidence) / len(names)
    needed = guarantees.images_needed(risk, each)
    rows = []
    for place, name in enumerate(names):
        chosen = answers == place
        row = OfAnswer(name, int(chosen.sum()))
        if row.images >= needed:
            try:
                rule = guarantees.risk_threshold(
                    scores[chosen], correct[chosen], risk=risk, confidence=each
                )
                row = OfAnswer(name, row.images, rule.threshold, rule.coverage, rule.bound)
            except ValueError:  # too many of the surest are wrong
                pass
        rows.append(row)
    return needed, tuple(rows)
