"""The four stages of an audit, each from a frozen record to a frozen record.

`choose` fits everything on the choosing halves, `measure` computes numbers on the measuring halves,
`guarantee` finds the thresholds, and `estimate` looks at the unlabelled images.  A record has all
fields of the record before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import log_softmax, stdtrit

from helpers import metrics
from helpers.checks import known_name, open_share, positive_number, whole_number
from helpers.metrics.bootstrap import weighted_calibration_error
from helpers.outputs import Outputs
from helpers.scores import Score
from helpers.scores.calibration import confidences, softmax, temperature_or_reason
from known_unknowns.auditing import doubts, labelling, ranking, unlabelled_images
from known_unknowns.auditing import thresholds as rules
from known_unknowns.auditing.doubts import Doubt
from known_unknowns.auditing.inputs import LEAST, Inputs
from known_unknowns.auditing.ranking import ID, Half
from known_unknowns.auditing.thresholds import Guaranteed, OfClass, Sample, Threshold
from known_unknowns.auditing.units import of_unit
from known_unknowns.auditing.unlabelled_images import Drift, Part, Unlabelled
from known_unknowns.guarantees import one_of_each
from known_unknowns.without_labels import share_bound

#: Largest number of images for temperature, directions and calibration; more change no number.
FITTED = 10_000
#: Smallest number of validation images whose halves choose the score and measure it.  With fewer
#: images the score is `FIXED`, and all images measure it: a guarantee needs each of them.
ENOUGH = 1000
FIXED = "msp"
#: Scores for images unlike the validation images, if there is no set of unknown images.
DETECTORS = ("fdbd", "knn")


@dataclass(frozen=True)
class Settings:
    """The checked arguments of `known_unknowns.auditing.audit`, which has the defaults."""

    target: str
    fallback: str
    risk: float
    coverage: float
    confidence: float
    unknown_share: float
    replicates: int
    seed: int
    score: str = ""
    costs: tuple[float, float] | None = None

    def __post_init__(self):
        known_name("target", self.target, rules.TARGETS)
        if self.fallback:
            known_name("fallback", self.fallback, rules.FALLBACKS)
        for name in ("risk", "coverage", "confidence"):
            open_share(name, getattr(self, name))
        if self.costs is not None:
            if np.shape(self.costs) != (2,) or self.costs[0] <= self.costs[1]:
                raise ValueError(
                    f"costs: of an error and of a cheaper review expected, got {self.costs}"
                )
            for cost in self.costs:
                positive_number("costs", cost)
        for name in ("unknown_share", "fallback"):
            if getattr(self, name) and not self.for_risk:
                raise ValueError(
                    f"{name}: only for the guarantee of a risk; leave it out, or the coverage, the "
                    "reviews and the costs"
                )
        whole_number("replicates", self.replicates)
        whole_number("seed", self.seed, least=0)

    @property
    def for_risk(self) -> bool:
        """Whether the rejector is for a risk, and for no coverage or cost."""
        return self.target == "risk" and not self.costs

    @property
    def ranked_target(self) -> ranking.Target:
        """Target for which the scores are compared."""
        return ranking.Target(self.target, getattr(self, self.target), self.unknown_share)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The fits and the choice on the choosing halves; `Audit` describes the fields."""

    inputs: Inputs
    settings: Settings
    doubts: tuple[Doubt, ...]
    choosing: np.ndarray
    measuring: np.ndarray
    held_out: np.ndarray  # the measuring images that are not among the choosing images
    halves: dict[str, Half]  # the measuring half of each group
    temperature: float
    warned: list[str]  # why the temperature stays 1
    left_out: dict[str, str]
    ranking: pd.DataFrame
    best: list[str]
    score: Score
    chosen: np.ndarray  # scores of the choosing half
    detector: Score | None  # another score for images unlike the validation images
    hardest: list[str]  # the set that the score detects worst, if there are sets

    @property
    def valid(self) -> bool:
        """Whether no doubt makes the numbers and guarantees invalid."""
        return doubts.INVALID.isdisjoint(doubt.name for doubt in self.doubts)


