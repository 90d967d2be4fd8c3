"""The estimators of AUROC and FPR95 on the mixtures of the Gscore paper.

A protocol defines the share of unknown images and whether the estimators know it.  Every detector
has two protocols: the share is one half and known, as in the paper; or it is drawn for each set and
unknown.  The first detector has further protocols, each with one change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from helpers.papers.gscore.mixtures import (
    PRIMARY,
    DetectorScores,
    Variant,
    choose_images,
    metrics_by_confidence,
)
from helpers.papers.gscore.roles import kind_of
from helpers.report import results
from known_unknowns.without_labels import ESTIMATORS
from known_unknowns.without_labels.estimates import (
    FEWEST,
    PREDICTED,
    Estimate,
    MetaSets,
    group_metrics,
)
from known_unknowns.without_labels.skills import DRAWN, ESTIMATED, KNOWN, OTHER_KIND

if TYPE_CHECKING:
    from helpers.papers.gscore.parameters import Parameters

MIXED = Variant("mixed", drawn=True)
_FEW = 2  # divisions, except for the two main protocols of the first detector

_Told = dict[str, dict[str, np.ndarray]]  # by metric and by what of an estimate, one a tested set
_Divisions = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Protocol:
    """How mixtures are made, and whether estimators know the share of unknown images."""

    name: str
    images: Variant = MIXED
    told: bool = False
    known: str = "test"


BOTH = (Protocol(KNOWN, PRIMARY, told=True), Protocol(DRAWN))
"""The two protocols of every detector."""


def protocols(parameters: Parameters) -> list[Protocol]:
    """Return the further protocols of the first detector: by size, and under a shift."""
    sizes = [size for size in parameters.sizes if size >= FEWEST]
    return [
        *(Protocol(f"{DRAWN}, size {size}", replace(MIXED, size=size)) for size in sizes),
        *(Protocol(f"{DRAWN}, shift {shift}", known=shift) for shift in parameters.shifts),
    ]


def evaluate_estimators(
    detector: DetectorScores,
    confidence: DetectorScores,
    divisions: _Divisions,
    parameters: Parameters,
    asked: Sequence[Protocol] = BOTH,
) -> dict[tuple[str, int, str], _Told | str]:
    """Return the estimates of every estimator for the test sets of every division."""
    level, found, learnt_before = parameters.level, {}, {}
    sets, validation = list(detector.sets.values()), detector.validation
    metas = [
        MetaSets(detector.known["meta"], {str(i): sets[i] for i in learnt})
        for learnt, _ in divisions
    ]
    for protocol in asked:
        name, part = protocol.name, protocol.known
        places = choose_images(detector, parameters, protocol.images)["test"]
        shares = [len(theirs) / (len(ours) + len(theirs)) for ours, theirs in places.values()]
        mixed = [np.concatenate(pair) for pair in detector.mixtures(part, places)]
        usable = np.array([len(one) >= FEWEST for one in mixed])
        if not all(usable[tested].any() for _, tested in divisions):
            continue  # too few images for an estimate
        numbers = np.unique(np.concatenate([tested for _, tested in divisions]))
        truths = {n: group_metrics(detector.known[part], sets[n]) for n in numbers[usable[numbers]]}
        free = {"prior_corrected": {}, ESTIMATED: {}}
        for number in truths:
            for own, share in zip(tuple(free), (shares[number], None), strict=True):
                fitted = ESTIMATORS["prior_corrected"](validation, share=share)
                free[own][number] = fitted.estimate(mixed[number], level=level)
        if part in confidence.known:
            guesses = metrics_by_confidence(detector, confidence, part, places)
            free["confidence"] = {
                number: {metric: Estimate(*[guesses[metric][number]] * 3) for metric in PREDICTED}
                for number in truths
            }
        for run, (_, tested) in enumerate(divisions):
            tested = tested[usable[tested]]
            said = {own: [one[number] for number in tested] for own, one in free.items()}
            for own in ("constant", "gscore", "curve_regression"):
                try:
                    if (fitted := learnt_before.get((own, run, protocol.told))) is None:
                        share = 0.5 if protocol.told else None
                        fitted = ESTIMATORS[own](validation, metas[run], share=share)
                        learnt_before[own, run, protocol.told] = fitted
                    said[own] = [fitted.estimate(mixed[number], level=level) for number in tested]
                except ValueError as error:  # only this estimator fails
                    found[name, run, own] = f"{type(error).__name__}: {error}"
            for own, answers in said.items():
                found[name, run, own] = {
                    metric: dict(
                        zip(("value", "low", "high"),
                            np.transpose([one[metric] for one in answers]), strict=True)
                    ) | {"sets": tested, "images": np.array([len(mixed[i]) for i in tested]),
                         "truth": np.array([truths[i][metric] for i in tested])}
                    for metric in PREDICTED
                }  # fmt: skip
    return found


def rows_of_estimators(
    detector: str, said: Mapping[tuple[str, int, str], _Told | str], names: Sequence[str]
) -> Iterator[dict]:
    """Yield rows of the estimates; variants are protocols, and runs are divisions.

    * ``predicted_METRIC`` of each set that tests.
    * ``true_METRIC`` of DETECTOR/truth, where the ID images are others than those of ``test``.
    * On ``all`` sets ``rmse_``, ``coverage_`` and ``width_METRIC``, or ``failed``; coverage and
      width of all but ``confidence``, which has no intervals.
    """
    for (variant, run, estimator), metrics in said.items():
        place = {"method": f"{detector}/{estimator}", "variant": variant, "run": run}
        if isinstance(metrics, str):
            yield results.row("all", "failed", 1.0, 1, notes=metrics, **place)
            continue
        for metric, one in metrics.items():
            sets, images, truth = one["sets"], one["images"], one["truth"]
            told = [(place["method"], f"predicted_{metric}", one["value"])]
            if estimator == "constant" and variant.startswith(f"{DRAWN}, shift"):
                told.append((f"{detector}/truth", f"true_{metric}", truth))
            for method, what, values in told:
                for number, value, count in zip(sets, values, images, strict=True):
                    yield results.row(names[number], what, value, count,
                                      **(place | {"method": method}))  # fmt: skip
            numbers = {"rmse": np.sqrt(np.mean((one["value"] - truth) ** 2))}
            if estimator != "confidence":
                numbers["coverage"] = np.mean((one["low"] <= truth) & (truth <= one["high"]))
                numbers["width"] = np.mean(one["high"] - one["low"])
            for name, value in numbers.items():
                yield results.row("all", f"{name}_{metric}", value, images.sum(), **place)


def all_rows_of_estimators(
    detectors: Mapping[str, DetectorScores],
    confidence: Mapping[str, DetectorScores],
    divisions: _Divisions,
    names: Sequence[str],
    parameters: Parameters,
) -> Iterator[dict]:
    """Yield the rows of the first detector in all divisions, and of the others in a few.

    Of the first also what it says of other kinds of sets than those that it has learnt from: drawn
    families teach, and all others test.
    """
    first, few = parameters.detectors[0], divisions[:_FEW]
    drawn = np.array([kind_of(name) == "drawn" for name in names])
    kinds = [(np.flatnonzero(drawn), np.flatnonzero(~drawn))]
    tasks = [(first, divisions, BOTH), (first, few, protocols(parameters))]
    if drawn.sum() >= 3 and not drawn.all():
        tasks.append((first, kinds, [Protocol(OTHER_KIND)]))
    tasks += [(name, few, BOTH) for name in parameters.detectors[1:]]
    for name, some, asked in tasks:
        said = evaluate_estimators(detectors[name], confidence[name], some, parameters, asked)
        yield from rows_of_estimators(name, said, names)
