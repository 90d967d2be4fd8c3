"""The nine methods: a trained network or several, and what they say of any set of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from helpers import scores
from helpers.checks import known_name
from helpers.data import Images
from helpers.networks.model import Model
from helpers.networks.recipe import Recipe
from helpers.papers.unknown_detection import selection
from helpers.papers.unknown_detection.protocol import METHODS, Protocol, Roles
from helpers.scores.openset import openmax_answer
from helpers.training.fitted import Fitted, fit

OBJECTIVES = ("crl", "edl", "augmix", "outlier_exposure")
"""Methods that train in their own way, by the objective of the same name; others by ERM."""

ASIDE = ("mahalanobis",)
"""Methods beside the nine, which the paper tried and left out."""

_ON_BASELINE = ("odin", "openmax", "mahalanobis")


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


def recipe_of(method: str, training: Recipe, own: Mapping[str, Mapping]) -> Recipe:
    """Return the recipe of a method's networks.

    Parameters
    ----------
    method : str
    training : Recipe
        What all methods share.
    own : mapping of str to mapping
        What a method changes in it.

    Examples
    --------
    >>> recipe_of("crl", Recipe(), {"crl": {"epochs": 3}}).objective
    'crl'
    >>> recipe_of("odin", Recipe(), {}) == recipe_of("baseline", Recipe(), {})
    True

    Raises
    ------
    ValueError
        Unknown method or training parameter; MC dropout without dropout.
    """
    known_name("method", method, [*METHODS, *ASIDE])
    if method in (*_ON_BASELINE, "ensemble"):
        method = "baseline"
    objective = {"objective": method} if method in OBJECTIVES else {}
    recipe = Recipe.from_parameters(training.as_dict() | objective | dict(own.get(method, {})))
    if method == "mc_dropout" and not (recipe.dropout or recipe.block_dropout):
        raise ValueError("mc_dropout: its recipe has no dropout, so that all passes are the same")
    return recipe


def network(
    roles: Roles,
    recipe: Recipe,
    *,
    run: int,
    member: int = 0,
    seed: int = 0,
    device: str | None = None,
    progress: bool = True,
) -> Fitted:
    """Train a network of one run, or take it from the cache.

    Member 0 is the run's network; the others make an ensemble of it.
    """
    return fit(
        roles.train,
        recipe,
        outliers=roles.external,
        seed=seed * 100_000 + run * 100 + member,
        device=device,
        progress=progress,
    )


def detector(
    method: str,
    roles: Roles,
    training: Recipe,
    protocol: Protocol,
    *,
    run: int,
    own: Mapping[str, Mapping] | None = None,
    device: str | None = None,
    progress: bool = True,
) -> Detector:
    """Make one of the methods ready for a run: networks trained, hyper-parameters chosen.

    Parameters
    ----------
    method : str
        One of `METHODS`, or ``mahalanobis``.
    roles : Roles
    training : Recipe
        What all methods share.
    protocol : Protocol
    run : int
        Decides the weights; the images play the same roles in all runs.
    own : mapping of str to mapping, optional
        What a method changes in the recipe.
    device, progress
        As in `helpers.training.fitted.fit`.
    """
    recipe = recipe_of(method, training, own or {})
    members = range(protocol.members if method == "ensemble" else 1)
    networks = [
        network(
            roles, recipe, run=run, member=member, seed=protocol.seed, device=device,
            progress=progress,
        )
        for member in members
    ]  # fmt: skip
    passes = protocol.passes if method == "mc_dropout" else 0
    model = Model(method, tuple(networks), passes)
    if method == "odin":
        return _odin(model, roles, protocol)
    if method == "openmax":
        return _openmax(model, roles, protocol)
    score = scores.create("mahalanobis" if method == "mahalanobis" else "msp")
    if score.info.fits:
        score.fit(model.outputs(roles.train), model.head)
    return _by_score(model, score)


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


def _by_score(
    model: Model, score: scores.Score, chosen: Mapping[str, float] | None = None
) -> Detector:
    def answer(images: Images) -> Answer:
        # what the network predicts is asked of the image as it is
        found = model.outputs(images)
        return Answer(scores.score(score, model, images, found), found.correct)

    return Detector(model, answer, dict(chosen or {}))


def _odin(model: Model, roles: Roles, protocol: Protocol) -> Detector:
    temperature, epsilon = selection.best(selection.odin_grid(model, roles.visible, protocol))
    chosen = {"temperature": temperature, "epsilon": epsilon}
    return _by_score(model, scores.create("odin", **chosen), chosen)


def _openmax(model: Model, roles: Roles, protocol: Protocol) -> Detector:
    alpha, tail = selection.best(selection.openmax_grid(model, roles.visible, protocol))
    rule = selection.openmax(model.outputs(roles.train), alpha, tail, protocol.distance)

    def answer(images: Images) -> Answer:
        found = model.outputs(images)
        probabilities = rule.probabilities(found.logits)
        answers = openmax_answer(probabilities)
        # "unknown" is a wrong answer to an image of a known class, and no right one to the others
        return Answer(1 - probabilities[:, -1], (answers == found.labels) & (found.labels >= 0))

    return Detector(model, answer, {"alpha": alpha, "tail": tail})
