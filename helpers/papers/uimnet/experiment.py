"""The experiment of *What classifiers know what they don't?*.

Belghazi and Lopez-Paz (2021): algorithms, each with hyper-parameters drawn at random and with or
without spectral normalisation, are trained in-domain; one trial or the ensemble of all is chosen by
its likelihood on held-out images, and measured in-domain and out-domain.  A part is an algorithm on
a network with a form of it, over all data seeds, since these choose a trial together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers import metrics, scores
from helpers.networks.model import Model
from helpers.outputs import Outputs
from helpers.papers.run import Draw, Part
from helpers.papers.uimnet.columns import choose_trial, spectral_suffix
from helpers.papers.uimnet.roles import DomainSplit, roles
from helpers.papers.uimnet.trials import algorithm_of, train_trials, validation_nll
from helpers.report import results
from helpers.scores import calibration

if TYPE_CHECKING:
    from helpers.papers.uimnet.parameters import Parameters
    from helpers.papers.uimnet.trials import Algorithm, Trial

__all__ = ["models", "outputs", "parts", "roles", "rows"]

_WITH_NATIVE = ("mixup", "rnd", "oc", "soft_labels")


@dataclass(frozen=True)
class Search:
    """An algorithm, and its trials by data seed."""

    algorithm: Algorithm
    trials: Mapping[int, Sequence[Trial]]


@dataclass(frozen=True)
class DomainOutputs:
    """What a model says of the images of each role, asked for when it is looked at.

    Attributes
    ----------
    model : Model
        A trial's network, or those of several trials as an ensemble.
    split : DomainSplit
    sets : dict of str to Outputs
        Of ``validation``, ``test`` and ``out``.
    train : Outputs
        Without dropout: they are there for the features.
    temperature : float
        Fitted to the in-domain validation images.
    """

    model: Model
    split: DomainSplit

    @cached_property
    def sets(self) -> dict[str, Outputs]:
        names = ("validation", "test", "out")
        return {name: self.model.outputs(getattr(self.split, name)) for name in names}

    @cached_property
    def train(self) -> Outputs:
        return replace(self.model, passes=0).outputs(self.split.train)

    @cached_property
    def temperature(self) -> float:
        held = self.sets["validation"]
        logits = calibration.log_probabilities(held.probabilities, np.float64)
        return calibration.fit_temperature(logits, held.labels)


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
                for row in measure(parameters, algorithm, found, draw):
                    yield {"run": seed, "variant": variant} | row


def _hyper_parameters(algorithm: Algorithm, trial: Trial) -> str:
    """Return in words what a trial has for what is searched."""
    values = trial.recipe.as_dict() | trial.recipe.objective_arguments
    own = {name: values[name] for name in algorithm.space if name in values}
    return ", ".join(
        f"{name} {one:.4g}" if isinstance(one, float) else f"{name} {one}"
        for name, one in own.items()
    )


def score_of(measure: str, algorithm: str, *, ensemble: bool = False) -> str | None:
    """Return the name of the score that a measure is; None where an algorithm has no such one.

    They differ for Native alone: of an ensemble, and of MC-Dropout, it is the Jensen-Shannon
    divergence, and some algorithms have none.

    Examples
    --------
    >>> score_of("native", "erm"), score_of("native", "erm", ensemble=True)
    (None, 'jsd')
    >>> score_of("native", "rnd"), score_of("gap", "rnd")
    ('native', 'gap')
    """
    if measure != "native":
        return measure
    if ensemble or algorithm == "mc_dropout":
        return "jsd"
    return "native" if algorithm in _WITH_NATIVE else None


def measure(
    parameters: Parameters, algorithm: Algorithm, found: DomainOutputs, draw: Draw
) -> Iterator[dict]:
    """Yield all metrics of a network or an ensemble, before and after temperature scaling.

    A measure that a temperature does not change is there before scaling alone.  The mixture of
    Gaussians is fitted to the training images, as in the authors' code: their text says the
    validation images, but those also give the threshold, and around the few of a class that it was
    fitted to a mixture is so dense that it refuses all other images.
    """
    temperatures, scale = [1.0, found.temperature], calibration.scale_outputs
    for index, when in enumerate(("before", "after")):
        at = {key: scale(one, temperatures[index]) for key, one in found.sets.items()}
        columns = {"method": algorithm.name, "calibration": when}
        for row in measure_in_domain(at["test"], parameters.bins, draw):
            yield columns | row
        for one in parameters.measures:
            name = score_of(one, algorithm.name, ensemble=len(found.model.networks) > 1)
            if name is None or (name == "jacobian" and algorithm.passes):
                continue  # its probabilities are those of random passes
            offered = {"copies": parameters.tta_copies, "seed": parameters.seed}
            score = scores.create(name, offered=offered)
            of_images, of_logits = (kind in score.info.needs for kind in ("images", "logits"))
            if when == "after" and not of_images and not of_logits:
                continue
            most = parameters.jacobian_images if name == "jacobian" else None
            places = {key: spread(len(outputs), most) for key, outputs in found.sets.items()}
            if of_images:
                images = {key: getattr(found.split, key).subset(places[key]) for key in places}
                values = {
                    key: score.at_temperatures(found.model, some, temperatures)[index]
                    for key, some in images.items()
                }
            else:
                if score.info.fits:
                    score.fit(found.train, found.model.head)
                seen = at if of_logits else found.sets
                values = {key: score.score_samples(outputs) for key, outputs in seen.items()}
            drawn = {key: draw(key, len(at[key]))[:, places[key]] for key in ("test", "out")}
            columns = {"method": f"{algorithm.name}/{one}", "calibration": when}
            for row in measure_out_domain(values, parameters.keep, drawn):
                yield columns | row


def measure_in_domain(outputs: Outputs, bins: int, draw: Draw) -> Iterator[dict]:
    """Yield the in-domain metrics of test images: accuracy, its top five, ECE and NLL."""
    weights = draw("test", len(outputs))
    probabilities, labels, right = outputs.probabilities, outputs.labels, outputs.correct
    true = probabilities[np.arange(len(labels)), labels]
    top = min(5, outputs.num_classes)
    among_top = (probabilities > true[:, None]).sum(axis=1) < top
    confidence, loss = probabilities.max(axis=1), -np.log(np.maximum(true, 1e-38))
    found = {
        "accuracy": right.mean(),
        "accuracy_top5": metrics.accuracy(probabilities, labels, top=top),
        "ece": metrics.ece(probabilities, labels, bins=bins),
        "nll": metrics.nll(probabilities, labels),
    }
    means = {"accuracy": right, "accuracy_top5": among_top, "nll": loss}
    replicates = {name: metrics.weighted_mean(one, weights) for name, one in means.items()}
    replicates["ece"] = metrics.weighted_calibration_error(confidence, right, weights, bins=bins)
    for metric, value in found.items():
        yield results.row("test", metric, value, len(outputs), replicates[metric])


def measure_out_domain(
    values: Mapping[str, np.ndarray], keep: float, weights: Mapping[str, np.ndarray]
) -> Iterator[dict]:
    """Yield the out-domain metrics of one measure.

    Parameters
    ----------
    values : mapping of str to ndarray
        Scores, higher = more likely in-domain, of ``validation``, ``test`` and ``out``.
    keep : float
        The threshold keeps this share of the validation images.
    weights : mapping of str to ndarray, shape [replicates, N]
        Of the images of ``test`` and ``out``.
    """
    known, unknown = values["test"], values["out"]
    area = metrics.weighted_auroc(known, unknown, weights["test"], weights["out"])
    images = len(known) + len(unknown)
    yield results.row("out", "auroc", metrics.auroc(known, unknown), images, area)
    threshold = metrics.rejection_threshold(values["validation"], keep=keep)
    found = metrics.domain_confusion(known, unknown, threshold)
    inside = metrics.weighted_mean(known >= threshold, weights["test"])
    outside = metrics.weighted_mean(unknown < threshold, weights["out"])
    for metric, value, count, replicates in (
        ("in_as_in", found.InAsIn, len(known), inside),
        ("in_as_out", found.InAsOut, len(known), 1 - inside),
        ("out_as_in", found.OutAsIn, len(unknown), 1 - outside),
        ("out_as_out", found.OutAsOut, len(unknown), outside),
    ):
        yield results.row("out", metric, value, count, replicates)


def spread(images: int, most: int | None) -> np.ndarray:
    """Return the places of at most so many images, evenly: sets may be sorted by class.

    Examples
    --------
    >>> spread(10, 4), spread(3, None)
    (array([0, 3, 6, 9]), array([0, 1, 2]))
    """
    if most is None or most >= images:
        return np.arange(images)
    return np.linspace(0, images - 1, most).astype(int)
