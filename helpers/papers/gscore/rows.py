"""What the results table holds of one network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from helpers.labelfree import METRICS, TAUS
from helpers.papers.gscore.measuring import (
    PARTS,
    Measured,
    Scores,
    Variant,
    by_confidence,
    distances,
    measured,
    mixed,
    scores_of,
    variants,
)
from helpers.papers.gscore.protocol import Protocol
from helpers.papers.gscore.regressing import divided, regressed, tau_of
from helpers.papers.gscore.suite import Roles
from helpers.training.fitted import Fitted

CONFIDENCE, AUTOMATIC = "confidence", "auto_evaluation"
"""The baselines: labels by confidence, and distances of features."""
VARIED = ("kmeans_l2", "gmm_wasserstein", "ude_wasserstein")
"""Evaluators that go through the variants, with the first detector."""
FORETOLD = "msp/ude_wasserstein"
"""The method whose predictions are written down set by set."""

Mixtures = Mapping[str, Measured]
"""The mixtures of all sets with the ID images ``meta``, then with those of ``test``."""


def row_of(method: str, test_set: str, metric: str, value: float, images: int) -> dict:
    """Return a row of the results table, as far as the number itself decides it."""
    return {
        "method": method,
        "test_set": test_set,
        "metric": metric,
        "value": float(value),
        "images": int(images),
    }


def rows_of_network(
    fitted: Fitted,
    roles: Roles,
    detectors: Sequence[str],
    evaluators: Sequence[str],
    protocol: Protocol,
) -> Iterator[dict]:
    """Yield all rows of a network; `helpers.papers.gscore.evaluate` says which there are."""
    correct = fitted.outputs(roles.test).correct
    yield row_of("network", "test", "accuracy", correct.mean(), len(correct))

    names = list(roles.sets)
    chosen = {part: mixed(roles, part, Variant(), protocol) for part in PARTS}
    scored = {detector: scores_of(fitted, roles, detector, protocol) for detector in detectors}
    confidence = scored.get("msp") or scores_of(fitted, roles, "msp", protocol)
    apart = {part: distances(fitted, roles, part, chosen[part])[:, None] for part in PARTS}
    every: dict[str, Mixtures] = {}
    for detector, scores in scored.items():
        found = {part: measured(scores, part, chosen[part], evaluators) for part in PARTS}
        every[detector] = {
            part: replace(one, gscores=one.gscores | {AUTOMATIC: apart[part]})
            for part, one in found.items()
        }
    reference = every[detectors[0]]
    for run in range(protocol.repeats):
        division = divided(len(names), run, protocol)
        places = {
            evaluator: tau_of(reference["meta"], evaluator, division[0])
            for evaluator in (*evaluators, AUTOMATIC)
        }
        for detector, mixtures in every.items():
            if run == 0:
                yield from _of_sets(detector, mixtures, names, places)
            guessed = by_confidence(scored[detector], confidence, "test", chosen["test"])
            for row in (
                *_of_regressions(detector, mixtures, places, division, protocol, names=names),
                *_of_confidence(detector, mixtures["test"], guessed, division[1]),
            ):
                yield {"run": run} | row
    varied = [evaluator for evaluator in VARIED if evaluator in evaluators]
    for variant in variants(protocol):
        mixtures, own = _varied(scored[detectors[0]], reference, roles, variant, varied, protocol)
        for run in range(protocol.repeats):
            division = divided(len(names), run, protocol)
            places = {
                evaluator: tau_of(mixtures["meta"], evaluator, division[0]) for evaluator in own
            }
            for row in _of_regressions(
                detectors[0], mixtures, places, division, protocol, metrics=["fpr95"]
            ):
                yield {"run": run, "variant": variant.name} | row


def _of_sets(
    detector: str, mixtures: Mixtures, names: Sequence[str], places: Mapping[str, int]
) -> Iterator[dict]:
    """Yield true metrics and Gscores of every set."""
    for part, found in mixtures.items():
        columns = {(detector, metric): values for metric, values in found.truths.items()}
        for evaluator, place in places.items():
            columns[f"{detector}/{evaluator}", "gscore"] = found.gscores[evaluator][:, place]
        for (method, metric), values in columns.items():
            for name, value, images in zip(names, values, found.images, strict=True):
                yield {"variant": part} | row_of(method, name, metric, value, images)


def _of_regressions(
    detector: str,
    mixtures: Mixtures,
    places: Mapping[str, int],
    division: tuple[np.ndarray, np.ndarray],
    protocol: Protocol,
    *,
    metrics: Sequence[str] = tuple(METRICS),
    names: Sequence[str] = (),
) -> Iterator[dict]:
    """Yield what the regressions of one division are worth, and predictions of named sets."""
    images = mixtures["test"].images[division[1]]
    for evaluator, place in places.items():
        method = f"{detector}/{evaluator}"
        try:
            found = {
                metric: regressed(
                    mixtures["meta"], mixtures["test"], evaluator, metric, place, division,
                    protocol.level,
                )
                for metric in metrics
            }  # fmt: skip
        except ValueError as error:  # of this evaluator; the others have their numbers
            failed = row_of(method, "all", "failed", 1.0, images.sum())
            yield failed | {"notes": f"{type(error).__name__}: {error}"}
            continue
        if evaluator.startswith(("gmm", "ude")):
            yield row_of(method, "all", "tau", TAUS[place], images.sum())
        for metric, one in found.items():
            for number, value in one.numbers.items():
                yield row_of(method, "all", f"{number}_{metric}", value, images.sum())
        for metric in ("auroc", "fpr95") if names and method == FORETOLD else ():
            for what in ("predicted", "lower", "upper"):
                values = getattr(found[metric], what)
                for number, value, count in zip(division[1], values, images, strict=True):
                    yield row_of(method, names[number], f"{what}_{metric}", value, count)


def _of_confidence(
    detector: str, test: Measured, guessed: Mapping[str, np.ndarray], tested: np.ndarray
) -> Iterator[dict]:
    """Yield how far metrics with labels by confidence are from the true ones."""
    for metric, values in guessed.items():
        wrong = (values - test.truths[metric])[tested]
        rmse = np.sqrt(np.mean(wrong**2))
        images = test.images[tested].sum()
        yield row_of(f"{detector}/{CONFIDENCE}", "all", f"rmse_{metric}", rmse, images)


def _varied(
    scores: Scores,
    reference: Mixtures,
    roles: Roles,
    variant: Variant,
    evaluators: Sequence[str],
    protocol: Protocol,
) -> tuple[Mixtures, list[str]]:
    """Measure the mixtures of a variant, and return them and the evaluators that it is about."""
    own = [one for one in evaluators if one.startswith("ude") or not variant.validation]
    if variant.shift:  # what the regression learns from is as it was
        chosen = mixed(roles, "test", variant, protocol)
        return {
            "meta": reference["meta"],
            "test": measured(scores, variant.shift, chosen, own),
        }, own
    return {
        part: measured(
            scores, part, mixed(roles, part, variant, protocol), own,
            truths=reference[part].truths, validation=variant.validation,
        )
        for part in PARTS
    }, own  # fmt: skip
