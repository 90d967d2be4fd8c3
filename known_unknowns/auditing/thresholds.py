"""Thresholds of an audit, and the guarantee of each threshold."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from helpers.checks import number
from helpers.outputs import Outputs
from known_unknowns import guarantees
from known_unknowns.auditing.sentences import render
from known_unknowns.auditing.units import IMAGE

#: Kinds of guarantee of the deployed threshold.
WISHES = ("risk", "coverage")
#: Kinds that a risk can be replaced by, if it cannot be guaranteed.
FALLBACKS = ("smallest", "average")
NOTHING = (np.nan,) * 3
#: Confidence, for all answers together, that an answer reported as worse than guaranteed is worse.
LEVEL = 0.95


@dataclass(frozen=True)
class Threshold:
    """One target, and the threshold that meets it or the problem that prevents it.

    `coverage` and `risk` are the accepted share of the measuring half and the share of errors among
    accepted images, with exact 95 % intervals; all numbers are NaN without a threshold.  The risk
    holds for a share `unknown` of unknown images.  `conditional` is the coverage for one draw of
    validation images with the chosen confidence.
    """

    wish: str
    wished: float
    promise: str = ""
    problem: str = ""
    value: float = np.nan
    coverage: tuple[float, float, float] = NOTHING
    risk: tuple[float, float, float] = NOTHING
    ood_accepted: dict[str, float] = field(default_factory=dict)
    unknown: float = 0.0
    conditional: float = np.nan


def share(happened: np.ndarray, confidence: float = 0.95) -> tuple[float, float, float]:
    """Return the share of True with its exact confidence interval; NaN for no values."""
    if not len(happened):
        return NOTHING
    total = int(happened.sum())
    ends = guarantees.clopper_pearson(total, len(happened), confidence=confidence)
    return total / len(happened), *ends


def _effects(value: float, scores, correct, ood: Mapping[str, np.ndarray]) -> dict:
    """Return the coverage, risk and accepted OOD shares of a threshold on the measuring half."""
    accepted = scores >= value
    return {
        "value": value,
        "coverage": share(accepted),
        "risk": share(~correct[accepted]),
        "ood_accepted": {name: float((part >= value).mean()) for name, part in ood.items()},
    }


def check_share(unknown: float, ood: Collection[str]) -> None:
    """Refuse a share of unknown images outside [0, 1), or above 0 without an OOD set."""
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
    """Return scores and correctness of independent draws from ID and unknown images.

    A draw is unknown with probability `unknown`, and every OOD set is equally likely.  The number
    of draws has a margin of four standard deviations: a group has too few images in about one of
    ten thousand cases.

    >>> known, pets = np.ones(900), {"pets": np.zeros(90)}
    >>> scores, correct = draw_mixture(known, known > 0, pets, 0.1)
    >>> len(scores), bool(np.array_equal(correct, scores == 1))
    (604, True)
    """
    check_share(unknown, ood)
    if not unknown:
        return scores, correct
    groups = [scores, *ood.values()]
    shares = np.array([1 - unknown] + [unknown / len(ood)] * len(ood))
    noise = 4 * np.sqrt(shares * (1 - shares))
    sizes = np.array([len(group) for group in groups])
    # the largest m with m p + 4 sqrt(m p (1 - p)) <= size, for each group
    roots = (np.sqrt(noise**2 + 4 * shares * sizes) - noise) / (2 * shares)
    generator = np.random.default_rng(seed)
    counts = np.minimum(generator.multinomial(int(roots.min() ** 2), shares), sizes)
    orders = [
        generator.permutation(size)[:count] for size, count in zip(sizes, counts, strict=True)
    ]
    drawn = np.concatenate([group[order] for group, order in zip(groups, orders, strict=True)])
    right = np.zeros(len(drawn), bool)
    right[: counts[0]] = correct[orders[0]]
    return drawn, right


def promise_risk(
    scores,
    correct,
    ood: Mapping[str, np.ndarray],
    risk: float,
    confidence: float,
    *,
    unknown: float = 0.0,
    hard: Mapping[str, np.ndarray] | None = None,
    seed: int = 0,
    unit: str = IMAGE,
) -> Threshold:
    """Return the threshold that guarantees a risk, or the reason why none exists.

    Unknown images are drawn from the sets `hard`, by default from all sets.
    """
    hard = ood if hard is None else hard
    drawn, right = draw_mixture(scores, correct, hard, unknown, seed=seed)
    try:
        rule = guarantees.risk_threshold(drawn, right, risk=risk, confidence=confidence)
    except ValueError as error:
        return Threshold("risk", risk, problem=str(error).partition(": ")[2], unknown=unknown)
    (promise,) = render(
        "promise_of_risk",
        unit,
        risk=risk,
        confidence=confidence,
        unknown=unknown,
        sets=list(hard),
    )
    effects = _effects(rule.threshold, scores, correct, ood)
    effects["risk"] = share(~right[drawn >= rule.threshold])
    return Threshold("risk", risk, promise, unknown=unknown, **effects)


def fall_back(
    scores,
    correct,
    ood: Mapping[str, np.ndarray],
    risk: float,
    confidence: float,
    *,
    mixture: tuple[np.ndarray, np.ndarray],
    unknown: float,
    sets: Sequence[str],
    unit: str = IMAGE,
) -> dict[str, Threshold]:
    """Return the thresholds of `FALLBACKS` that exist, for a risk that cannot be guaranteed.

    `mixture` has scores and correctness of the images behind the guarantee, of `draw_mixture`, with
    images of `sets`.
    """
    found = {}
    words = {"confidence": confidence, "unknown": unknown, "sets": sets}
    smallest = guarantees.smallest_risk(*mixture, risk=risk, confidence=confidence)
    if smallest is not None:
        found["smallest"] = ("risk", smallest[0], smallest[1].threshold, "promise_of_risk")
    average = guarantees.average_threshold(*mixture, risk=risk)
    if average is not None:
        found["average"] = ("average", risk, float(average), "promise_on_average")
    thresholds = {}
    for name, (wish, wished, value, macro) in found.items():
        (promise,) = render(macro, unit, risk=wished, **words)
        effects = _effects(value, scores, correct, ood)
        effects["risk"] = share(~mixture[1][mixture[0] >= value])
        thresholds[name] = Threshold(wish, wished, promise, unknown=unknown, **effects)
    return thresholds


def promise_production(
    scores,
    correct,
    ood: Mapping[str, np.ndarray],
    risk: float,
    confidence: float,
    *,
    labelled: tuple[np.ndarray, np.ndarray],
    unit: str = IMAGE,
) -> Threshold | None:
    """Return the threshold that a random draw of new images guarantees for them, or None.

    `labelled` has the scores and the correctness of these images, False for unknown classes.
    """
    with suppress(ValueError):
        rule = guarantees.risk_threshold(*labelled, risk=risk, confidence=confidence)
        (promise,) = render("promise_of_production", unit, risk=risk, confidence=confidence)
        return Threshold("risk", risk, promise, **_effects(rule.threshold, scores, correct, ood))
    return None


def promise_cost(
    chosen: tuple[np.ndarray, np.ndarray],
    scores,
    correct,
    ood: Mapping[str, np.ndarray],
    costs: tuple[float, float],
    confidence: float,
    unit: str = IMAGE,
) -> Threshold:
    """Return the threshold with the lowest cost, and a bound of this cost.

    Scores and correctness of the images `chosen` choose the threshold, and other images give the
    bound.  `costs` are of an accepted wrong answer and of a review.  The exact bounds of the shares
    of both share the error.
    """
    error, review = costs
    falling = np.argsort(-chosen[0], kind="stable")
    ranked = chosen[0][falling]
    accepted = np.arange(1, len(ranked) + 1)
    total = error * np.cumsum(~chosen[1][falling]) + review * (len(ranked) - accepted)
    total = np.where(np.append(ranked[:-1] > ranked[1:], True), total, np.inf)
    value = float(ranked[total.argmin()])
    kept = scores >= value
    shares = share(kept & ~correct, confidence), share(~kept, confidence)
    mean, _, bound = (error * wrong + review * left for wrong, left in zip(*shares, strict=True))
    if bound >= review:
        problem = f"no threshold certainly costs less than {review:g}, as if people see all images"
        return Threshold("cost", review, problem=problem)
    (promise,) = render(
        "promise_of_cost",
        unit,
        mean=mean,
        bound=bound,
        review=review,
        whole=error * (~correct).mean(),
        confidence=confidence,
    )
    return Threshold("cost", bound, promise, **_effects(value, scores, correct, ood))


def promise_coverage(
    scores, correct, ood, coverage: float, confidence: float = 0.95, *, unit: str = IMAGE
) -> Threshold:
    """Return the threshold that guarantees a coverage, or the reason why none exists."""
    try:
        value = guarantees.coverage_threshold(scores, coverage=coverage)
    except ValueError as error:
        return Threshold("coverage", coverage, problem=str(error).partition(": ")[2])
    least = guarantees.conditional_coverage(len(scores), coverage=coverage, confidence=confidence)
    (promise,) = render(
        "promise_of_coverage", unit, coverage=coverage, confidence=confidence, least=least
    )
    effects = _effects(value, scores, correct, ood)
    return Threshold("coverage", coverage, promise, conditional=least, **effects)


def by_class(
    validation: Outputs, names: Sequence[str], measuring, accepted, risk: float
) -> list[dict]:
    """Return the accuracy of each class, and the risk of each accepted answer.

    `beyond` is true if the risk of an answer exceeds `risk`: the class of a new image is unknown,
    its answer is not.
    """
    kept = measuring[accepted]
    answers = validation.predictions[kept]
    confidence = 1 - 2 * (1 - LEVEL) / len(names)  # one-sided, all answers together
    rows = []
    for label, name in enumerate(names):
        right = validation.correct[validation.labels == label]
        errors = ~validation.correct[kept[answers == label]]
        rows.append(
            {
                "name": name,
                "images": len(right),
                "right": share(right),
                "accepted": len(errors),
                "wrong": share(errors),
                "beyond": share(errors, confidence)[1] > risk,  # false for NaN
            }
        )
    return rows


def precision_and_recall(validation: Outputs, names: Sequence[str]) -> list[dict]:
    """Return the precision and the recall of each answer, the lowest recall first.

    Classes without an image come last.
    """
    rows = []
    for label, name in enumerate(names):
        answered = validation.correct[validation.predictions == label]
        labelled = validation.correct[validation.labels == label]
        rows.append(
            {
                "name": name,
                "answers": len(answered),
                "precision": share(answered),
                "images": len(labelled),
                "recall": share(labelled),
            }
        )
    return sorted(rows, key=lambda row: (not row["images"], row["recall"][0]))


def by_answer(
    scores, correct, answers, names: Sequence[str], risk: float, confidence: float
) -> tuple[int, list[dict]]:
    """Return the images that a guarantee needs, and the guarantee for each answer or stratum.

    All guarantees hold together with this confidence: each has an equal share of the error.
    """
    each = 1 - (1 - confidence) / len(names)
    needed = guarantees.images_needed(risk, each)
    rows = []
    for label, name in enumerate(names):
        chosen = answers == label
        rule = guarantees.RiskThreshold(np.nan, np.nan, np.nan, np.nan)
        if chosen.sum() >= needed:
            with suppress(ValueError):  # too many errors among the most confident images
                rule = guarantees.risk_threshold(
                    scores[chosen], correct[chosen], risk=risk, confidence=each
                )
        rows.append(
            {
                "name": name,
                "images": int(chosen.sum()),
                "value": rule.threshold,
                "coverage": rule.coverage,
                "bound": rule.bound,
            }
        )
    return needed, rows
