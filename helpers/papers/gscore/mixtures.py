"""Mixtures of ID images and sets of unknown images: which images, their scores, and Gscores."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers import labelfree, scores
from helpers.labelfree import METRICS, TAUS, draw_places
from helpers.metrics import aupr
from helpers.networks.model import Model

if TYPE_CHECKING:
    from helpers.data import Images
    from helpers.papers.gscore.parameters import Parameters
    from helpers.papers.gscore.roles import Suite

#: ID images mixed with a set: one half for the regression's sets, one half for its test sets.
HALVES = ("meta", "test")

#: For each set, the ID images and the images of the set in its mixture, int64 each.
Places = Mapping[str, tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Variant:
    """Construction of mixtures, and inputs of the evaluators."""

    name: str = "primary"
    ratio: tuple[int, int] = (1, 1)
    size: int | None = None
    random_size: bool = False
    validation: int | None = None
    shift: str = ""


PRIMARY = Variant()


def variants(parameters: Parameters) -> list[Variant]:
    """Return the variants in the parameters, without the primary one."""
    all_variants = [Variant(f"ratio {a}:{b}", ratio=(a, b)) for a, b in parameters.ratios]
    all_variants += [Variant(f"size {size}", size=size) for size in parameters.sizes]
    all_variants += [Variant(f"validation {n}", validation=n) for n in parameters.validations]
    all_variants.append(Variant("mixed", random_size=True))
    all_variants += [Variant(f"shift {shift}", shift=shift) for shift in parameters.shifts]
    return all_variants


@dataclass(frozen=True)
class DetectorScores:
    """The scores of a detector on the images of each role."""

    known: dict[str, np.ndarray]
    validation: np.ndarray
    sets: dict[str, np.ndarray]

    def of(self, places: Mapping[str, np.ndarray]) -> DetectorScores:
        """Return the scores of some of the images, by role and set as in `Suite.again`."""

        def some(roles: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {name: values[places.get(name, slice(None))] for name, values in roles.items()}

        return DetectorScores(some(self.known), self.validation, some(self.sets))

    def mixtures(self, half: str, places: Places) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the scores of the ID images and the scores of the OOD images of each mixture."""
        for name, (known, unknown) in places.items():
            yield self.known[half][known], self.sets[name][unknown]


def score_suite(
    model: Model, suite: Suite, detector: str, parameters: Parameters
) -> DetectorScores:
    """Return the scores of a detector, one of `helpers.scores.names`, on a suite."""
    score = scores.create(detector, **parameters.score_arguments.get(detector, {}))
    if score.info.fits:
        score.fit(model.outputs(suite.train), model.head)
    known = {half: getattr(suite, half) for half in HALVES}
    if detector == parameters.detectors[0]:  # variants are of this detector alone
        known |= suite.shifted
    again = suite.again if "images" in score.info.needs else {}

    def scores_of(roles: Mapping[str, Images]) -> dict[str, np.ndarray]:
        values = {}
        for name, images in roles.items():
            shown = images.subset(again[name]) if name in again else images
            values[name] = scores.score(score, model, shown)
        return values

    return DetectorScores(
        known=scores_of(known),
        validation=scores.score(score, model, suite.validation),
        sets=scores_of(suite.sets),
    )


def choose_images(
    scores: DetectorScores, parameters: Parameters, variant: Variant = PRIMARY
) -> dict[str, Places]:
    """Choose the images of every set's mixtures with the ID images of each of `HALVES`.

    The choice depends on the numbers of scores, not on their values.
    """
    seed = parameters.seed
    places: dict[str, Places] = {}
    for number, half in enumerate(HALVES):
        of_half = {}
        for name, values in scores.sets.items():
            known = len(scores.known[half])
            unknown = len(values)
            if variant.random_size:
                generator = np.random.default_rng([seed, number, zlib.crc32(name.encode())])
                share = generator.choice(printed_shares())
                of_id, of_set = labelfree.counts_at_share(known, unknown, share)
            else:
                ratio = variant.ratio
                of_id, of_set = labelfree.counts_in_ratio(known, unknown, ratio, variant.size)
            of_half[name] = (
                draw_places(f"ID for {name}", known, of_id, seed),
                draw_places(name, unknown, of_set, seed),
            )
        places[half] = of_half
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
    detector: DetectorScores, confidence: DetectorScores, places: Places
) -> dict[str, np.ndarray]:
    """Return the metrics of each test mixture with labels by confidence, float64 [S] by metric."""
    guessed = map(np.concatenate, confidence.mixtures("test", places))
    scored = map(np.concatenate, detector.mixtures("test", places))
    return labelfree.stack_metrics(map(labelfree.confidence_metrics, guessed, scored), METRICS)


def evaluate_mixtures(
    detector: DetectorScores,
    half: str,
    places: Places,
    evaluators: Sequence[str],
    variant: Variant = PRIMARY,
) -> Mixtures:
    """Evaluate every mixture without labels, and with labels.

    True metrics are of all ID images and all images of the set: how good a detector is does not
    depend on the few images of a mixture.  Only the AUPR is of the mixture, since it depends on the
    ratio.
    """
    images = []
    truths = []
    gscores = []
    pairs = detector.mixtures(half, places)
    of_all = [metric for metric in METRICS if metric != "aupr"]
    for name, (known, unknown) in zip(places, pairs, strict=True):
        of_set = labelfree.true_metrics(detector.known[half], detector.sets[name], of_all)
        of_set["aupr"] = aupr(known, unknown, positive="known")
        truths.append(of_set)
        images.append(len(known) + len(unknown))
        of_mixture = labelfree.gscores(
            np.concatenate((known, unknown)),
            evaluators,
            taus=TAUS,
            validation=detector.validation[: variant.validation],
        )
        gscores.append(of_mixture)
    return Mixtures(
        images=np.array(images),
        truths=labelfree.stack_metrics(truths, METRICS),
        gscores={name: np.array([values[name] for values in gscores]) for name in evaluators},
    )


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
    tested = detector.known["test"]
    images = max(1, round(1 / (1 / len(known) + 1 / len(tested))))
    redrawn = []
    for name, (of_id, of_set) in places.items():
        generator = np.random.default_rng([seed, zlib.crc32(f"redrawn {name}".encode())])
        sample = known[generator.integers(len(known), size=images)]
        other = replace(detector, known={"meta": sample}, sets={name: detector.sets[name]})
        other_places = {name: (generator.integers(images, size=len(of_id)), of_set)}
        redrawn.append(evaluate_mixtures(other, "meta", other_places, evaluators, variant))
    truths = {}
    for metric in METRICS:
        truths[metric] = np.concatenate([single.truths[metric] for single in redrawn])
    gscores = {}
    for evaluator in evaluators:
        gscores[evaluator] = np.concatenate([single.gscores[evaluator] for single in redrawn])
    return Mixtures(np.concatenate([single.images for single in redrawn]), truths, gscores)


def feature_distances(model: Model, suite: Suite, half: str, places: Places) -> np.ndarray:
    """Return the Fréchet distances of each mixture's features from the training images', [S].

    They are the automatic evaluation of Deng and Zheng (2021), which works without a detector.
    """
    known = model.outputs(getattr(suite, half)).features
    train = labelfree.feature_moments(model.outputs(suite.train).features)
    distances = []
    for name, (of_id, of_set) in places.items():
        unknown = model.outputs(suite.sets[name]).features
        mixed = np.concatenate([known[of_id], unknown[of_set]])
        distances.append(labelfree.frechet_distance(train, labelfree.feature_moments(mixed)))
    return np.array(distances)
