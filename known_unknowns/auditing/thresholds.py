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


def share(
    happened: np.ndarray, confidence: float = 0.95, groups: np.ndarray | None = None
) -> tuple[float, float, float]:
    """Return the share of True with its confidence interval; NaN for no values.

    The interval is exact without `groups`, else see `guarantees.clustered_interval`.
    """
    if not len(happened):
        return NOTHING
    if groups is not None:
        low, high = guarantees.clustered_interval(happened, groups, confidence=confidence)
        return float(happened.mean()), low, high
    total = int(happened.sum())
    ends = guarantees.clopper_pearson(total, len(happened), confidence=confidence)
    return total / len(happened), *ends


def some(groups: np.ndarray | None, chosen: np.ndarray) -> np.ndarray | None:
    """Return the groups of some images; None without groups."""
    return None if groups is None else groups[chosen]


def _effects(
    value: float,
    scores,
    correct,
    ood: Mapping[str, np.ndarray],
    groups: np.ndarray | None = None,
) -> dict:
    """Return the coverage, risk and accepted OOD shares of a threshold on the measuring half."""
    accepted = scores >= value
    return {
        "value": value,
        "coverage": share(accepted, groups=groups),
        "risk": share(~correct[accepted], groups=some(groups, accepted)),
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
    scores,
    correct,
    ood: Mapping[str, np.ndarray],
    unknown: float,
    *,
    seed: int = 0,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and correctness of independent draws from ID and unknown images.

    Without unknown images, these are all ID images; else there is one of each group.

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
    if groups is not None:
        first = np.unique(groups, return_index=True)[1]
        scores = scores[first]
        correct = correct[first]
    parts = [scores, *ood.values()]
    shares = np.array([1 - unknown] + [unknown / len(ood)] * len(ood))
    noise = 4 * np.sqrt(shares * (1 - shares))
    sizes = np.array([len(part) for part in parts])
    # the largest m with m p + 4 sqrt(m p (1 - p)) <= size, for each part
    roots = (np.sqrt(noise**2 + 4 * shares * sizes) - noise) / (2 * shares)
    generator = np.random.default_rng(seed)
    counts = np.minimum(generator.multinomial(int(roots.min() ** 2), shares), sizes)
    orders = [
        generator.permutation(size)[:count] for size, count in zip(sizes, counts, strict=True)
    ]
    drawn = np.concatenate([part[order] for part, order in zip(parts, orders, strict=True)])
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
    groups: np.ndarray | None = None,
) -> Threshold:
    """Return the threshold that guarantees a risk, or the reason why none exists.

    Unknown images are drawn from the sets `hard`, by default from all sets.
    """
    hard = ood if hard is None else hard
    drawn, right = draw_mixture(scores, correct, hard, unknown, seed=seed, groups=groups)
    together = None if unknown else groups
    try:
        rule = guarantees.risk_threshold(
            drawn, right, risk=risk, confidence=confidence, groups=together
        )
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
    effects = _effects(rule.threshold, scores, correct, ood, groups)
    accepted = drawn >= rule.threshold
    effects["risk"] = share(~right[accepted], groups=some(together, accepted))
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
    groups: np.ndarray | None = None,
) -> dict[str, Threshold]:
    """Return the thresholds of `FALLBACKS` that exist, for a risk that cannot be guaranteed.

    `mixture` has scores and correctness of the images behind the guarantee, of `draw_mixture`, with
    images of `sets`.
    """
    found = {}
    words = {"confidence": confidence, "unknown": unknown, "sets": sets}
    together = None if unknown else groups
    smallest = guarantees.smallest_risk(*mixture, risk=risk, confidence=confidence, groups=together)
    if smallest is not None:
        found["smallest"] = ("risk", smallest[0], smallest[1].threshold, "promise_of_risk")
    average = guarantees.average_threshold(*mixture, risk=risk, groups=together)
    if average is not None:
        found["average"] = ("average", risk, float(average), "promise_on_average")
    thresholds = {}
    for name, (wish, wished, value, macro) in found.items():
        (promise,) = render(macro, unit, risk=wished, **words)
        effects = _effects(value, scores, correct, ood, groups)
        accepted = mixture[0] >= value
        effects["risk"] = share(~mixture[1][accepted], groups=some(together, accepted))
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
    groups: np.ndarray | None = None,
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
    shares = share(kept & ~correct, confidence, groups), share(~kept, confidence, groups)
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
    return Threshold("cost", bound, promise, **_effects(value, scores, correct, ood, groups))


def promise_coverage(
    scores,
    correct,
    ood,
    coverage: float,
    confidence: float = 0.95,
    *,
    unit: str = IMAGE,
    groups: np.ndarray | None = None,
) -> Threshold:
    """Return the threshold that guarantees a coverage, or the reason why none exists."""
    try:
        value = guarantees.coverage_threshold(scores, coverage=coverage, groups=groups)
    except ValueError as error:
        return Threshold("coverage", coverage, problem=str(error).partition(": ")[2])
    draws = guarantees.independent_draws(len(scores), groups)
    least = guarantees.conditional_coverage(draws, coverage=coverage, confidence=confidence)
    (promise,) = render(
        "promise_of_coverage", unit, coverage=coverage, confidence=confidence, least=least
    )
    effects = _effects(value, scores, correct, ood, groups)
    return Threshold("coverage", coverage, promise, conditional=least, **effects)


def by_class(
    validation: Outputs,
    names: Sequence[str],
    measuring,
    accepted,
    risk: float,
    groups: np.ndarray | None = None,
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
        of_label = validation.labels == label
        right = validation.correct[of_label]
        answered = kept[answers == label]
        errors = ~validation.correct[answered]
        together = some(groups, answered)
        rows.append(
            {
                "name": name,
                "images": len(right),
                "right": share(right, groups=some(groups, of_label)),
                "accepted": len(errors),
                "wrong": share(errors, groups=together),
                "beyond": share(errors, confidence, together)[1] > risk,  # false for NaN
            }
        )
    return rows


def precision_and_recall(
    validation: Outputs, names: Sequence[str], groups: np.ndarray | None = None
) -> list[dict]:
    """Return the precision and the recall of each answer, the lowest recall first.

    Classes without an image come last.
    """
    rows = []
    for label, name in enumerate(names):
        of_answer = validation.predictions == label
        of_label = validation.labels == label
        answered = validation.correct[of_answer]
        labelled = validation.correct[of_label]
        rows.append(
            {
                "name": name,
                "answers": len(answered),
                "precision": share(answered, groups=some(groups, of_answer)),
                "images": len(labelled),
                "recall": share(labelled, groups=some(groups, of_label)),
            }
        )
    return sorted(rows, key=lambda row: (not row["images"], row["recall"][0]))


def by_answer(
    scores,
    correct,
    answers,
    names: Sequence[str],
    risk: float,
    confidence: float,
    groups: np.ndarray | None = None,
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
                    scores[chosen],
                    correct[chosen],
                    risk=risk,
                    confidence=each,
                    groups=some(groups, chosen),
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
