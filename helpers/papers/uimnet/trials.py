"""The trials of an algorithm: random hyper-parameters, the trained networks, the chosen trial."""

import json
from dataclasses import dataclass

import pandas as pd

from helpers import cache, metrics
from helpers.data import Images, ImageStream
from helpers.files import atomic_path
from helpers.networks.devices import VERSIONS
from helpers.networks.recipe import Recipe
from helpers.papers.uimnet.names import FREE, RECORDS, spectral_changes
from helpers.papers.uimnet.parameters import Parameters
from helpers.papers.uimnet.roles import DomainSplit
from helpers.scores.calibration import scale_outputs
from helpers.training import search
from helpers.training.fitted import TRAINING, Fitted, fit


@dataclass(frozen=True)
class Algorithm:
    """A training algorithm on a network, with its search; an impossible search is refused."""

    name: str
    recipe: Recipe  # that all trials share
    defaults: dict[str, object]  # hyper-parameters of trial 0
    space: dict[str, search.Law]  # laws of the hyper-parameters of the other trials
    passes: int = 0  # with dropout, in evaluation; 0 is one pass without

    def __post_init__(self):
        search.check_space(self.recipe, self.space, self.defaults)


@dataclass(frozen=True)
class Trial:
    """One training of an algorithm; trial 0 has the defaults.

    ``fitted`` is None if the trial diverged, and ``message`` the reason.
    """

    number: int
    recipe: Recipe
    fitted: Fitted | None
    message: str = ""

    @property
    def diverged(self) -> bool:
        """Whether there is no network."""
        return self.fitted is None


def algorithm_of(
    parameters: Parameters, network: str, name: str, spectral: str = FREE
) -> Algorithm:
    """Return an algorithm on a network with a form of spectral normalisation."""
    defaults, space = parameters.searched(name)
    recipe = parameters.recipe(
        parameters.sizes[network],
        parameters.algorithms[name],
        spectral_changes(spectral),
    )
    passes = parameters.passes if RECORDS[name].passes else 0
    return Algorithm(name, recipe, defaults, space, passes)


def train_trials(
    parameters: Parameters, algorithm: Algorithm, images: Images | ImageStream, data_seed: int
) -> list[Trial]:
    """Return all trials of an algorithm on one data seed, trained or from the cache."""
    seed = parameters.seed
    draws = search.trials(
        algorithm.space,
        algorithm.defaults,
        parameters.trials,
        seed=seed,
        draws=parameters.trial_draws,
    )
    recipes = [search.applied(algorithm.recipe, values) for values in draws]
    first = seed * 10_000 + data_seed * 100
    return [
        train_trial(images, number, recipe, seed=first + number, device=parameters.device)
        for number, recipe in enumerate(recipes)
    ]


def train_trial(
    images: Images | ImageStream, number: int, recipe: Recipe, *, seed: int, device: str | None
) -> Trial:
    """Return one trial, trained or from the cache.

    A trial has diverged if its loss or its final weights are not finite; it is not repeated.
    """
    key = cache.key(
        images=images.sha256,
        recipe=recipe.as_dict(),
        seed=seed,
        code=TRAINING[recipe.objective],
        **VERSIONS,
    )
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
    """Return the mean NLL of the validation images; NaN if the trial diverged."""
    if trial.fitted is None:
        return float("nan")
    held_out = trial.fitted.outputs(split.validation, passes=algorithm.passes)
    return metrics.nll(scale_outputs(held_out).probabilities, held_out.labels)


def choose_trial(likelihoods: pd.DataFrame) -> int | None:
    """Return the number of the trial to evaluate; None if each trial diverged on a data seed.

    `likelihoods` are the NLL of the validation images [data seeds, trials]; NaN is a divergence.

    >>> choose_trial(pd.DataFrame({0: [0.5, 0.7], 1: [0.1, float("nan")], 2: [0.4, 0.6]}))
    2
    """
    means = likelihoods.dropna(axis=1).mean()
    return None if means.empty else int(means.idxmin())
