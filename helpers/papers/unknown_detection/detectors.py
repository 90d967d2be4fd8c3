"""Methods at work: a trained network or several, and what they say of any set of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from helpers import scores
from helpers.data import Images, features
from helpers.networks.model import Model
from helpers.papers.unknown_detection import methods
from helpers.papers.unknown_detection.roles import Benchmark
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
    recipe, one = parameters.method_recipe(method), methods.named(method)
    networks = [
        train(parameters, benchmark, recipe, run=run, member=member)
        for run, member in one.networks(parameters, run)
    ]
    return Model(method, tuple(networks), parameters.passes if one.passes else 0)


def make(
    parameters: Parameters, benchmark: Benchmark, model: Model, variant: str = "primary"
) -> Detector:
    """Make a trained method ready: hyper-parameters chosen, scores fitted."""
    one = methods.named(model.name)
    detect = one.detect if variant == "primary" else one.variants[variant]
    if detect:
        return detect(parameters, benchmark, model)
    score = scores.create(one.score, **one.arguments)
    if score.info.fits:
        score.fit(model.outputs(benchmark.train), model.head)
    return by_score(model, score)


def by_score(model: Model, score: scores.Score, chosen: dict[str, float] | None = None) -> Detector:
    """Return the method that asks networks by a score that is fitted already.

    What a network predicts is asked of the image as it is.
    """

    def answer(images: Images) -> Answer:
        found = model.outputs(images)
        return Answer(scores.score(score, model, images, found), found.correct)

    return Detector(model, answer, chosen or {})
