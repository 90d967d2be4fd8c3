"""Thresholds of an audit, and the guarantee of each threshold."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from helpers.checks import number
from helpers.metrics.ranking import last_of_ties
from helpers.outputs import Outputs
from known_unknowns import few_labels, guarantees
from known_unknowns.auditing.sentences import render
from known_unknowns.auditing.units import IMAGE

#: Kinds of guarantee of the deployed threshold.
TARGETS = ("risk", "coverage")
#: Kinds that a risk can be replaced by, if it cannot be guaranteed.
FALLBACKS = ("smallest", "average")
NOTHING = (np.nan,) * 3
#: Shares of the new images that the candidates for their threshold reject, in the order of a test.
REJECTED = np.linspace(0.7, 0, 20)
#: Confidence, for all answers together, that an answer reported as worse than guaranteed is worse.
LEVEL = 0.95


@dataclass(frozen=True)
class Threshold:
    """One target, and the threshold that meets it or the problem that prevents it.

    `coverage` and `risk` are the accepted share of the measuring half and the share of errors among
    accepted images, with exact 95 % intervals; all numbers are NaN without a threshold.
    `guarantee` is a sentence; the one of a risk on average says that it is none.  The risk
    holds for a share `unknown` of unknown images.  `conditional` is the coverage for one draw of
    validation images with the chosen confidence.
    """

    target: str
    target_value: float
    guarantee: str = ""
    problem: str = ""
    value: float = np.nan
    coverage: tuple[float, float, float] = NOTHING
    risk: tuple[float, float, float] = NOTHING
    ood_accepted: dict[str, float] = field(default_factory=dict)
    unknown: float = 0.0
    conditional: float = np.nan

    def without_value(self, problem: str) -> Threshold:
        """Return the target with a problem and no threshold."""
        return Threshold(self.target, self.target_value, problem=problem)


@dataclass(frozen=True)
class Sample:
    """Scores of labelled images, and whether each answer is correct.

    `groups` are of images that belong together.  `ood` has the scores of sets of unknown images;
    the share `unknown` of the images is from these sets.  `unit` is the noun in sentences.
    """

    scores: np.ndarray
    correct: np.ndarray
    ood: Mapping[str, np.ndarray] = field(default_factory=dict)
    groups: np.ndarray | None = None
    unknown: float = 0.0
    unit: str = IMAGE

    @property
    def draws(self) -> int:
        """Number of independent draws."""
        return guarantees.independent_draws(len(self.scores), self.groups)

    def subset(self, chosen) -> Sample:
        """Return some of the images."""
        return replace(
            self,
            scores=self.scores[chosen],
            correct=self.correct[chosen],
            groups=some(self.groups, chosen),
        )

    def share(self, happened: np.ndarray, confidence: float = 0.95) -> tuple[float, float, float]:
        """Return the share of images for which something is true, see `share`."""
        return share(happened, confidence, self.groups)

    def render(self, name: str, **numbers) -> str:
        """Return the only sentence of a macro."""
        (sentence,) = render(name, self.unit, unknown=self.unknown, sets=list(self.ood), **numbers)
        return sentence


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


def some(groups: np.ndarray | None, chosen) -> np.ndarray | None:
    """Return the groups of some images; None without groups."""
    return None if groups is None else groups[chosen]


def _effects(value: float, sample: Sample, behind: Sample) -> dict:
    """Return the coverage, risk and accepted OOD shares of a threshold.

    The risk is of the images `behind` the guarantee if some of these are unknown.
    """
    measured = behind if behind.unknown else sample
    accepted = measured.subset(measured.scores >= value)
    return {
        "value": value,
        "coverage": sample.share(sample.scores >= value),
        "risk": accepted.share(~accepted.correct),
        "ood_accepted": {name: float((part >= value).mean()) for name, part in sample.ood.items()},
        "unknown": behind.unknown,
    }


def check_share(unknown: float, ood: Collection[str]) -> None:
    """Refuse a share of unknown images outside [0, 1), or above 0 without an OOD set."""
    if not 0 <= number("unknown_share", unknown) < 1:
        raise ValueError(f"unknown_share: at least 0 and below 1 expected, got {unknown}")
    if unknown and not ood:
        raise ValueError(
            "unknown_share: images of unknown classes expected, to see how many are accepted; "
            "bring ood_NAME_logits, or leave it out"
        )


def draw_mixture(sample: Sample, unknown: float, *, seed: int = 0) -> Sample:
    """Return independent draws from ID and unknown images.

    Without unknown images, these are all ID images; else there is one of each group.

    A draw is unknown with probability `unknown`, and every OOD set is equally likely.  The number
    of draws has a margin of four standard deviations: a group has too few images in about one of
    ten thousand cases.

    >>> known, pets = np.ones(900), {"pets": np.zeros(90)}
    >>> drawn = draw_mixture(Sample(known, known > 0, pets), 0.1)
    >>> len(drawn.scores), bool(np.array_equal(drawn.correct, drawn.scores == 1))
    (604, True)
    """
    check_share(unknown, sample.ood)
    if not unknown:
        return sample
    known = sample.subset(guarantees.one_of_each(len(sample.scores), sample.groups))
    parts = [known.scores, *sample.ood.values()]
    shares = np.array([1 - unknown] + [unknown / len(sample.ood)] * len(sample.ood))
    noise = 4 * np.sqrt(shares * (1 - shares))
    sizes = np.array([len(part) for part in parts])
    # the largest m with m p + 4 sqrt(m p (1 - p)) <= size, for each part
    roots = (np.sqrt(noise**2 + 4 * shares * sizes) - noise) / (2 * shares)
    generator = np.random.default_rng(seed)
    draws = int(roots.min() ** 2)
    if not draws:
        raise ValueError(
            f"unknown_share: more images expected for a share of {unknown:g}, got {sizes.min()} in "
            "the measuring half of the smallest set; bring more, or leave it out"
        )
    counts = np.minimum(generator.multinomial(draws, shares), sizes)
    orders = [
        generator.permutation(size)[:count] for size, count in zip(sizes, counts, strict=True)
    ]
    drawn = np.concatenate([part[order] for part, order in zip(parts, orders, strict=True)])
    right = np.zeros(len(drawn), bool)
    right[: counts[0]] = known.correct[orders[0]]
    return replace(known, scores=drawn, correct=right, groups=None, unknown=unknown)


def guarantee_risk(
    sample: Sample,
    behind: Sample,
    risk: float,
    confidence: float,
) -> Threshold:
    """Return the threshold that guarantees a risk, or the reason why none exists.

    The images `behind` the guarantee are of `draw_mixture`; an answer to an image of an unknown
    class is not correct.
    """
    try:
        rule = guarantees.risk_threshold(
            behind.scores, behind.correct, risk=risk, confidence=confidence, groups=behind.groups
        )
    except ValueError as error:
        problem = str(error).partition(": ")[2]
        return Threshold("risk", risk, problem=problem, unknown=behind.unknown)
    guarantee = behind.render("guarantee_of_risk", risk=risk, confidence=confidence)
    return Threshold("risk", risk, guarantee, **_effects(rule.threshold, sample, behind))


def guarantee_for_new(
    labelled: Sample, scores: np.ndarray, risk: float, confidence: float
) -> Threshold | None:
    """Return the threshold that labels of some new images guarantee for all, or None.

    The guarantee holds for people who label until there is a threshold.  The candidates depend on
    the `scores` of all new images alone.  Coverage and risk are of the labelled images.

    With the risk itself at each threshold, few of 100 people find one with up to ten batches:

    >>> generator = np.random.default_rng(0)
    >>> scores = generator.random(2000)
    >>> def finds(correct):
    ...     batches = [Sample(scores[:n], correct[:n]) for n in range(60, 601, 60)]
    ...     return any(guarantee_for_new(each, scores, 0.05, 0.95) for each in batches)
    >>> sum(finds(generator.random(600) > 0.05) for _ in range(100))
    3
    """
    value = few_labels.certified_threshold(
        [(labelled.scores, ~labelled.correct)],
        risk,
        np.quantile(scores, REJECTED),
        1 - confidence,
    )
    if value is None:
        return None
    guarantee = labelled.render("guarantee_of_production", risk=risk, confidence=confidence)
    return Threshold("risk", risk, guarantee, **_effects(value, labelled, labelled))


def fall_back(
    sample: Sample, mixture: Sample, risk: float, confidence: float
) -> dict[str, Threshold]:
    """Return the thresholds of `FALLBACKS` that exist, for a risk that cannot be guaranteed."""
    images = mixture.scores, mixture.correct
    found = {}
    smallest = guarantees.smallest_risk(
        *images, risk=risk, confidence=confidence, groups=mixture.groups
    )
    if smallest is not None:
        found["smallest"] = ("risk", smallest[0], smallest[1].threshold, "guarantee_of_risk")
    average = guarantees.average_threshold(*images, risk=risk, groups=mixture.groups)
    if average is not None:
        found["average"] = ("average", risk, float(average), "guarantee_on_average")
    thresholds = {}
    for name, (target, target_value, value, macro) in found.items():
        guarantee = mixture.render(macro, risk=target_value, confidence=confidence)
        thresholds[name] = Threshold(
            target, target_value, guarantee, **_effects(value, sample, mixture)
        )
    return thresholds


def guarantee_cost(
    chosen: Sample, sample: Sample, costs: tuple[float, float], confidence: float
) -> Threshold:
    """Return the threshold with the lowest cost, and a bound of this cost.

    The images `chosen` choose the threshold, and the images of the `sample` give the bound.
    `costs` are of an accepted wrong answer and of a review.  The exact bounds of the shares of both
    share the error.
    """
    error, review = costs
    falling = chosen.subset(np.argsort(-chosen.scores, kind="stable"))
    # compared with the cost if people see all images
    more = np.cumsum(error * ~falling.correct - review)
    last = last_of_ties(falling.scores)
    value = float(falling.scores[np.where(last, more, np.inf).argmin()])
    kept = sample.scores >= value
    shares = [sample.share(rows, confidence) for rows in (kept & ~sample.correct, ~kept)]
    mean, _, bound = (error * wrong + review * left for wrong, left in zip(*shares, strict=True))
    if bound >= review:
        problem = f"no threshold certainly costs less than {review:g}, as if people see all images"
        return Threshold("cost", review, problem=problem)
    guarantee = sample.render(
        "guarantee_of_cost",
        mean=mean,
        bound=bound,
        review=review,
        whole=error * (~sample.correct).mean(),
        confidence=confidence,
    )
    return Threshold("cost", bound, guarantee, **_effects(value, sample, sample))


def guarantee_coverage(sample: Sample, coverage: float, confidence: float = 0.95) -> Threshold:
    """Return the threshold that guarantees a coverage, or the reason why none exists."""
    try:
        value = guarantees.coverage_threshold(
            sample.scores, coverage=coverage, groups=sample.groups
        )
    except ValueError as error:
        return Threshold("coverage", coverage, problem=str(error).partition(": ")[2])
    if sample.groups is None:
        least = guarantees.conditional_coverage(
            sample.draws, coverage=coverage, confidence=confidence
        )
    else:
        both = max(2 * confidence - 1, 1e-9)  # the lower end has the confidence
        least = sample.share(sample.scores >= value, both)[1]
    guarantee = sample.render(
        "guarantee_of_coverage", coverage=coverage, confidence=confidence, least=least
    )
    effects = _effects(value, sample, sample)
    return Threshold("coverage", coverage, guarantee, conditional=least, **effects)


class OfClass(NamedTuple):
    """Numbers of the images of a class, and of the answers that name it.

    `right` and `precision` are the shares of correct answers among both.  `wrong` is the risk of
    the `accepted` answers, and `beyond` is true if it exceeds the guaranteed risk.
    """

    name: str
    images: int
    right: tuple[float, float, float]
    answers: int
    precision: tuple[float, float, float]
    accepted: int
    wrong: tuple[float, float, float]
    beyond: bool


def by_class(
    validation: Outputs,
    names: Sequence[str],
    accepted: np.ndarray,
    risk: float,
    groups: np.ndarray | None = None,
) -> list[OfClass]:
    """Return the numbers of each class; `accepted` are indices of measuring images.

    The class of a new image is unknown, its answer is not.
    """
    confidence = 1 - 2 * (1 - LEVEL) / len(names)  # one-sided, all answers together
    rows = []
    for label, name in enumerate(names):
        of_label = np.flatnonzero(validation.labels == label)
        of_answer = np.flatnonzero(validation.predictions == label)
        kept = accepted[validation.predictions[accepted] == label]
        right, precision = (
            share(validation.correct[places], groups=some(groups, places))
            for places in (of_label, of_answer)
        )
        errors = ~validation.correct[kept]
        together = some(groups, kept)
        rows.append(
            OfClass(
                name,
                images=len(of_label),
                right=right,
                answers=len(of_answer),
                precision=precision,
                accepted=len(kept),
                wrong=share(errors, groups=together),
                beyond=share(errors, confidence, together)[1] > risk,  # false for NaN
            )
        )
    return rows


class Guaranteed(NamedTuple):
    """The guarantee of an answer or a stratum; NaN without a threshold."""

    name: str
    images: int
    value: float = np.nan
    coverage: float = np.nan
    bound: float = np.nan


def by_answer(
    sample: Sample, answers: np.ndarray, names: Sequence[str], risk: float, confidence: float
) -> tuple[int, list[Guaranteed]]:
    """Return the images that a guarantee needs, and the guarantee for each answer or stratum.

    All guarantees hold together with this confidence: each has an equal share of the error.
    """
    each = 1 - (1 - confidence) / len(names)
    rows = []
    for label, name in enumerate(names):
        among = sample.subset(answers == label)
        row = Guaranteed(name, len(among.scores))
        with suppress(ValueError):  # too few images, or too many errors
            rule = guarantees.risk_threshold(
                among.scores, among.correct, risk=risk, confidence=each, groups=among.groups
            )
            row = Guaranteed(*row[:2], rule.threshold, rule.coverage, rule.bound)
        rows.append(row)
    return guarantees.images_needed(risk, each), rows
