"""Mixtures of ID images and sets of unknown images: which images, their scores, and Gscores."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers import labelfree, scores
from helpers.labelfree import METRICS, TAUS, draw_places
from helpers.metrics import aupr
from helpers.networks.model import Model

if TYPE_CHECKING:
    from helpers.papers.gscore.parameters import Parameters
    from helpers.papers.gscore.roles import Suite

#: ID images mixed with a set: one part for the regression's sets, one part for its test sets.
PARTS = ("meta", "test")

#: For each set, the ID images and the images of the set in its mixture, int64 each.
Places = Mapping[str, tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Variant:
    """Construction of mixtures, and inputs of the evaluators."""

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
    """Return the variants in the parameters, without the primary one."""
    validated = [Variant(f"validation {n}", validation=n) for n in parameters.validations]
    return [
        *(Variant(f"ratio {a}:{b}", ratio=(a, b)) for a, b in parameters.ratios),
        *(Variant(f"size {size}", size=size) for size in parameters.sizes),
        *validated,
        Variant("mixed", drawn=True),
        *(replace(each, name=f"mixed, {each.name}", drawn=True) for each in validated),
        *(Variant(f"shift {shift}", shift=shift) for shift in parameters.shifts),
        Variant("learnt", learnt=True),
        Variant("one-sided", one_sided=True),
    ]


@dataclass(frozen=True)
class DetectorScores:
    """The scores of a detector on the images of each role."""

    known: dict[str, np.ndarray]
    validation: np.ndarray
    sets: dict[str, np.ndarray]
    learnt: np.ndarray | None = None

    def of(self, places: Mapping[str, np.ndarray]) -> DetectorScores:
        """Return the scores of some of the images, by role and set as in `Suite.again`."""
        known, sets = (
            {name: values[places.get(name, slice(None))] for name, values in roles.items()}
            for roles in (self.known, self.sets)
        )
        return DetectorScores(known, self.validation, sets)

    def mixtures(self, part: str, places: Places) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the scores of the ID images and the scores of the OOD images of each mixture."""
        for name, (known, unknown) in places.items():
            yield self.known[part][known], self.sets[name][unknown]


def score_suite(
    model: Model, suite: Suite, detector: str, parameters: Parameters
) -> DetectorScores:
    """Return the scores of a detector, one of `helpers.scores.names`, on a suite."""
    score = scores.create(detector, **parameters.score_arguments.get(detector, {}))
    if score.info.fits:
        score.fit(model.outputs(suite.train), model.head)
    known, learnt = {part: getattr(suite, part) for part in PARTS}, None
    if detector == parameters.detectors[0]:  # variants are of this detector alone
        known |= suite.shifted
        chosen = draw_places("learnt", len(suite.train), len(suite.validation), parameters.seed)
        learnt = scores.score(score, model, suite.train.subset(chosen))
    again = suite.again if "images" in score.info.needs else {}

    def scores_of(roles: Mapping) -> dict[str, np.ndarray]:
        shown = {name: images.subset(again[name]) if name in again else images
                 for name, images in roles.items()}  # fmt: skip
        return {name: scores.score(score, model, images) for name, images in shown.items()}

    validation = scores.score(score, model, suite.validation)
    return DetectorScores(scores_of(known), validation, scores_of(suite.sets), learnt)


def choose_images(
    scores: DetectorScores, parameters: Parameters, variant: Variant = PRIMARY
) -> dict[str, Places]:
    """Choose the images of every set's mixtures with the ID images of each of `PARTS`.

    The choice depends on the numbers of scores, not on their values.
    """
    seed, places = parameters.seed, {part: {} for part in PARTS}
    for (number, part), name in product(enumerate(PARTS), scores.sets):
        known, unknown = len(scores.known[part]), len(scores.sets[name])
        if variant.drawn:
            generator = np.random.default_rng([seed, number, zlib.crc32(name.encode())])
            counts = labelfree.counts_at_share(known, unknown, generator.choice(printed_shares()))
        else:
            counts = labelfree.counts_in_ratio(known, unknown, variant.ratio, variant.size)
        places[part][name] = (
            draw_places(f"ID for {name}", known, counts[0], seed),
            draw_places(name, unknown, counts[1], seed),
        )
    return places