@dataclass(frozen=True, kw_only=True)
class Measurement(Choice):
    """Numbers of the measuring halves, and of single validation images."""

    accuracy: tuple[float, float, float]
    claimed: np.ndarray
    sure: np.ndarray
    wrong: np.ndarray
    suspected_labels: np.ndarray
    calibration: pd.DataFrame
    confirmed: pd.DataFrame
    samples: dict[str, np.ndarray]
    correct: np.ndarray

    @property
    def sample(self) -> Sample:
        """Measuring images behind the thresholds."""
        return Sample(
            self.samples["validation"],
            self.correct,
            self.unknown,
            self.inputs.groups_of(self.measuring),
            unit=self.inputs.unit,
        )

    @property
    def independent(self) -> np.ndarray:
        """Places, among the measuring images, of one held-out image of each group."""
        # the first of the measuring images
        return one_of_each(len(self.held_out), self.inputs.groups_of(self.held_out))

    @property
    def watched(self) -> np.ndarray | slice:
        """Measuring images that a rejector keeps: all, or one held-out image of each group."""
        return np.sort(self.independent) if self.inputs.grouped else slice(None)  # in random order

    @property
    def unknown(self) -> dict[str, np.ndarray]:
        """Scores of each set of unknown images."""
        return {name: self.samples[name] for name in self.inputs.ood}

    @property
    def hard(self) -> dict[str, np.ndarray]:
        """Scores of the set that the chosen score detects worst on the choosing halves."""
        return {name: self.samples[name] for name in self.hardest}


@dataclass(frozen=True, kw_only=True)
class Guarantee(Measurement):
    """Thresholds and their guarantees."""

    guaranteed_on: Sample
    thresholds: dict[str, Threshold]
    deployed: str
    threshold: Threshold | None
    classes: list[OfClass]
    answers: list[Guaranteed]
    images_needed_by_answer: int
    strata: list[Guaranteed]
    images_needed_by_stratum: int

    @property
    def beyond(self) -> list[str]:
        """Given sets of which the rejector accepts clearly more than the guarantee includes.

        Their share exceeds that of the set behind the guarantee by two standard deviations.
        """
        if self.threshold is None or not self.threshold.unknown:
            return []
        shares = self.threshold.ood_accepted
        spread = {
            name: shares[name] * (1 - shares[name]) / len(scores)
            for name, scores in self.unknown.items()
        }
        (hard,) = self.hardest
        return [
            name
            for name, share in shares.items()
            if share - shares[hard] > 2 * np.sqrt(spread[name] + spread[hard])
        ]

    @property
    def only_common(self) -> bool:
        """Whether no threshold is for a single answer.

        The target is no risk, or the deployed guarantee includes unknown images or is for new ones.
        """
        other = self.deployed == "production" or not self.settings.for_risk
        return other or (self.threshold is not None and self.threshold.unknown > 0)

    @property
    def takes_share(self) -> bool:
        """Whether the guarantee could include a larger share of unknown images."""
        risk = self.settings.for_risk and self.deployed != "production"
        return risk and bool(self.inputs.ood)


@dataclass(frozen=True, kw_only=True)
class Estimates(Guarantee):
    """Estimates for the unlabelled images; None without such images."""

    unlabelled: Unlabelled | None
    drift: Drift | None


