"""Mixtures of ID images and sets of unknown ones: which images, and what scores say of them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from helpers import scores
from helpers.labelfree import (
    METRICS,
    TAUS,
    FeatureMoments,
    SortedScores,
    confidence_metrics,
    counts_in_ratio,
    draw_counts,
    draw_places,
    frechet_distance,
    gscores,
    true_metrics,
)
from helpers.metrics import aupr
from helpers.networks.model import Model

if TYPE_CHECKING:
    from helpers.papers.gscore.parameters import Parameters
    from helpers.papers.gscore.roles import Suite

PARTS = ("meta", "test")
"""ID images that a set is mixed with: those of the regression's sets, and those of its test."""

Places = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""By set, which of the ID and which of its own images make its mixture, int64 each."""


@dataclass(frozen=True)
class Variant:
    """How mixtures are made, and what the evaluators are given."""

    name: str = "primary"
    ratio: tuple[int, int] = (1, 1)
    size: int | None = None
    drawn: bool = False
    validation: int | None = None
    shift: str = ""
    learnt: bool = False
    one_sided: bool = False


PRIMARY = Variant()


def variants(parameters: Parameters) -> list[Variant]:
    """Return the variants that parameters ask for, without the primary one."""
    return [
        *(Variant(f"ratio {a}:{b}", ratio=(a, b)) for a, b in parameters.ratios),
        *(Variant(f"size {size}", size=size) for size in parameters.sizes),
        *(Variant(f"validation {n}", validation=n) for n in parameters.validations),
        Variant("mixed", drawn=True),
        *(Variant(f"shift {shift}", shift=shift) for shift in parameters.shifts),
        Variant("learnt", learnt=True),
        Variant("one-sided", one_sided=True),
    ]


@dataclass(frozen=True)
class DetectorScores:
    """What one detector says of the images of each role."""

    known: dict[str, np.ndarray]
    validation: np.ndarray
    sets: dict[str, np.ndarray]
    learnt: np.ndarray | None = None

    def of(self, places: Mapping[str, np.ndarray]) -> DetectorScores:
        """Return the scores of some of the images, by role and set as in `Suite.again`."""
        known, sets = (
            {name: values[places.get(name, slice(None))] for name, values in one.items()}
            for one in (self.known, self.sets)
        )
        return DetectorScores(known, self.validation, sets)

    def mixtures(self, part: str, places: Places) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the scores of the ID and of the OOD images of each mixture."""
        for name, (known, unknown) in places.items():
            yield self.known[part][known], self.sets[name][unknown]


def score_suite(
    model: Model, suite: Suite, detector: str, parameters: Parameters
) -> DetectorScores:
    """Return the scores of a detector; `helpers.scores.names` has those that there are."""
    score = scores.create(detector, **parameters.score_arguments.get(detector, {}))
    if score.info.fits:
        score.fit(model.outputs(suite.train), model.head)
    known, sets = {part: getattr(suite, part) for part in PARTS}, suite.sets
    if first := detector == parameters.detectors[0]:  # what is varied is asked of it alone
        known |= suite.shifted
    if "images" in score.info.needs and suite.again:
        known, sets = (
            {name: few.subset(suite.again[name]) if name in suite.again else few
             for name, few in one.items()}
            for one in (known, sets)
        )  # fmt: skip
    found = DetectorScores(
        {name: scores.score(score, model, images) for name, images in known.items()},
        scores.score(score, model, suite.validation),
        {name: scores.score(score, model, images) for name, images in sets.items()},
    )
    if first:
        chosen = draw_places("learnt", len(suite.train), len(suite.validation), parameters.seed)
        own = suite.train.subset(chosen), model.outputs(suite.train).subset(chosen)
        found = replace(found, learnt=scores.score(score, model, *own))
    return found


def choose_images(
    scores: DetectorScores, parameters: Parameters, variant: Variant = PRIMARY
) -> dict[str, Places]:
    """Choose the images of every set's mixtures with the ID images of each of `PARTS`.

    How many images there are is all that is taken from the scores.
    """
    seed, found = parameters.seed, {part: {} for part in PARTS}
    for (number, part), name in product(enumerate(PARTS), scores.sets):
        known, unknown = len(scores.known[part]), len(scores.sets[name])
        if variant.drawn:
            generator = np.random.default_rng([seed, number, zlib.crc32(name.encode())])
            counts = draw_counts(known, unknown, parameters.least_images, generator)
            if variant.size and sum(counts) > variant.size:  # in the same share
                first = max(1, round(variant.size * counts[0] / sum(counts)))
                counts = min(first, variant.size - 1), max(variant.size - first, 1)
        else:
            counts = counts_in_ratio(known, unknown, variant.ratio, variant.size)
        found[part][name] = (
            draw_places(f"ID for {name}", known, counts[0], seed),
            draw_places(name, unknown, counts[1], seed),
        )
    return found