@functools.cache
def printed_shares() -> np.ndarray:
    """Return the shares of OOD images in the paper's mixtures of drawn sizes (appendix C)."""
    sizes = pd.read_csv(Path(__file__).with_name("mixed_sizes.csv"), comment="#")
    return (sizes["unknown"] / sizes.sum(axis=1)).to_numpy()


@dataclass(frozen=True)
class Mixtures:
    """The mixtures of S sets: numbers of images, true metrics by name, Gscores by evaluator."""

    images: np.ndarray
    truths: dict[str, np.ndarray]
    gscores: dict[str, np.ndarray]


def metrics_by_confidence(
    detector: DetectorScores, confidence: DetectorScores, part: str, places: Places
) -> dict[str, np.ndarray]:
    """Return the metrics of each mixture with labels by confidence, float64 [S] by metric."""
    both = zip(confidence.mixtures(part, places), detector.mixtures(part, places), strict=True)
    return _columns(labelfree.confidence_metrics(*map(np.concatenate, pairs)) for pairs in both)


def evaluate_mixtures(
    detector: DetectorScores,
    part: str,
    places: Places,
    evaluators: Sequence[str],
    variant: Variant = PRIMARY,
) -> Mixtures:
    """Evaluate every mixture without labels, and with labels.

    True metrics are of all ID images and all images of the set: how good a detector is does not
    depend on the few images of a mixture.  Only the AUPR is of the mixture, since it depends on the
    ratio.
    """
    held = (detector.learnt if variant.learnt else detector.validation)[: variant.validation]
    given = {"taus": TAUS, "validation": held, "one_sided": variant.one_sided}
    pairs = list(detector.mixtures(part, places))
    scored = [labelfree.gscores(np.concatenate(pair), evaluators, **given) for pair in pairs]
    truths = _columns(
        labelfree.true_metrics(detector.known[part], detector.sets[name])
        | {"aupr": aupr(*pair, positive="known")}
        for name, pair in zip(places, pairs, strict=True)
    )
    images = np.array([len(known) + len(unknown) for known, unknown in pairs])
    gscores = {name: np.array([values[name] for values in scored]) for name in evaluators}
    return Mixtures(images, truths, gscores)


def redraw_mixtures(
    detector: DetectorScores,
    places: Places,
    evaluators: Sequence[str],
    seed: int,
    variant: Variant = PRIMARY,
) -> Mixtures:
    """Evaluate the mixtures that the regression learns from once more, with other ID images.

    The ID images of each set are drawn with replacement from `meta`: as many as make them vary like
    the ID images of a test.  The means of n and of m images differ like the mean of
    1 / (1 / n + 1 / m) images differs from the true mean.  The error of the regression on these
    mixtures represents its error on new sets among new ID images.
    """
    known = detector.known["meta"]
    images = max(1, round(1 / (1 / len(known) + 1 / len(detector.known["test"]))))
    redrawn = []
    for name, (chosen, others) in places.items():
        generator = np.random.default_rng([seed, zlib.crc32(f"redrawn {name}".encode())])
        drawn = {"meta": known[generator.integers(len(known), size=images)]}
        other = replace(detector, known=drawn, sets={name: detector.sets[name]})
        drawn_places = {name: (generator.integers(images, size=len(chosen)), others)}
        redrawn.append(evaluate_mixtures(other, "meta", drawn_places, evaluators, variant))
    return Mixtures(
        np.concatenate([single.images for single in redrawn]),
        {name: np.concatenate([single.truths[name] for single in redrawn]) for name in METRICS},
        {name: np.concatenate([single.gscores[name] for single in redrawn]) for name in evaluators},
    )


def feature_distances(model: Model, suite: Suite, part: str, places: Places) -> np.ndarray:
    """Return the Fréchet distances of each mixture's features from the training images', [S].

    They are the automatic evaluation of Deng and Zheng (2021), which works without a detector.
    """
    known = model.outputs(getattr(suite, part)).features
    train = labelfree.feature_moments(model.outputs(suite.train).features)
    distances = []
    for name, (chosen, others) in places.items():
        mixed = np.concatenate([known[chosen], model.outputs(suite.sets[name]).features[others]])
        distances.append(labelfree.frechet_distance(train, labelfree.feature_moments(mixed)))
    return np.array(distances)


def _columns(rows: Iterator[Mapping[str, float]]) -> dict[str, np.ndarray]:
    rows = list(rows)
    return {metric: np.array([row[metric] for row in rows]) for metric in METRICS}