def choose(inputs: Inputs, settings: Settings, tell: Callable[[str], object]) -> Choice:
    """Fit the temperature and all scores, and choose a score, on the choosing halves."""
    if 0 < inputs.grouped < LEAST:
        raise ValueError(
            f"groups: at least {LEAST} expected, got {inputs.grouped}; bring images of other "
            "scenes, patients or videos"
        )
    tell("looks for copies, and for labels that do not fit")
    found = doubts.find_doubts(inputs)
    choosing, measuring = _divide(inputs, settings.seed)
    places = choosing[ID].places[:FITTED]
    fitted = inputs.validation.subset(places)
    temperature, warned = _fit_temperature(fitted, inputs.groups_of(places))
    tell("fits the scores")
    usable, left_out = ranking.fitted(inputs)
    fixed = settings.score or (FIXED if (inputs.grouped or len(inputs.validation)) < ENOUGH else "")
    if fixed in left_out:
        raise ValueError(f"score: {fixed} cannot be used here: it {left_out[fixed]}")
    if fixed:
        known_name("score", fixed, usable)
    tell(f"compares {len(usable)} scores")
    compared = {
        name: Half(half.outputs, half.places[: ranking.COMPARED]) for name, half in choosing.items()
    }
    samples = ranking.score_halves(usable, compared)
    groups = ranking.Groups(
        compared,
        settings.replicates,
        settings.seed,
        settings.ranked_target,
        inputs.groups_of(compared[ID].places),
    )
    table, best = ranking.ranked(usable, samples, groups)
    held_out = measuring[ID].places
    if fixed:
        best = [fixed, *(name for name in best if name != fixed)]
        both = np.concatenate([held_out, choosing[ID].places])
        measuring[ID] = Half(inputs.validation, both)
    score = usable[best[0]]
    tell(f"measures the chosen one, {score.info.title}")
    chosen = samples[best[0]]
    known = chosen[ID]
    areas = {name: metrics.auroc(known, chosen[name]) for name in inputs.ood}
    return Choice(
        inputs=inputs,
        settings=settings,
        doubts=found,
        choosing=choosing[ID].places,
        measuring=measuring[ID].places,
        held_out=held_out,
        halves=measuring,
        temperature=temperature,
        warned=warned,
        left_out={name: of_unit(reason, inputs.unit) for name, reason in left_out.items()},
        ranking=table,
        best=best,
        score=score,
        chosen=known,
        detector=usable.get(_detector(usable, samples, best[0], list(inputs.ood))),
        hardest=sorted(areas, key=areas.__getitem__)[:1],
    )


def _detector(
    usable: Mapping[str, Score], samples: Mapping[str, dict], chosen: str, sets: Sequence[str]
) -> str:
    """Return the score that detects images of the sets best; "" for the chosen score.

    Without sets, it is the first of `DETECTORS` that the inputs allow.
    """
    if sets:
        areas = {
            name: np.mean([metrics.auroc(each[ID], each[ood]) for ood in sets])
            for name, each in samples.items()
        }
        best = max(areas, key=lambda name: (areas[name], name == chosen))
    else:
        best = next((name for name in DETECTORS if name in usable), chosen)
    return "" if best == chosen else best


def _divide(inputs: Inputs, seed: int) -> tuple[dict[str, Half], dict[str, Half]]:
    """Return two random halves of each set, in random order.

    A single image is in both halves.  All validation images of a group are in the same half.
    """
    generator = np.random.default_rng(seed)
    groups = dict(inputs.ood) | {ID: inputs.validation}
    orders = {name: generator.permutation(len(part)) for name, part in groups.items()}
    choosing = {}
    measuring = {}
    for name in (ID, *inputs.ood):
        order = orders[name]
        middle = len(order) // 2
        first = np.arange(len(order)) < middle
        if name == ID and inputs.groups is not None:
            _, which = np.unique(inputs.groups, return_inverse=True)
            chosen = generator.permutation(inputs.grouped) < inputs.grouped // 2
            first = chosen[which[order]]
        choosing[name] = Half(groups[name], order[first] if middle else order)
        measuring[name] = Half(groups[name], order[~first])
    return choosing, measuring


def _fit_temperature(
    validation: Outputs, groups: np.ndarray | None = None
) -> tuple[float, list[str]]:
    """Return the temperature, and the reason why it stays 1, if there is one.

    It stays 1, without a reason, if the logits need none.

    >>> generator = np.random.default_rng(0)
    >>> logits = generator.normal(size=(500, 3))
    >>> labels = (logits + generator.gumbel(size=logits.shape)).argmax(axis=1)  # calibrated
    >>> round(temperature_or_reason(logits, labels)[0], 2)
    0.95
    >>> _fit_temperature(Outputs(logits, np.empty((500, 0)), labels))
    (1.0, [])
    """
    temperature, reason = temperature_or_reason(validation.logits, validation.labels)
    if not 1e-9 <= temperature <= 1e9:
        raise ValueError(
            f"logits: a scale from 1e-9 to 1e9 expected, got a temperature of {temperature:.3g}; "
            f"divide the logits of all groups by {temperature:.3g}"
        )
    logits = validation.logits.astype(np.float64)
    if not _needs_temperature(logits, validation.labels, groups):
        temperature = 1.0
    warned = [f"The temperature stays 1: in the choosing half, {reason}."] if reason else []
    return temperature, warned


