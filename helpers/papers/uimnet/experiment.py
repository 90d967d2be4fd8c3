"""From trials to rows of the results table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
from tqdm import tqdm

from helpers import data, metrics
from helpers.checks import fields_of
from helpers.networks.recipe import Recipe
from helpers.papers.uimnet.imagenot import Roles, roles
from helpers.papers.uimnet.measuring import answers, measured, row_of, scaled
from helpers.papers.uimnet.naming import normalised, selected
from helpers.papers.uimnet.networks import Algorithm, Trial, class_means, trained
from helpers.papers.uimnet.protocol import Protocol
from helpers.report import results

PAPER = "uimnet"


def validation_nll(trial: Trial, roles: Roles, algorithm: Algorithm) -> float:
    """Return the mean negative log-likelihood of the in-domain validation images."""
    held = trial.fitted.outputs(roles.validation, passes=algorithm.passes)
    return metrics.nll(scaled(held, 1.0).probabilities, held.labels)


def evaluate(
    tier: str,
    data_set: str,
    roles: Mapping[int, Roles],
    networks: Mapping[str, Recipe],
    algorithms: Sequence[Algorithm],
    spectral: Sequence[float],
    measures: Sequence[str],
    protocol: Protocol,
    *,
    device: str | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Evaluate every network, algorithm and data seed; train what is not in the cache.

    Parameters
    ----------
    tier, data_set : str
        Go into the table.
    roles : mapping of int to Roles
        By data seed.
    networks : mapping of str to Recipe
        Sizes of the network; each algorithm replaces what it changes.
    algorithms : sequence of Algorithm
        Their recipes hold what the algorithm changes in the networks'.
    spectral : sequence of float
        Coefficients of spectral normalisation; 0 leaves the layers free.  They are told apart
        in the networks' names (see `normalised`).
    measures : sequence of str
        Of `helpers.papers.uimnet.MEASURES`.
    protocol : Protocol
    device, progress
        As in `helpers.training.fitted.fit`.

    Returns
    -------
    DataFrame
        A results table (see `helpers.report.results`).  The variants are ``primary`` (the chosen
        trial), ``ensemble`` (all trials that did not diverge) and ``trial N`` (its likelihood on
        validation images, or that it diverged).
    """
    cells = [
        (network, algorithm, coefficient)
        for network in networks
        for algorithm in algorithms
        for coefficient in spectral
    ]
    tables = []
    for network, algorithm, coefficient in (bar := tqdm(cells, disable=not progress)):
        backbone = network + normalised(coefficient)
        bar.set_description(f"{backbone}, {algorithm.name}")
        own = replace(algorithm, recipe=recipe_of(networks[network], algorithm, coefficient))
        made = {
            seed: every_trial(own, one, protocol, data_seed=seed, device=device, progress=progress)
            for seed, one in roles.items()
        }
        likelihoods = pd.DataFrame(
            {
                seed: {
                    trial.number: np.nan
                    if trial.diverged
                    else validation_nll(trial, roles[seed], own)
                    for trial in trials
                }
                for seed, trials in made.items()
            }
        ).T
        chosen = selected(likelihoods)
        for seed, trials in made.items():
            identity = {"tier": tier, "paper": PAPER, "data_set": data_set, "backbone": backbone,
                        "run": seed}  # fmt: skip
            rows = list(_trial_rows(own, trials, likelihoods.loc[seed], roles[seed]))
            whole = [trial for trial in trials if not trial.diverged]
            choices = {"primary": [] if chosen is None else [trials[chosen]]}
            choices |= {"ensemble": whole} if len(whole) > 1 else {}
            for variant, some in choices.items():
                if some:
                    found = answers(some, roles[seed], own)
                    rows += [
                        {"variant": variant} | row
                        for row in measured(own, found, measures, protocol)
                    ]
            parameters = {
                "recipe": own.recipe.as_dict(),
                "space": {name: dict(law) for name, law in own.space.items()},
                "defaults": own.defaults,
                "protocol": asdict(protocol),
                "chosen": chosen,
                "sets": {name: getattr(roles[seed], name).sha256
                         for name in ("train", "validation", "test", "out")},
            }  # fmt: skip
            provenance = results.provenance(
                parameters,
                seed=protocol.seed,
                device=whole[0].fitted.device_name if whole else "none",
                seconds=sum(trial.fitted.seconds for trial in whole),
            )
            tables.append(results.tidy([identity | row for row in rows], provenance))
    return pd.concat(tables, ignore_index=True)


