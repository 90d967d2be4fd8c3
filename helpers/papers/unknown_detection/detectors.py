"""The nine methods: a trained network or several, and what they say of any set of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from helpers import scores
from helpers.data import Images
from helpers.data.pixels import smoothness
from helpers.networks.model import Model
from helpers.papers.unknown_detection import selection
from helpers.papers.unknown_detection.parameters import score_of, training_of
from helpers.papers.unknown_detection.roles import Benchmark
from helpers.scores.openset import openmax_answer
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
    return fit(
        benchmark.train,
        recipe,
        outliers=benchmark.external,
        teacher=teacher,
        seed=parameters.seed * 100_000 + run * 100 + member,
        device=parameters.device,
    )


def train_method(parameters: Parameters, benchmark: Benchmark, method: str, run: int) -> Model:
    """Train the networks of a method, also of one of `ASIDE`, or take them from the cache."""
    recipe, training = parameters.method_recipe(method), training_of(method)
    members = range(parameters.members if training == "ensemble" else 1)
    networks = [train(parameters, benchmark, recipe, run=run, member=one) for one in members]
    return Model(method, tuple(networks), parameters.passes if training == "mc_dropout" else 0)


def make(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Make a trained method ready: hyper-parameters chosen, scores fitted."""
    if model.name == "odin":
        grid = selection.odin_grid(parameters, model, benchmark.visible)
        chosen = dict(zip(("temperature", "epsilon"), selection.best(grid), strict=True))
        return _by_score(model, scores.create("odin", **chosen), chosen)
    if model.name == "openmax":
        return _openmax(parameters, model, benchmark)
    if model.name == "smoothness":
        return Detector(
            model, lambda images: Answer(smoothness(images.images), model.outputs(images).correct)
        )
    score = scores.create(score_of(model.name))
    if score.info.fits:
        score.fit(model.outputs(benchmark.train), model.head)
    return _by_score(model, score, {})


def evidence(detector: Detector) -> Detector:
    """Return an EDL detector whose confidence is that of its Dirichlet distributions.

    The expected probability of the predicted class, alpha / S, instead of the softmax that the
    benchmark's code takes.
    """

    def answer(images: Images) -> Answer:
        found = detector.model.outputs(images)
        alpha = np.exp(np.clip(found.logits.astype(np.float64), -10, 10)) + 1
        return Answer(alpha.max(axis=1) / alpha.sum(axis=1), found.correct)

    return replace(detector, answer=answer)


def _by_score(model: Model, score: scores.Score, chosen: dict[str, float]) -> Detector:
    def answer(images: Images) -> Answer:
        # what the network predicts is asked of the image as it is
        found = model.outputs(images)
        return Answer(scores.score(score, model, images, found), found.correct)

    return Detector(model, answer, chosen)


def _openmax(parameters: Parameters, model: Model, benchmark: Benchmark) -> Detector:
    grid = selection.openmax_grid(parameters, model, benchmark.visible)
    alpha, tail = selection.best(grid)
    rule = selection.openmax(model.outputs(benchmark.train), alpha, tail, parameters.distance)

    def answer(images: Images) -> Answer:
        found = model.outputs(images)
        probabilities = rule.probabilities(found.logits)
        answers = openmax_answer(probabilities)
        # "unknown" is a wrong answer to an image of a known class, and no right one to the others
        return Answer(1 - probabilities[:, -1], (answers == found.labels) & (found.labels >= 0))

    return Detector(model, answer, {"alpha": alpha, "tail": tail})