def _needs_temperature(
    logits: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None
) -> bool:
    """Return whether the logits differ from calibrated ones by more than chance (score test).

    With calibrated logits, the sum of the logits of the true classes minus their expectations has a
    mean of 0, and the variance of the logits under their probabilities.  The temperature of each
    half must also lower the NLL of the other half, by a standard error: a single probability of 0
    for a true class passes the first test alone.  With groups, sums over their images are the
    independent draws: they have their own variance, and each group is in one half.

    >>> generator = np.random.default_rng(0)
    >>> logits = generator.normal(size=(500, 3))
    >>> labels = (logits + generator.gumbel(size=logits.shape)).argmax(axis=1)  # calibrated
    >>> _needs_temperature(logits, labels), _needs_temperature(2 * logits, labels)
    (False, True)
    >>> copies = np.repeat(np.arange(50), 10)
    >>> logits_of, labels_of = logits[copies], labels[copies]
    >>> _needs_temperature(logits_of, labels_of), _needs_temperature(logits_of, labels_of, copies)
    (True, False)
    >>> wrong = labels[0] != np.arange(3)
    >>> _needs_temperature(logits + 90 * np.outer(np.arange(500) == 0, wrong), labels)
    False
    """
    logs = log_softmax(logits, axis=1)
    probabilities = np.exp(logs)
    expected = (probabilities * logits).sum(axis=1, keepdims=True)
    variance = (probabilities * (logits - expected) ** 2).sum()
    rows = np.arange(len(labels))
    excess = logits[rows, labels] - expected[:, 0]
    which = rows
    least = 2.0
    if groups is not None:
        which = np.unique(groups, return_inverse=True)[1]
        variance = max(variance, (np.bincount(which, excess) ** 2).sum())
        least = stdtrit(which.max(), 0.975)
    gains = np.zeros(len(labels))
    for half in (which % 2 == 0, which % 2 == 1):
        temperature, _ = temperature_or_reason(logits[~half], labels[~half])
        gained = log_softmax(logits / temperature, axis=1) - logs
        gains[half] = gained[rows, labels][half]
    of_draws = np.bincount(which, gains)
    clear = of_draws.mean() > of_draws.std() / np.sqrt(len(of_draws))
    return bool(abs(excess.sum()) > least * np.sqrt(variance) and clear)


def measure(choice: Choice) -> Measurement:
    """Measure the chosen score and the calibration on the measuring halves."""
    inputs = choice.inputs
    settings = choice.settings
    validation = inputs.validation
    groups = ranking.Groups(
        choice.halves,
        settings.replicates,
        settings.seed,
        settings.ranked_target,
        inputs.groups_of(choice.measuring),
    )
    measured = ranking.score_halves({"": choice.score}, choice.halves)[""]
    rows, _ = groups.measure(measured)
    samples = {"validation": measured[ID]} | {name: measured[name] for name in inputs.ood}
    if inputs.production is not None:
        samples["production"] = choice.score.score_samples(inputs.production)
    sure = confidences(validation.logits, choice.temperature)
    wrong = np.flatnonzero(~validation.correct)
    return Measurement(
        **vars(choice),
        accuracy=rules.share(validation.correct, groups=inputs.groups),
        claimed=confidences(validation.logits),
        sure=sure,
        wrong=wrong[np.argsort(-sure[wrong], kind="stable")],
        suspected_labels=doubts.likely_label_errors(validation, choice.temperature),
        calibration=_calibration(choice),
        confirmed=pd.DataFrame(rows),
        samples=samples,
        correct=validation.correct[choice.measuring],
    )


