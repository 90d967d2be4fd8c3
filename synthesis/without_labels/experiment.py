"""Comparison of the estimates with labels, on the networks and sets of the Gscore paper.

Each set is mixed with ID images: the share of unknown images is drawn first, then as many images as
both sides allow.  A protocol (the variant of the results table) changes one thing.  Every row is
for one set, so the table is enough for any summary by the share of unknown images.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import scores
from helpers.files import content_of
from helpers.labelfree import PREDICTED, counts_at_share, draw_places, true_metrics
from helpers.networks.model import Model
from helpers.papers.gscore.experiment import divide, models, parts, roles
from helpers.papers.gscore.mixtures import DetectorScores, Places, score_suite
from helpers.papers.run import Draw, Part
from helpers.tables import results
from known_unknowns import without_labels
from known_unknowns.without_labels import FEWEST
from known_unknowns.without_labels.detection import draw_share

if TYPE_CHECKING:
    from helpers.networks.model import Network
    from helpers.outputs import Outputs as NetworkOutputs
    from helpers.papers.gscore.roles import Suite
    from synthesis.without_labels.parameters import Parameters

__all__ = ["models", "outputs", "parts", "roles", "rows"]

#: The protocol of every detector.
DRAWN = "share drawn"
#: Names of sets by kind.  The protocol "share drawn, new KIND" learns from all other sets.
KINDS = content_of(__file__, "kinds")
ESTIMATORS = ("constant", "curve_regression")
#: Largest expected share of known images on a list.
RATE = 0.1
#: Share of the known images that the rejector accepts.
KEPT = 0.95


@dataclass(frozen=True)
class Outputs:
    """The scores of each detector, and the outputs of the network, on the images of a suite."""

    detectors: dict[str, DetectorScores]
    answers: dict[str, NetworkOutputs]


def outputs(parameters: Parameters, part: Part, roles: Suite, models: Network) -> Outputs:
    """Return the scores and probabilities of all images.

    Detectors that need the images again are left out: ODIN costs as much as four passes.
    """
    model = Model(part.identity["backbone"], (models,))
    images = {"validation": roles.validation, "test": roles.test, **roles.sets}
    every = ((name, model.outputs(each)) for name, each in images.items())
    # features of all sets would fill the memory
    answers = {name: replace(each, features=each.features[:, :0].copy()) for name, each in every}
    needs = {name: scores.create(name).info.needs for name in parameters.detectors}
    detectors = {
        name: score_suite(model, roles, name, parameters)
        for name in parameters.detectors
        if "images" not in needs[name]
    }
    return Outputs(detectors, answers)


def rows(parameters: Parameters, part: Part, outputs: Outputs, draw: Draw) -> Iterator[dict]:
    """Yield the rows of `rows_of_protocols`, then the rows of `rows_of_answers`."""
    first = parameters.detectors[0]
    scores_of = outputs.detectors
    sets = len(scores_of[first].sets)
    divisions = [divide(sets, run, parameters) for run in range(parameters.repeats)]
    yield from rows_of_protocols(scores_of, divisions, parameters)
    yield from rows_of_answers(first, scores_of[first], outputs.answers, parameters)


@dataclass(frozen=True)
class Protocol:
    """How mixtures are made: their largest size, and the ID images in them."""

    name: str = DRAWN
    size: float = np.inf
    known: str = "test"


def choose_images(detector: DetectorScores, protocol: Protocol, seed: int) -> Places:
    """Return the images of each set's mixture; mixtures with fewer than 50 images are left out."""
    places = {}
    known = len(detector.known[protocol.known])
    for name, values in detector.sets.items():
        share = draw_share(np.random.default_rng([seed, zlib.crc32(name.encode())]))
        ours, others = counts_at_share(known, len(values), share, protocol.size)
        if ours + others >= FEWEST:
            places[name] = (
                draw_places(f"ID for {name}", known, ours, seed),
                draw_places(name, len(values), others, seed),
            )
    return places


def rows_of_protocols(
    detectors: Mapping[str, DetectorScores],
    divisions: Sequence[tuple[np.ndarray, np.ndarray]],
    parameters: Parameters,
) -> Iterator[dict]:
    """Yield the rows of the first detector in all divisions, and of other detectors in one.

    The first detector is also tested in one division by size, under a shift, and on each kind of
    sets after a fit to the other kinds.
    """
    first = parameters.detectors[0]
    plain = [Protocol()]
    further = [
        *(Protocol(f"{DRAWN}, size {n}", size=n) for n in parameters.sizes if n >= FEWEST),
        *(Protocol(f"{DRAWN}, shift {shift}", known=shift) for shift in parameters.shifts),
    ]
    tasks = [(first, divisions[:1], plain + further, 0), (first, divisions[1:], plain, 1)]
    for kind, names in KINDS.items():
        new = np.isin(list(detectors[first].sets), names)
        if new.any() and (~new).sum() >= 3:
            kinds = [(np.flatnonzero(~new), np.flatnonzero(new))]
            tasks.append((first, kinds, [Protocol(f"{DRAWN}, new {kind}")], 0))
    tasks += [(name, divisions[:1], plain, 0) for name in detectors if name != first]
    for name, some, asked, run in tasks:
        yield from rows_of_estimators(name, detectors[name], some, parameters, asked, run)


