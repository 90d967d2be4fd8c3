"""The estimates of this package, compared with labels on the mixtures of the Gscore paper.

The rows are more variants of that paper's results. A protocol defines the share of unknown
images and whether the estimators know it. Every detector has two protocols: the share is one
half and known, as in the paper; or it is drawn for each set and unknown. The first detector
has further protocols, each with one change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from helpers.networks.model import Model, Network
from helpers.papers.gscore import experiment as gscore
from helpers.papers.gscore.experiment import divide, models, parts, roles
from helpers.papers.gscore.mixtures import (
    PRIMARY,
    DetectorScores,
    Variant,
    choose_images,
    metrics_by_confidence,
)
from helpers.papers.gscore.roles import kind_of
from helpers.papers.run import Draw, Part
from helpers.report import results
from known_unknowns import without_labels
from known_unknowns.without_labels.estimates import (
    FEWEST,
    PREDICTED,
    Estimate,
    MetaSets,
    group_metrics,
)
from known_unknowns.without_labels.skills import DRAWN, ESTIMATED, KNOWN, OTHER_KIND

if TYPE_CHECKING:
    from helpers.outputs import Outputs as NetworkOutputs
    from helpers.papers.gscore.roles import Suite
    from known_unknowns.without_labels.parameters import Parameters

__all__ = ["models", "outputs", "parts", "roles", "rows"]

MIXED = Variant("mixed", drawn=True)
LEARNING = ("constant", "gscore", "curve_regression")
"""The estimators that learn from meta sets."""
RATE = 0.1
"""Largest expected share of known images on a list."""
KEPT = 0.95
"""Share of the known images that the rejector accepts."""
LISTS = {"suspected": "Benjamini–Hochberg", "suspected_adaptive": "Storey"}
BOUNDS = {
    "share_bound": "exact at six ranks",
    "label_shift_share_bound": "under label shift, twice as frequent",
}
_FEW = 2  # divisions, except for the two main protocols of the first detector


@dataclass(frozen=True)
class Outputs:
    """The outputs of a network on a suite."""

    suite: gscore.SuiteOutputs
    answers: dict[str, NetworkOutputs]


def outputs(parameters: Parameters, part: Part, roles: Suite, models: Network) -> Outputs:
    """Return the scores and probabilities of all images."""
    model = Model(part.identity["backbone"], (models,))
    images = {"validation": roles.validation, "test": roles.test, **roles.sets}
    every = ((name, model.outputs(each)) for name, each in images.items())
    # features of all sets would fill the memory
    answers = {name: replace(each, features=each.features[:, :0].copy()) for name, each in every}
    return Outputs(gscore.outputs(parameters, part, roles, models), answers)


def rows(parameters: Parameters, part: Part, outputs: Outputs, draw: Draw) -> Iterator[dict]:
    """Yield the rows of `rows_of_protocols`, then those of `rows_of_answers`."""
    suite, first = outputs.suite, parameters.detectors[0]
    names = list(suite.detectors[first].sets)
    divisions = [divide(len(names), run, parameters) for run in range(parameters.repeats)]
    yield from rows_of_protocols(suite.detectors, suite.confidence, divisions, parameters)
    if len(suite.detectors[first].known["test"]) == len(suite.correct):  # none was left out
        yield from rows_of_answers(first, suite.detectors[first], outputs.answers, parameters)


@dataclass(frozen=True)
class Protocol:
    """How mixtures are made, and whether estimators know the share of unknown images."""

    name: str
    images: Variant = MIXED
    told: bool = False
    known: str = "test"


BOTH = (Protocol(KNOWN, PRIMARY, told=True), Protocol(DRAWN))
"""The two protocols of every detector."""


def rows_of_protocols(
    detectors: Mapping[str, DetectorScores],
    confidence: Mapping[str, DetectorScores],
    divisions: Sequence[tuple[np.ndarray, np.ndarray]],
    parameters: Parameters,
) -> Iterator[dict]:
    """Yield the rows of the first detector in all divisions, and of the others in a few.

    The first detector is also tested by size, under a shift, and on other kinds of sets than
    those that it learned from: drawn families teach, and all other sets test.
    """
    first, few = parameters.detectors[0], divisions[:_FEW]
    drawn = np.array([kind_of(name) == "drawn" for name in detectors[first].sets])
    sizes = [size for size in parameters.sizes if size >= FEWEST]
    further = [
        *(Protocol(f"{DRAWN}, size {size}", replace(MIXED, size=size)) for size in sizes),
        *(Protocol(f"{DRAWN}, shift {shift}", known=shift) for shift in parameters.shifts),
    ]
    tasks = [(first, divisions, BOTH), (first, few, further)]
    if drawn.sum() >= 3 and not drawn.all():
        kinds = [(np.flatnonzero(drawn), np.flatnonzero(~drawn))]
        tasks.append((first, kinds, [Protocol(OTHER_KIND)]))
    tasks += [(name, few, BOTH) for name in parameters.detectors[1:]]
    for name, some, asked in tasks:
        scores = detectors[name], confidence[name]
        yield from rows_of_estimators(name, *scores, some, parameters, asked)


def rows_of_estimators(
    detector: str,
    scores: DetectorScores,
    confidence: DetectorScores,
    divisions: Sequence[tuple[np.ndarray, np.ndarray]],
    parameters: Parameters,
    asked: Sequence[Protocol] = BOTH,
) -> Iterator[dict]:
    """Yield rows of every estimator; variants are protocols, and runs are divisions.

    * ``predicted_METRIC`` of each set that tests.
    * ``true_METRIC`` of DETECTOR/truth, if the ID images are not those of ``test``.
    * On ``all`` sets ``rmse_``, ``coverage_`` and ``width_METRIC``, or ``failed``; no coverage and
      width of ``confidence``, which has no intervals.
    """
    level, sets, fitted = parameters.level, [*scores.sets.values()], {}
    names = np.array([*scores.sets])
    metas = [
        MetaSets(scores.known["meta"], {str(i): sets[i] for i in learnt}) for learnt, _ in divisions
    ]
    for protocol in asked:
        places = choose_images(scores, parameters, protocol.images)["test"]
        mixed = [np.concatenate(pair) for pair in scores.mixtures(protocol.known, places)]
        usable = np.array([len(mixture) >= FEWEST for mixture in mixed])
        if not all(usable[tested].any() for _, tested in divisions):
            continue  # too few images for an estimate
        numbers = np.unique(np.concatenate([tested[usable[tested]] for _, tested in divisions]))
        truths = {n: group_metrics(scores.known[protocol.known], sets[n]) for n in numbers}
        free = _without_meta(scores, confidence, protocol, places, mixed, numbers, level)
        for run, (_, tested) in enumerate(divisions):
            tested = tested[usable[tested]]
            estimates = {name: [each[n] for n in tested] for name, each in free.items()}
            place = {"variant": protocol.name, "run": run}
            for name in LEARNING:
                key, share = (name, run, protocol.told), 0.5 if protocol.told else None
                try:
                    if key not in fitted:
                        fit = without_labels.ESTIMATORS[name]
                        fitted[key] = fit(scores.validation, metas[run], share=share)
                    estimates[name] = [fitted[key].estimate(mixed[n], level=level) for n in tested]
                except ValueError as error:  # only this estimator fails
                    place |= {"method": f"{detector}/{name}"}
                    notes = f"{type(error).__name__}: {error}"
                    yield results.row("all", "failed", 1.0, 1, notes=notes, **place)
            images = np.array([len(mixed[n]) for n in tested])
            true = {metric: np.array([truths[n][metric] for n in tested]) for metric in PREDICTED}
            for name, each in estimates.items():
                place |= {"method": f"{detector}/{name}"}
                yield from _rows_of_estimates(each, true, names[tested], images, place)


def _without_meta(scores, confidence, protocol, places, mixed, numbers, level) -> dict[str, dict]:
    """Return the estimates that need no meta sets, by estimator and number of the set."""
    shares = [len(others) / (len(ours) + len(others)) for ours, others in places.values()]
    estimates = {"prior_corrected": {}, ESTIMATED: {}}
    for number in numbers:
        for name, share in zip(tuple(estimates), (shares[number], None), strict=True):
            fitted = without_labels.fit_prior_corrected(scores.validation, share=share)
            estimates[name][number] = fitted.estimate(mixed[number], level=level)
    if protocol.known in confidence.known:
        guesses = metrics_by_confidence(scores, confidence, protocol.known, places)
        estimates["confidence"] = {
            number: {metric: Estimate(*[guesses[metric][number]] * 3) for metric in PREDICTED}
            for number in numbers
        }
    return estimates


def _rows_of_estimates(estimates, truths, names, images, place) -> Iterator[dict]:
    detector, _, estimator = place["method"].partition("/")
    for metric, truth in truths.items():
        value, low, high = np.transpose([each[metric] for each in estimates])
        told = [(place["method"], f"predicted_{metric}", value)]
        if estimator == "constant" and place["variant"].startswith(f"{DRAWN}, shift"):
            told.append((f"{detector}/truth", f"true_{metric}", truth))
        for method, what, values in told:
            for name, number, count in zip(names, values, images, strict=True):
                yield results.row(name, what, number, count, **(place | {"method": method}))
        numbers = {"rmse": np.sqrt(np.mean((value - truth) ** 2))}
        if estimator != "confidence":
            numbers["coverage"] = np.mean((low <= truth) & (truth <= high))
            numbers["width"] = np.mean(high - low)
        for name, number in numbers.items():
            yield results.row("all", f"{name}_{metric}", number, images.sum(), **place)


def rows_of_answers(
    name: str,
    detector: DetectorScores,
    answers: Mapping[str, NetworkOutputs],
    parameters: Parameters,
) -> Iterator[dict]:
    """Yield rows that compare estimates on the mixtures with labels; the variant is `DRAWN`.

    On ``all`` sets, means over them:

    * DETECTOR/BOUND of `BOUNDS`: ``coverage_share``, how often it is at most the true share, and
      ``part_share``, the bounds' sum over the sum of the true shares.  DETECTOR/estimate_share:
      ``rmse_share``.
    * DETECTOR/LIST of `LISTS`: ``known_listed`` and ``power``, see `selection_outcome`; and so for
      each set.
    * ``accuracy/ESTIMATOR`` of all images, ``accepted/ESTIMATOR`` of those that a rejector accepts:
      ``rmse_``, ``bias_``, ``coverage_`` and ``width_accuracy``.

    Mixtures of fewer than 50 images are left out, and numbers that need more images than there are.
    """
    collected, images = {}, 0
    for test_set, places in choose_images(detector, parameters, MIXED)["test"].items():
        count = sum(map(len, places))
        if count < FEWEST:
            continue
        images += count
        for key, value in _numbers(name, detector, answers, test_set, places, parameters.level):
            collected.setdefault(key, []).append(value)
            if key[1] in ("known_listed", "power"):
                place = {"method": key[0], "variant": DRAWN}
                yield results.row(test_set, key[1], value, count, **place)
    for (method, metric), values in collected.items():
        mean = np.mean(values, axis=0)
        if metric == "part_share":
            mean = mean[0] / mean[1]
        elif metric.startswith("rmse"):
            mean = np.sqrt(mean)
        yield results.row("all", metric, mean, images, method=method, variant=DRAWN)


def _numbers(name, detector, answers, test_set, places, level) -> Iterator[tuple]:
    """Yield method and metric, and the number, of one mixture; errors are squared."""
    (ours, others), held = places, detector.validation
    scores = np.concatenate([detector.known["test"][ours], detector.sets[test_set][others]])
    unknown = np.arange(len(scores)) >= len(ours)
    share, pair = unknown.mean(), (held, scores)
    bounds = {
        "share_bound": without_labels.share_bound(*pair, level=level),
        "label_shift_share_bound": without_labels.label_shift_share_bound(
            held, answers["validation"].labels, scores, level=level
        ),
    }
    for bound, least in bounds.items():
        yield (f"{name}/{bound}", "coverage_share"), float(least <= share)
        yield (f"{name}/{bound}", "part_share"), (least, share)
    estimate = without_labels.estimate_share(*pair)
    yield (f"{name}/estimate_share", "rmse_share"), (estimate - share) ** 2
    for method in LISTS:
        adaptive = method == "suspected_adaptive"
        listed = without_labels.suspected_unknown(*pair, rate=RATE, adaptive=adaptive)
        outcome = without_labels.selection_outcome(listed.chosen, unknown)
        for metric, value in zip(("known_listed", "power"), outcome, strict=True):
            yield (f"{name}/{method}", metric), value
    correct = np.append(answers["test"].correct[ours], np.zeros(len(others), bool))
    chosen = answers["test"].probabilities[ours], answers[test_set].probabilities[others]
    mixture = without_labels.Answers(np.concatenate(chosen))
    validation = without_labels.Answers(answers["validation"].probabilities)
    given = validation, answers["validation"].correct, mixture
    groups = {"accuracy": (without_labels.estimate_accuracy(*given, level=level), correct)}
    threshold = np.quantile(detector.known["meta"], 1 - KEPT)
    accepted = [each >= threshold for each in pair]
    if accepted[0].any() and accepted[1].sum() >= FEWEST:
        least = without_labels.share_bound(*pair, level=(1 + level) / 2)
        shares = {"share": max(least, estimate), "least": least}
        after = without_labels.accuracy_of_accepted(*given, accepted, **shares, level=level)
        groups["accepted"] = after, correct[accepted[1]]
    for group, (estimates, right) in groups.items():
        truth = right.mean()
        for method, (value, low, high) in estimates.items():
            numbers = {
                "rmse": (value - truth) ** 2,
                "bias": value - truth,
                "coverage": float(low <= truth <= high),
                "width": high - low,
            }
            for metric, number in numbers.items():
                yield (f"{group}/{method}", f"{metric}_accuracy"), number