@dataclass(frozen=True)
class Mixtures:
    """What is known of the mixtures of S sets, in the order of the sets."""

    images: np.ndarray
    truths: dict[str, np.ndarray]
    gscores: dict[str, np.ndarray]


def metrics_by_labels(detector: DetectorScores, part: str, places: Places) -> dict[str, np.ndarray]:
    """Return what labels say of each set, float64 [S] by metric.

    Of all ID images and all of the set's: how good a detector is there does not depend on which
    few of them a mixture has, and on few images it is not known.  With 25 images on each side
    even the FPR95 of the same detector, computed twice, agrees poorly with itself.  Only the AUPR
    is that of the mixture, since it depends on the ratio.
    """
    return _columns(
        true_metrics(detector.known[part], detector.sets[name])
        | {"aupr": aupr(known, unknown, positive="known")}
        for name, (known, unknown) in zip(places, detector.mixtures(part, places), strict=True)
    )


def metrics_by_confidence(
    detector: DetectorScores, confidence: DetectorScores, part: str, places: Places
) -> dict[str, np.ndarray]:
    """Return the metrics of each mixture with labels by confidence, float64 [S] by metric."""
    both = (one.mixtures(part, places) for one in (confidence, detector))
    return _columns(
        confidence_metrics(np.concatenate(sure), np.concatenate(own))
        for sure, own in zip(*both, strict=True)
    )


def evaluate_mixtures(
    detector: DetectorScores,
    part: str,
    places: Places,
    evaluators: Sequence[str],
    *,
    also: Mapping[str, np.ndarray] | None = None,
    truths: Mapping[str, np.ndarray] | None = None,
    variant: Variant = PRIMARY,
) -> Mixtures:
    """Evaluate every mixture without labels, beside what labels say."""
    held = (detector.learnt if variant.learnt else detector.validation)[: variant.validation]
    mixtures = [SortedScores.of(np.concatenate(pair)) for pair in detector.mixtures(part, places)]
    given = {"taus": TAUS, "validation": held, "one_sided": variant.one_sided}
    found = [gscores(mixture, evaluators, **given) for mixture in mixtures]
    return Mixtures(
        np.array([len(mixture.values) for mixture in mixtures]),
        dict(truths or metrics_by_labels(detector, part, places)),
        {name: np.array([one[name] for one in found]) for name in evaluators}
        | {name: values[:, None] for name, values in (also or {}).items()},
    )


def redraw_mixtures(
    detector: DetectorScores,
    places: Places,
    evaluators: Sequence[str],
    seed: int,
    variant: Variant = PRIMARY,
) -> Mixtures:
    """Evaluate the mixtures that the regression learns from once more, with other ID images.

    Those of each set are drawn with replacement from `meta`, so many that they vary about these as
    the ID images of a test do: of n and m images that are drawn apart, the means differ as one of
    1 / (1 / n + 1 / m) images differs from its own.  What the regression misses of these mixtures
    is what it would miss of new sets among new ID images.
    """
    known = detector.known["meta"]
    images = max(1, round(1 / (1 / len(known) + 1 / len(detector.known["test"]))))
    found = []
    for name, (ours, theirs) in places.items():
        generator = np.random.default_rng([seed, zlib.crc32(f"redrawn {name}".encode())])
        drawn = known[generator.integers(len(known), size=images)]
        one = DetectorScores(
            {"meta": drawn}, detector.validation, {name: detector.sets[name]}, detector.learnt
        )
        own = {name: (generator.integers(images, size=len(ours)), theirs)}
        found.append(evaluate_mixtures(one, "meta", own, evaluators, variant=variant))
    return Mixtures(
        np.concatenate([one.images for one in found]),
        {metric: np.concatenate([one.truths[metric] for one in found]) for metric in METRICS},
        {name: np.concatenate([one.gscores[name] for one in found]) for name in evaluators},
    )


def feature_distances(model: Model, suite: Suite, part: str, places: Places) -> np.ndarray:
    """Return how far the features of each mixture lie from those of the training images, [S].

    The Fréchet distance of automatic evaluation (Deng and Zheng 2021), which needs no detector.
    """
    known = model.outputs(getattr(suite, part)).features
    train = FeatureMoments.of(model.outputs(suite.train).features)
    found = []
    for name, (own, others) in places.items():
        unknown = model.outputs(suite.sets[name]).features[others]
        found.append(frechet_distance(train, np.concatenate([known[own], unknown])))
    return np.array(found)


def _columns(rows: Iterator[Mapping[str, float]]) -> dict[str, np.ndarray]:
    rows = list(rows)
    return {metric: np.array([one[metric] for one in rows]) for metric in METRICS}
