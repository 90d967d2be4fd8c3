"""The nine methods: a trained network or several, and what they say of any set of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from helpers import outputs
from helpers.checks import known_name
from helpers.data import Images
from helpers.networks.recipe import Recipe
from helpers.outputs import Outputs
from helpers.papers.unknown_detection import selection
from helpers.papers.unknown_detection.protocol import METHODS, Protocol, Roles
from helpers.scores.calibration import softmax
from helpers.scores.mahalanobis import Mahalanobis
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
    method : str
    networks : list of Fitted
        One, or the members of an ensemble.
    chosen : dict of str to float
        Hyper-parameters that were chosen on held-out images.
    """

    method: str
    networks: list[Fitted]
    outputs: Callable[[Images], Outputs] = field(repr=False)
    answer: Callable[[Images], Answer] = field(repr=False)
    chosen: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Wall-clock time of the training of all its networks."""
        return sum(network.seconds for network in self.networks)

    @property
    def device_name(self) -> str:
        """What they were trained on."""
        return self.networks[0].device_name


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
    if method == "ensemble":
        return _by_probability(
            method, networks, lambda images: outputs.ensemble([n.outputs(images) for n in networks])
        )
    first = networks[0]
    if method == "odin":
        return _odin(first, roles, protocol)
    if method == "openmax":
        return _openmax(first, roles, protocol)
    if method == "mahalanobis":
        return _mahalanobis(first, roles)
    passes = protocol.passes if method == "mc_dropout" else 0
    return _by_probability(method, networks, lambda images: first.outputs(images, passes=passes))


def evidence(detector: Detector) -> Detector:
    """Return an EDL detector whose confidence is that of its Dirichlet distributions.

    The expected probability of the predicted class, alpha / S, instead of the softmax that the
    benchmark's code takes.
    """

    def answer(images: Images) -> Answer:
        found = detector.outputs(images)
        alpha = np.exp(np.clip(found.logits.astype(np.float64), -10, 10)) + 1
        return Answer(alpha.max(axis=1) / alpha.sum(axis=1), found.correct)

    return replace(detector, answer=answer)


def _by_probability(
    method: str, networks: list[Fitted], outputs_of: Callable[[Images], Outputs]
) -> Detector:
    def answer(images: Images) -> Answer:
        found = outputs_of(images)
        return Answer(found.probabilities.max(axis=1), found.correct)

    return Detector(method, networks, outputs_of, answer)


def _odin(fitted: Fitted, roles: Roles, protocol: Protocol) -> Detector:
    grid = selection.odin_grid(fitted, roles.visible, protocol)
    temperature, epsilon = selection.best(grid)

    def answer(images: Images) -> Answer:
        # what the network predicts is asked of the image as it is
        found = fitted.outputs(images)
        logits = found.logits
        if epsilon:
            logits = selection.odin_logits(fitted, images, temperature, [epsilon])[0]
        return Answer(softmax(logits, temperature).max(axis=1), found.correct)

    chosen = {"temperature": temperature, "epsilon": epsilon}
    return Detector("odin", [fitted], fitted.outputs, answer, chosen)


def _openmax(fitted: Fitted, roles: Roles, protocol: Protocol) -> Detector:
    grid = selection.openmax_grid(fitted, roles.visible, protocol)
    alpha, tail = selection.best(grid)
    model = selection.openmax(fitted.outputs(roles.train), alpha, tail, protocol.distance)

    def answer(images: Images) -> Answer:
        found = fitted.outputs(images)
        probabilities = model.probabilities(found.logits)
        answers = openmax_answer(probabilities)
        # "unknown" is a wrong answer to an image of a known class, and no right one to the others
        return Answer(1 - probabilities[:, -1], (answers == found.labels) & (found.labels >= 0))

    chosen = {"alpha": alpha, "tail": tail}
    return Detector("openmax", [fitted], fitted.outputs, answer, chosen)


def _mahalanobis(fitted: Fitted, roles: Roles) -> Detector:
    score = Mahalanobis().fit(fitted.outputs(roles.train), fitted.classifier.head)

    def answer(images: Images) -> Answer:
        found = fitted.outputs(images)
        return Answer(score.score_samples(found), found.correct)

    return Detector("mahalanobis", [fitted], fitted.outputs, answer)