def recipe_of(network: Recipe, algorithm: Algorithm, coefficient: float) -> Recipe:
    """Return the recipe that all trials of an algorithm on a network start from."""
    changed = {
        name: value
        for name, value in algorithm.recipe.as_dict().items()
        if value != Recipe().as_dict()[name]
    }
    return Recipe.from_parameters(network.as_dict() | changed, spectral_norm=coefficient)


def every_trial(
    algorithm: Algorithm,
    roles: Roles,
    protocol: Protocol,
    *,
    data_seed: int,
    device: str | None = None,
    progress: bool = True,
) -> list[Trial]:
    """Train all trials of an algorithm on one data seed."""
    recipes = algorithm.recipes(protocol.trials, seed=protocol.seed)
    return [
        trained(
            algorithm,
            roles.train,
            number,
            recipe,
            seed=protocol.seed * 10_000 + data_seed * 100 + number,
            device=device,
            progress=progress,
        )
        for number, recipe in enumerate(recipes)
    ]


def _trial_rows(
    algorithm: Algorithm, trials: Sequence[Trial], likelihoods: pd.Series, roles: Roles
) -> Iterator[dict]:
    images = len(roles.validation)
    for trial in trials:
        if trial.diverged:
            row = row_of(algorithm.name, "validation", "diverged", 1.0, images)
            row["notes"] = trial.message
        else:
            value = likelihoods[trial.number]
            row = row_of(algorithm.name, "validation", "nll", value, images)
            row["notes"] = ", ".join(
                f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
                for name, value in _searched(algorithm, trial.recipe).items()
            )
        yield {"variant": f"trial {trial.number}"} | row


def _searched(algorithm: Algorithm, recipe: Recipe) -> dict[str, object]:
    """Return the values that a trial has for what is searched."""
    values = recipe.as_dict() | recipe.objective_arguments
    return {name: values[name] for name in algorithm.space if name in values}


def algorithms_of(parameters: Mapping) -> list[Algorithm]:
    """Return the algorithms of a section of the parameter files.

    Its ``algorithms`` has for each what it changes in the recipe; ``search`` the laws of its
    hyper-parameters, with those of all under ``all``; ``defaults`` likewise.
    """
    found = []
    for name, changed in parameters["algorithms"].items():
        space, defaults = (
            parameters[what].get("all", {}) | parameters[what].get(name, {})
            for what in ("search", "defaults")
        )
        passes = parameters["passes"] if name == "mc_dropout" else 0
        found.append(Algorithm(name, Recipe.from_parameters(changed), defaults, space, passes))
    return found


def parts(parameters: Mapping) -> list[str]:
    """Return the algorithms of a section ``evaluation``: what `sweep` can do side by side."""
    return list(parameters["algorithms"])


def sweep(
    parameters: Mapping, part: str, *, device: str | None = None, progress: bool = True
) -> pd.DataFrame:
    """Do what the evaluation notebook does for one algorithm, without a notebook.

    Parameters
    ----------
    parameters : mapping
        A section ``evaluation`` of the parameter files.
    part : str
        One of `parts`.
    device, progress
        As in `evaluate`.
    """
    protocol = Protocol(**fields_of(Protocol, parameters))
    networks = {
        name: Recipe.from_parameters(parameters["training"] | changed)
        for name, changed in parameters["sizes"].items()
    }
    made = roles_of(parameters, protocol, networks, device=device, progress=progress)
    return evaluate(
        parameters["tier"],
        parameters["data_set"],
        made,
        networks,
        [one for one in algorithms_of(parameters) if one.name == part],
        parameters["spectral"],
        parameters["measures"],
        protocol,
        device=device,
        progress=progress,
    )


def roles_of(
    parameters: Mapping,
    protocol: Protocol,
    networks: Mapping[str, Recipe],
    *,
    device: str | None = None,
    progress: bool = True,
) -> dict[int, Roles]:
    """Return the roles of the images by data seed; find the classes' first, where they are not
    published."""
    data_set, download = parameters["data_set"], parameters.get("download", False)
    means = None
    if parameters["featuriser"]:
        images = data.load(data_set, "train", download=download)
        means = class_means(
            images, parameters["featuriser"], networks, seed=protocol.seed, download=download,
            device=device, progress=progress,
        )  # fmt: skip
    return {
        seed: roles(data_set, protocol, seed, class_means=means, download=download)
        for seed in range(parameters["runs"])
    }