def rows_of_estimators(
    detector: str,
    of_roles: DetectorScores,
    divisions: Sequence[tuple[np.ndarray, np.ndarray]],
    parameters: Parameters,
    protocols: Sequence[Protocol],
    first_run: int = 0,
) -> Iterator[dict]:
    """Yield rows of each test set; variants are protocols, and runs are divisions.

    * DETECTOR/truth: ``share`` of unknown images, ``auroc`` and ``fpr95`` of all images.
    * DETECTOR/ESTIMATOR: ``value_``, ``low_`` and ``high_METRIC``; no rows without an answer.
    """
    names = [*of_roles.sets]
    for run, (learnt, tested) in enumerate(divisions, first_run):
        sets = {names[i]: of_roles.sets[names[i]] for i in learnt}
        meta = without_labels.MetaSets(of_roles.known["meta"], sets)
        fitted = {
            name: without_labels.DetectionEstimator(of_roles.validation, meta, name)
            for name in ESTIMATORS
        }
        for protocol in protocols:
            places = choose_images(of_roles, protocol, parameters.seed)
            for name in (names[i] for i in tested if names[i] in places):
                ours, others = places[name]
                mixture = np.concatenate([
                    of_roles.known[protocol.known][ours], of_roles.sets[name][others]
                ])  # fmt: skip
                count = len(mixture)
                place: dict[str, Any] = {"images": count, "run": run, "variant": protocol.name}
                known = of_roles.known[protocol.known]
                truth = true_metrics(known, of_roles.sets[name], PREDICTED)
                truth["share"] = len(others) / count
                for metric, value in truth.items():
                    yield results.row(name, metric, value, method=f"{detector}/truth", **place)
                for estimator, fit in fitted.items():
                    estimate = fit.estimate(mixture, level=parameters.level)
                    place["method"] = f"{detector}/{estimator}"
                    for metric in PREDICTED:
                        for end, number in estimate[metric]._asdict().items():
                            if not np.isnan(number):
                                yield results.row(name, f"{end}_{metric}", number, **place)


def rows_of_answers(
    name: str,
    detector: DetectorScores,
    answers: Mapping[str, NetworkOutputs],
    parameters: Parameters,
) -> Iterator[dict]:
    """Yield rows of each set that compare estimates with labels; the variant is `DRAWN`.

    * DETECTOR/share: ``truth``, ``bound`` and ``value``.
    * DETECTOR/suspected: ``listed``, the number of images; ``known_listed``, the share of known
      images among them; ``power``, the share of unknown images that are listed.
    * DETECTOR/accuracy for all images, DETECTOR/accepted for images that a rejector accepts:
      ``truth``, ``low`` and ``high``.
    """
    held = detector.validation
    threshold = np.quantile(detector.known["meta"], 1 - KEPT)
    for test_set, (ours, others) in choose_images(detector, Protocol(), parameters.seed).items():
        mixed = np.concatenate([detector.known["test"][ours], detector.sets[test_set][others]])
        unknown = np.arange(len(mixed)) >= len(ours)
        most = without_labels.cautious_share(held, mixed)
        listed = without_labels.suspected_unknown(held, mixed, rate=RATE).chosen
        numbers = {
            f"{name}/share": {
                "truth": unknown.mean(),
                "bound": without_labels.share_bound(held, mixed),
                "value": without_labels.estimate_share(held, mixed),
            },
            f"{name}/suspected": {
                "listed": listed.sum(),
                "known_listed": (listed & ~unknown).sum() / max(1, listed.sum()),
                "power": listed[unknown].mean(),
            },
        }
        correct = np.append(answers["test"].correct[ours], np.zeros(len(others), bool))
        mixture = np.concatenate([
            answers["test"].probabilities[ours], answers[test_set].probabilities[others]
        ])  # fmt: skip
        given = answers["validation"].probabilities, answers["validation"].correct, mixture
        accepted = [each >= threshold for each in (held, mixed)]
        groups: dict[str, tuple[Any, np.ndarray]] = {"accuracy": (None, correct)}
        if accepted[0].any() and accepted[1].sum() >= FEWEST:
            groups["accepted"] = accepted, correct[accepted[1]]
        for group, (kept, right) in groups.items():
            low, high = without_labels.accuracy_bracket(*given, share=most, accepted=kept)
            numbers[f"{name}/{group}"] = {"truth": right.mean(), "low": low, "high": high}
        for method, values in numbers.items():
            for metric, value in values.items():
                yield results.row(test_set, metric, value, len(mixed), method=method, variant=DRAWN)