def _calibration(choice: Choice) -> pd.DataFrame:
    """Return calibration errors before and after temperature scaling.

    They show that a confidence is right on average alone.

    >>> from known_unknowns.auditing import audit
    >>> places = np.arange(1000)
    >>> sure = np.where(places % 2, 0.9, 0.6)
    >>> wrong = places // 2 % 50 >= np.where(places % 2, 42, 35)
    >>> others = np.tile((1 - sure[:, None]) / 9, 9)
    >>> outputs = {"probabilities": np.c_[sure, others], "labels": wrong.astype(int)}
    >>> audited = audit(outputs, replicates=2)
    >>> audited.temperature, "is right on average alone" in audited.sentences("sure")[0]
    (1.0, True)
    """
    part = choice.inputs.validation.subset(choice.held_out[:FITTED])
    settings = choice.settings
    groups = choice.inputs.groups_of(choice.held_out[:FITTED])
    weights = ranking.draws(len(part), settings.replicates, settings.seed, groups)
    rows = {}
    for when, temperature in (("before", 1.0), ("after", choice.temperature)):
        probabilities = softmax(part.logits, temperature)
        sure = probabilities.max(axis=1)
        drawn = weighted_calibration_error(sure, part.correct, weights)
        ece = metrics.ece(probabilities, part.labels)
        # centred, since resampled images have a larger calibration error
        ends = ece + np.quantile(drawn, [0.025, 0.975]) - drawn.mean()
        low, high = ends.clip(0, 1)
        rows[when] = {
            "ece": ece,
            "low": low,
            "high": high,
            "floor": metrics.calibration_error_floor(sure),
            "nll": metrics.nll(probabilities, part.labels),
            "brier": metrics.brier(probabilities, part.labels),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def guarantee(measured: Measurement) -> Guarantee:
    """Find both thresholds, choose one to deploy, and compute guarantees of classes and strata."""
    inputs = measured.inputs
    settings = measured.settings
    sample = measured.sample
    mixture = rules.draw_mixture(
        replace(sample, ood=measured.hard), settings.unknown_share, seed=settings.seed
    )
    thresholds, deployed = _thresholds(measured, mixture)
    if not measured.valid:
        deployed = ""
        problem = "the validation images are not valid"
        thresholds = {row.target: row.without_value(problem) for row in thresholds.values()}
    threshold = thresholds.get(deployed)
    accepted = sample.scores >= (threshold.value if threshold else np.inf)
    each_answer = partial(
        rules.by_answer, sample, risk=settings.risk, confidence=settings.confidence
    )
    needed_by_answer, of_answers = each_answer(
        inputs.validation.predictions[measured.measuring], inputs.class_names
    )
    needed_by_stratum = 0
    of_strata: list[Guaranteed] = []
    if inputs.strata is not None and measured.valid:
        kinds, numbers = np.unique(inputs.strata, return_inverse=True)
        needed_by_stratum, of_strata = each_answer(
            numbers[measured.measuring], list(map(str, kinds))
        )
    return Guarantee(
        **vars(measured),
        guaranteed_on=mixture,
        thresholds=thresholds,
        deployed=deployed,
        threshold=threshold,
        classes=rules.by_class(
            inputs.validation,
            inputs.class_names,
            measured.measuring[accepted],
            threshold.target_value if threshold and threshold.target == "risk" else 1.0,
            inputs.groups,
        ),
        answers=[row if measured.valid else Guaranteed(*row[:2]) for row in of_answers],
        images_needed_by_answer=needed_by_answer,
        strata=of_strata,
        images_needed_by_stratum=needed_by_stratum,
    )


def _thresholds(measured: Measurement, mixture: Sample) -> tuple[dict[str, Threshold], str]:
    """Return all thresholds by kind, and the kind to deploy, empty if there is none.

    `mixture` has the images behind the guarantee of a risk.
    """
    settings = measured.settings
    sample = measured.sample
    target = settings.risk, settings.confidence
    thresholds = {
        "risk": rules.guarantee_risk(sample, mixture, *target),
        "coverage": rules.guarantee_coverage(sample, settings.coverage, settings.confidence),
    }
    kinds = [settings.target, settings.fallback]
    if settings.target == "risk":
        if thresholds["risk"].problem:
            thresholds |= rules.fall_back(sample, mixture, *target)
        thresholds |= _for_production(measured)
        kinds.insert(0, "production")
    if settings.costs:
        correct = measured.inputs.validation.correct
        thresholds["cost"] = rules.guarantee_cost(
            Sample(measured.chosen, correct[measured.choosing]),
            sample.subset(slice(len(measured.held_out))),  # the first of the measuring images
            settings.costs,
            settings.confidence,
        )
        kinds = ["cost"]
    possible = (kind for kind in kinds if kind in thresholds and not thresholds[kind].problem)
    return thresholds, next(possible, "")


def _for_production(measured: Measurement) -> dict[str, Threshold]:
    """Return the threshold that labels of new images guarantee, if these are unlike the others."""
    labels = labelling.labels_of(measured.inputs)
    settings = measured.settings
    production = measured.inputs.production
    if production is None or not labelling.is_drawn(labels, settings.seed):
        return {}
    scores = measured.samples["production"]
    sample = measured.sample
    if not share_bound(sample.scores[measured.independent], scores):
        return {}
    new = replace(sample, scores=scores, correct=labels == production.predictions, groups=None)
    labelled = new.subset(labelling.labelled_of(labels))
    threshold = rules.guarantee_for_new(labelled, scores, settings.risk, settings.confidence)
    return {} if threshold is None else {"production": threshold}


def estimate(guaranteed: Guarantee) -> Estimates:
    """Estimate what changes on the unlabelled images, if there are any."""
    inputs = guaranteed.inputs
    production = inputs.production
    if production is None:
        return Estimates(**vars(guaranteed), unlabelled=None, drift=None)
    settings = guaranteed.settings
    values = getattr(inputs.validation, inputs.richest)
    axes = unlabelled_images.principal_directions(
        values[guaranteed.choosing[:FITTED]], seed=settings.seed
    )
    known = guaranteed.samples["validation"]
    independent = guaranteed.independent
    drift = unlabelled_images.find_drift(
        known[guaranteed.watched],
        guaranteed.samples["production"],
        (values @ axes)[guaranteed.measuring[independent]],
        getattr(production, inputs.richest) @ axes,
    )
    threshold = guaranteed.threshold
    tested = guaranteed.deployed in ("risk", "smallest")  # by labels that did not set the threshold
    labelled = labelling.look_at_labels(
        inputs,
        guaranteed.samples["production"],
        known,
        confidences(production.logits, guaranteed.temperature),
        threshold=threshold.value if threshold else np.inf,
        risk=threshold.target_value if threshold and tested else None,
        seed=settings.seed,
    )
    looked = _look_at(guaranteed, production)
    to_state = looked.to_state
    if labelled and inputs.ood:
        seen = labelled.unknown
        to_state = min(0.99, round(seen.high + 0.005, 2)) if seen.value else None
    more = doubts.doubt_share(looked.rest[0], settings.unknown_share, inputs.unit)
    if not guaranteed.takes_share or not guaranteed.valid:
        to_state = None
        more = ()
    unlabelled = replace(
        looked,
        to_state=to_state,
        to_label=labelling.to_label(labelling.labels_of(inputs), settings.seed),
        labelled=labelled,
    )
    fields = vars(guaranteed) | {"doubts": guaranteed.doubts + more}
    return Estimates(**fields, unlabelled=unlabelled, drift=drift)


def _look_at(guaranteed: Guarantee, production: Outputs) -> Unlabelled:
    """Return the estimates for unlabelled images."""
    score = guaranteed.score
    inputs = guaranteed.inputs
    families = {name: score.score_samples(part) for name, part in inputs.families.items()}
    independent = guaranteed.independent
    validation = inputs.validation.subset(guaranteed.measuring[independent])
    known, new = (
        Part(scores, softmax(outputs.logits, guaranteed.temperature), outputs.predictions)
        for scores, outputs in (
            (guaranteed.samples["validation"][independent], validation),
            (guaranteed.samples["production"], production),
        )
    )
    return unlabelled_images.look_at_unlabelled(
        known,
        validation.labels,
        new,
        chosen=guaranteed.chosen,
        unknown=guaranteed.unknown | families,
        threshold=guaranteed.threshold.value if guaranteed.threshold else np.inf,
        class_names=inputs.class_names,
    )
