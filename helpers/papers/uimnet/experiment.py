"""The experiment of *What classifiers know what they don't?*.

Belghazi and Lopez-Paz (2021): algorithms, each with hyper-parameters drawn at random and with or
without spectral normalisation, are trained in-domain; one trial or the ensemble of all is chosen by
its likelihood on held-out images, and measured in-domain and out-domain.  A part is an algorithm on
a network with a form of it, over all data seeds, since these choose a trial together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from helpers import scores
from helpers.networks.model import Model
from helpers.papers.run import Draw, Part
from helpers.papers.uimnet.columns import choose_trial, spectral_suffix
from helpers.papers.uimnet.measuring import DomainOutputs, measure
from helpers.papers.uimnet.roles import DomainSplit, roles
from helpers.papers.uimnet.trials import algorithm_of, train_trials, validation_nll
from helpers.report import results

if TYPE_CHECKING:
    from helpers.papers.uimnet.parameters import Parameters
    from helpers.papers.uimnet.trials import Algorithm, Trial

__all__ = ["models", "outputs", "parts", "roles", "rows"]


@dataclass(frozen=True)
class Search:
    """An algorithm, and its trials by data seed."""

    algorithm: Algorithm
    trials: Mapping[int, Sequence[Trial]]


@dataclass(frozen=True)
class Choice:
    """What there is to evaluate of a search.

    Attributes
    ----------
    search : Search
    held : dict of int to int
        How many validation images each data seed has.
    likelihoods : DataFrame, shape [data seeds, trials]
        Negative log-likelihoods of the validation images; NaN where a trial diverged.
    chosen : int or None
        The number of the trial that counts; None if all diverged.
    variants : dict of (int, str) to DomainOutputs
        By data seed: ``primary`` (the chosen trial) and, where several trials did not diverge,
        ``ensemble``.
    """

    search: Search
    held: Mapping[int, int]
    likelihoods: pd.DataFrame
    chosen: int | None
    variants: Mapping[tuple[int, str], DomainOutputs]


def parts(parameters: Parameters) -> list[Part]:
    """Return every network, algorithm and form of spectral normalisation."""
    for name, arguments in parameters.score_arguments.items():
        scores.create(name, **arguments)  # refuses an impossible one
    grid = itertools.product(parameters.sizes, parameters.algorithms, parameters.spectral)
    found = []
    for network, name, form in grid:
        algorithm_of(parameters, network, name, form)  # refuses an impossible search
        columns = {"data_set": parameters.data_set, "method": name}
        columns["backbone"] = network + spectral_suffix(form)
        found.append(Part(f"{network}/{name}/{form}", columns, roles=""))
    return found


def models(parameters: Parameters, part: Part, roles: Mapping[int, DomainSplit]) -> Search:
    """Train all trials on all data seeds, or take them from the cache."""
    network, name, form = part.name.rsplit("/", 2)
    algorithm = algorithm_of(parameters, network, name, form)
    images = {seed: split.train for seed, split in roles.items()}
    trained = {seed: train_trials(parameters, algorithm, images[seed], seed) for seed in images}
    return Search(algorithm, trained)


def outputs(
    parameters: Parameters, part: Part, roles: Mapping[int, DomainSplit], models: Search
) -> Choice:
    """Choose a trial by the mean over data seeds, and ask it and the ensemble of all."""
    algorithm, found = models.algorithm, models.trials
    nll = [[validation_nll(one, roles[seed], algorithm) for one in found[seed]] for seed in found]
    likelihoods = pd.DataFrame(nll, list(found))
    chosen, variants = choose_trial(likelihoods), {}
    for seed, trials in found.items():
        if chosen is not None:
            variants[seed, "primary"] = ask(algorithm, [trials[chosen]], roles[seed])
        whole = [one for one in trials if not one.diverged]
        if len(whole) > 1:
            variants[seed, "ensemble"] = ask(algorithm, whole, roles[seed])
    held = {seed: len(split.validation) for seed, split in roles.items()}
    return Choice(models, held, likelihoods, chosen, variants)


def ask(algorithm: Algorithm, trials: Sequence[Trial], split: DomainSplit) -> DomainOutputs:
    """Return what a trial says, or several of them, none of which diverged, as an ensemble."""
    networks = tuple(one.fitted for one in trials)
    return DomainOutputs(Model(algorithm.name, networks, algorithm.passes), split)


def rows(parameters: Parameters, part: Part, outputs: Choice, draw: Draw) -> Iterator[dict]:
    """Yield the rows of all trials, of the chosen one and of the ensemble.

    The variants are those of `Choice`, and ``trial N``: its likelihood on validation images, or
    that it diverged.
    """
    algorithm = outputs.search.algorithm
    for seed, trials in outputs.search.trials.items():
        for trial in trials:
            metric, value, notes = "diverged", 1.0, trial.message
            if not trial.diverged:
                metric, value = "nll", outputs.likelihoods.loc[seed, trial.number]
                notes = _hyper_parameters(algorithm, trial)
            columns = {"run": seed, "variant": f"trial {trial.number}", "notes": notes}
            yield columns | results.row("validation", metric, value, outputs.held[seed])
        if found := outputs.variants.get((seed, "primary")):
            asked = found.sets["test"]  # log K is what guessing costs: see `claims.derive`
            yield {"run": seed} | results.row("test", "classes", asked.num_classes, len(asked))
        for variant in ("primary", "ensemble"):
            if found := outputs.variants.get((seed, variant)):
                for row in measure(parameters, found, draw):
                    yield {"run": seed, "variant": variant} | row


def _hyper_parameters(algorithm: Algorithm, trial: Trial) -> str:
    """Return in words what a trial has for what is searched."""
    values = trial.recipe.as_dict() | trial.recipe.objective_arguments
    own = {name: values[name] for name in algorithm.space if name in values}
    return ", ".join(
        f"{name} {one:.4g}" if isinstance(one, float) else f"{name} {one}"
        for name, one in own.items()
    )
