"""The trials of an algorithm: random hyper-parameters, the trained networks, the chosen trial."""

import json
import os
from dataclasses import dataclass

import pandas as pd

from helpers import cache, metrics
from helpers.data import Images, ImageStream
from helpers.files import atomic_path
from helpers.networks.devices import VERSIONS
from helpers.networks.recipe import Recipe
from helpers.papers.uimnet.held_out import HeldOut
from helpers.papers.uimnet.names import FREE, RECORDS, spectral_changes
from helpers.papers.uimnet.parameters import Parameters
from helpers.papers.uimnet.roles import DomainSplit
from helpers.scores.calibration import scale_outputs
from helpers.training import finished_networks, search
from helpers.training.fitted import TRAINING, Fitted, fit, load_exported


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

    ``fitted`` is None if the trial diverged, and ``message`` the reason.  ``held_out`` has the
    committed outputs of a finished network, whose held-out images a slice does not contain.
    """

    number: int
    recipe: Recipe
    fitted: Fitted | None
    message: str = ""
    held_out: HeldOut | None = None

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
    """Return all trials of an algorithm on one data seed, trained or from the cache.

    If the tier `finished` has networks of some of these trials, only these are returned.
    """
    finished = finished_trials(parameters, recipes_of(parameters, algorithm), images, data_seed)
    if finished:
        return [
            Trial(number, network.recipe, network, held_out=HeldOut.read(network.path))
            for number, network in finished.items()
        ]
    return [
        train_trial(parameters, algorithm, images, data_seed, number)
        for number in range(parameters.trials)
    ]


def recipes_of(parameters: Parameters, algorithm: Algorithm) -> list[Recipe]:
    """Return the recipe of each trial; trial 0 has the defaults.

    A knob of the training is the caller's, in each trial.
    """
    knobs = parameters.training_knobs
    draws = search.trials(
        algorithm.space,
        algorithm.defaults,
        parameters.trials,
        seed=parameters.seed,
        draws=parameters.trial_draws,
    )
    recipe = algorithm.recipe
    return [
        search.applied(recipe, {name: values[name] for name in values if name not in knobs})
        for values in draws
    ]


def first_seed(parameters: Parameters, data_seed: int) -> int:
    """Return the training seed of trial 0; trial N has this seed plus N."""
    return parameters.seed * 10_000 + data_seed * 100


def finished_trials(
    parameters: Parameters, recipes: list[Recipe], images: Images | ImageStream, data_seed: int
) -> dict[int, Fitted]:
    """Return the networks of the tier `finished` by number of trial; none with TRAINING=anew."""
    folder = parameters.finished_networks
    if folder is None or os.environ.get("TRAINING") == "anew":
        return {}
    first = first_seed(parameters, data_seed)
    finished = {}
    for number, recipe in enumerate(recipes):
        path = finished_networks.find_finished(folder, recipe, images.class_names, first + number)
        if path is not None:
            finished[number] = load_exported(path, images.class_names, device=parameters.device)
    return finished


def train_trial(
    parameters: Parameters,
    algorithm: Algorithm,
    images: Images | ImageStream,
    data_seed: int,
    number: int,
) -> Trial:
    """Return one trial on one data seed, trained or from the cache.

    A trial has diverged if its loss or its final weights are not finite; it is not repeated.
    """
    recipe = recipes_of(parameters, algorithm)[number]
    seed = first_seed(parameters, data_seed) + number
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
        return Trial(number, recipe, fit(images, recipe, seed=seed, device=parameters.device))
    except FloatingPointError as error:
        message = str(error)
    with atomic_path(note) as temporary:
        temporary.write_text(json.dumps(message), encoding="utf-8")
    return Trial(number, recipe, None, message)


def validation_nll(trial: Trial, split: DomainSplit, algorithm: Algorithm) -> float:
    """Return the mean NLL of the validation images; NaN if the trial diverged."""
    if trial.fitted is None:
        return float("nan")
    if trial.held_out is not None:
        held_out = trial.held_out.outputs
    else:
        held_out = trial.fitted.outputs(split.validation, passes=algorithm.passes)
    return metrics.nll(scale_outputs(held_out).probabilities, held_out.labels)


def ranked_trials(likelihoods: pd.DataFrame) -> list[int]:
    """Return the numbers of the trials that converged on each data seed; the best is first.

    `likelihoods` are the NLL of the validation images [data seeds, trials]; NaN is a divergence.

    >>> ranked_trials(pd.DataFrame({0: [0.5, 0.7], 1: [0.1, float("nan")], 2: [0.4, 0.6]}))
    [2, 0]
    """
    means = likelihoods.dropna(axis=1).mean()
    return [int(number) for number in means.sort_values(kind="stable").index]
