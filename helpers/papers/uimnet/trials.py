"""The trials of an algorithm: hyper-parameters drawn at random, and networks trained with them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from helpers import cache, metrics
from helpers.files import atomic_path
from helpers.networks.devices import VERSIONS
from helpers.networks.recipe import Recipe
from helpers.papers.uimnet.algorithms import RECORDS
from helpers.papers.uimnet.columns import FREE, spectral_changes
from helpers.scores.calibration import scale_outputs
from helpers.training import search
from helpers.training.fitted import TRAINING, Fitted, fit
from helpers.training.search import Law

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.papers.uimnet.parameters import Parameters
    from helpers.papers.uimnet.roles import DomainSplit


@dataclass(frozen=True)
class Algorithm:
    """A training algorithm on a network, and how its hyper-parameters are searched.

    Attributes
    ----------
    name : str
        One of `helpers.papers.uimnet.algorithms.RECORDS`.
    recipe : Recipe
        What all of its trials share.
    defaults : dict of str to value
        Hyper-parameters of trial 0.
    space : dict of str to Law
        The laws that those of the other trials are drawn from.
    passes : int
        With dropout at work, in evaluation; 0 leaves it out.

    Raises
    ------
    ValueError
        A search that would meet an impossible value, as `helpers.training.search.check_space`.
    """

    name: str
    recipe: Recipe
    defaults: dict[str, object] = field(default_factory=dict)
    space: dict[str, Law] = field(default_factory=dict)
    passes: int = 0

    def __post_init__(self):
        search.check_space(self.recipe, self.space, self.defaults)


@dataclass(frozen=True)
class Trial:
    """One training of an algorithm.

    Attributes
    ----------
    number : int
        0 has the defaults.
    recipe : Recipe
    fitted : Fitted or None
        None where the loss did not stay finite.
    message : str
        What happened, where it diverged.
    """

    number: int
    recipe: Recipe
    fitted: Fitted | None
    message: str = ""

    @property
    def diverged(self) -> bool:
        """Whether there is no network to choose."""
        return self.fitted is None


def algorithm_of(
    parameters: Parameters, network: str, name: str, spectral: str = FREE
) -> Algorithm:
    """Return an algorithm on a network, by its form of spectral normalisation."""
    changes = parameters.sizes[network], parameters.algorithms[name]
    defaults, space = parameters.searched(name)
    recipe = parameters.recipe(*changes, spectral_changes(spectral))
    passes = parameters.passes if RECORDS[name].passes else 0
    return Algorithm(name, recipe, defaults, space, passes)


def train_trials(
    parameters: Parameters, algorithm: Algorithm, images: Images | ImageStream, data_seed: int
) -> list[Trial]:
    """Train all trials of an algorithm on one data seed, or take them from the cache."""
    seed, device = parameters.seed, parameters.device
    draws = search.trials(algorithm.space, algorithm.defaults, parameters.trials, seed=seed)
    recipes = [search.applied(algorithm.recipe, values) for values in draws]
    first = seed * 10_000 + data_seed * 100
    return [
        train_trial(images, number, recipe, seed=first + number, device=device)
        for number, recipe in enumerate(recipes)
    ]


def train_trial(
    images: Images | ImageStream, number: int, recipe: Recipe, *, seed: int, device: str | None
) -> Trial:
    """Train one trial, or take it from the cache; one that diverged is not tried again.

    It has diverged if its loss or, in the end, its weights are not all finite.
    """
    key = cache.key(
        images=images.sha256, recipe=recipe.as_dict(), seed=seed,
        code=TRAINING[recipe.objective], **VERSIONS,
    )  # fmt: skip
    note = cache.path_of("diverged", key, ".json")
    if note.exists():
        return Trial(number, recipe, None, json.loads(note.read_text(encoding="utf-8")))
    try:
        fitted = fit(images, recipe, seed=seed, device=device)
        if all(tensor.isfinite().all() for tensor in fitted.weights.values()):
            return Trial(number, recipe, fitted)
        message = "weights that are not finite after the last step"
    except FloatingPointError as error:
        message = str(error)
    with atomic_path(note) as temporary:
        temporary.write_text(json.dumps(message), encoding="utf-8")
    return Trial(number, recipe, None, message)


def validation_nll(trial: Trial, split: DomainSplit, algorithm: Algorithm) -> float:
    """Return the mean negative log-likelihood of the validation images; NaN if it diverged."""
    if trial.diverged:
        return float("nan")
    held = trial.fitted.outputs(split.validation, passes=algorithm.passes)
    return metrics.nll(scale_outputs(held).probabilities, held.labels)
