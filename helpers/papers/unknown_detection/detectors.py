"""Methods at work: a trained network or several, and what they say of any set of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from helpers import scores
from helpers.data import Images, features
from helpers.data.pixels import smoothness
from helpers.networks.model import Model
from helpers.papers.unknown_detection import methods, selection
from helpers.papers.unknown_detection.authors import AUTHORS
from helpers.papers.unknown_detection.roles import Benchmark
from helpers.scores.openset import OpenMax, openmax_answer
from helpers.training.fitted import Fitted, fit

if TYPE_CHECKING:
    from helpers.networks.recipe import Recipe
    from helpers.papers.unknown_detection.parameters import BenchmarkParameters, Parameters


@dataclass(frozen=True)
class Answer:
    """What a method says about a set of images.

    Attributes
    ----------
    confidence : ndarray of float64, shape [N]
        Higher = more likely known.
    correct : ndarray of bool, shape [N]
        Whether the image is classified correctly.
    """

    confidence: np.ndarray
    correct: np.ndarray


def union(answers: Mapping[str, Answer], names: Sequence[str]) -> Answer:
    """Return the answers about several test sets as those about one."""
    parts = [answers[name] for name in names]
    return Answer(
        np.concatenate([part.confidence for part in parts]),
        np.concatenate([part.correct for part in parts]),
    )


@dataclass(frozen=True)
class Detector:
    """A method at work.

    Attributes
    ----------
    model : Model
        What answers; its name is the method's.
    answer : callable
        From images to an `Answer`.
    chosen : dict of str to float
        Hyper-parameters that were chosen on held-out images.
    """

    model: Model
    answer: Callable[[Images], Answer] = field(repr=False)
    chosen: dict[str, float] = field(default_factory=dict)


def train(
    parameters: BenchmarkParameters,
    benchmark: Benchmark,
    recipe: Recipe,
    *,
    run: int,
    member: int = 0,
    teacher: Fitted | None = None,
) -> Fitted:
    """Train a network of one run, or take it from the cache.

    Member 0 is the run's network; the others make an ensemble of it.
    """
    stored = recipe.objective_arguments.get("stored", 0)
    return fit(
        features.beside(benchmark.train, benchmark.views[:stored]) if stored else benchmark.train,
        recipe,
        outliers=benchmark.external,
        teacher=teacher,
        seed=parameters.seed * 100_000 + run * 100 + member,
        device=parameters.device,
    )


def train_method(parameters: Parameters, benchmark: Benchmark, method: str, run: int) -> Model:
    """Train the networks of a method, or take them from the cache."""
    recipe, record = parameters.method_recipe(method), methods.named(method)
    networks = [
        train(parameters, benchmark, recipe, run=run, member=member)
        for run, member in record.networks(parameters, run)
    ]
    return Model(method, tuple(networks), parameters.passes if record.passes else 0)


def make(
    parameters: Parameters, benchmark: Benchmark, model: Model, variant: str = "primary"
) -> Detector:
    """Return a trained method with hyper-parameters chosen and scores fitted."""
    if detect := DETECT.get((model.name, variant)):
        return detect(parameters, benchmark, model)
    method = methods.named(model.name)
    score = scores.create(method.score, **method.arguments)
    if score.info.fits:
        score.fit(model.outputs(benchmark.train), model.head)
    return by_score(model, score)


def by_score(model: Model, score: scores.Score, chosen: dict[str, float] | None = None) -> Detector:
    """Return the method whose confidence is a fitted score; predictions are of plain images."""

    def answer(images: Images) -> Answer:
        outputs = model.outputs(images)
        return Answer(scores.score(score, model, images, outputs), outputs.correct)

    return Detector(model, answer, chosen or {})


def detect_evidence(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Return EDL with the confidence of its Dirichlet distributions.

    The expected probability of the predicted class, alpha / S, in place of the softmax that the
    benchmark's code uses.
    """

    def answer(images: Images) -> Answer:
        outputs = model.outputs(images)
        alpha = np.exp(np.clip(outputs.logits.astype(np.float64), -10, 10)) + 1
        return Answer(alpha.max(axis=1) / alpha.sum(axis=1), outputs.correct)

    return Detector(model, answer)


def detect_odin(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Return ODIN with a temperature and a step chosen on held-out images."""
    grid = selection.odin_grid(parameters, model, benchmark.visible)
    chosen = dict(zip(("temperature", "epsilon"), selection.best(grid), strict=True))
    return by_score(model, scores.create("odin", **chosen), chosen)


def detect_openmax(
    parameters: Parameters, benchmark: Benchmark, model: Model, kind: type[OpenMax] = OpenMax
) -> Detector:
    """Return OpenMax, with "unknown" among its K + 1 classes; its parameters are chosen.

    They are the number of revised logits and the length of the tail.
    """
    grid = selection.openmax_grid(parameters, model, benchmark.visible, kind)
    alpha, tail = selection.best(grid)
    train = model.outputs(benchmark.train)
    rule = selection.openmax(train, alpha, tail, parameters.distance, kind)

    def answer(images: Images) -> Answer:
        outputs = model.outputs(images)
        probabilities = rule.probabilities(outputs.logits)
        classes = openmax_answer(probabilities)
        # "unknown" is an incorrect answer to an image of a known class, and correct for no other
        correct = (classes == outputs.labels) & (outputs.labels >= 0)
        return Answer(1 - probabilities[:, -1], correct)

    return Detector(model, answer, {"alpha": alpha, "tail": tail})


def detect_flat_openmax(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Return OpenMax by the rule of the authors' code on CIFAR, one factor for all ranks."""
    return detect_openmax(parameters, benchmark, model, selection.FlatOpenMax)


def detect_smoothness(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Return the smoothness of images in memory; the predictions are the baseline's."""

    def answer(images: Images) -> Answer:
        if not isinstance(images, Images):  # these are resized, which the score would measure
            raise TypeError("smoothness: images as they are stored expected, got photographs")
        pixels = images.pictures(np.arange(len(images)))  # also where the network sees features
        return Answer(smoothness(pixels), model.outputs(images).correct)

    return Detector(model, answer)


DETECT = {
    ("edl", "evidence"): detect_evidence,
    ("odin", "primary"): detect_odin,
    ("openmax", "primary"): detect_openmax,
    ("openmax", AUTHORS): detect_flat_openmax,
    ("smoothness", "primary"): detect_smoothness,
}
"""By method and variant, what takes the place of a method's score."""
