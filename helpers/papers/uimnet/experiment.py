"""The experiment of *What classifiers know what they don't?* (Belghazi and Lopez-Paz 2021).

A part is an algorithm on a network with a form of spectral normalisation, over all data seeds,
because these choose a trial together.  A measure is a score of `helpers.scores`.  It learns from
the training images and the head, never from the validation images, which give the threshold.
"""

import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from helpers import metrics, scores
from helpers.metrics.calibration import hits
from helpers.networks.model import Model
from helpers.outputs import Outputs
from helpers.papers.run import Draw, Part
from helpers.papers.uimnet import trials
from helpers.papers.uimnet.held_out import SCORE, HeldOut
from helpers.papers.uimnet.names import MEASURES, record, score_of, spectral_suffix
from helpers.papers.uimnet.parameters import Parameters
from helpers.papers.uimnet.roles import DomainSplit, roles
from helpers.scores import Score, calibration
from helpers.scores.images import ImageScore
from helpers.scores.info import LACKING, lacking
from helpers.tables import results
from helpers.training.fitted import Fitted
from helpers.training.objectives import create

__all__ = ["held_out", "models", "network", "outputs", "parts", "roles", "rows"]

log = logging.getLogger(__name__)
SETS = ("validation", "test", "out")


@dataclass(frozen=True)
class DomainOutputs:
    """Outputs of a model on the images of each role, computed at the first access.

    A finished network has committed outputs of its validation images in ``held_out``: the images
    of a slice may be among those that it has learnt.
    """

    model: Model
    split: DomainSplit
    held_out: HeldOut | None = None

    @cached_property
    def sets(self) -> dict[str, Outputs]:
        """Outputs of `SETS`."""
        if self.held_out is not None:
            validation = self.held_out.outputs
        else:
            validation = self.model.outputs(self.split.validation)
        test = self.model.outputs(self.split.test)
        out = self.model.outputs(self.split.out)
        return {"validation": validation, "test": test, "out": out}

    @cached_property
    def train(self) -> Outputs:
        """Outputs of the training images."""
        return self.model.outputs(self.split.train)

    @cached_property
    def train_features(self) -> Outputs:
        """Outputs of the training images without dropout, for scores of features alone."""
        without = replace(self.model, passes=0)
        return without.outputs(self.split.train) if self.model.passes else self.train

    @cached_property
    def temperature(self) -> float:
        """Temperature fitted to the in-domain validation images."""
        held_out = self.sets["validation"]
        logits = calibration.log_probabilities(held_out.probabilities)
        return calibration.fit_temperature(logits, held_out.labels)


@dataclass(frozen=True)
class Search:
    """An algorithm, and its trials by data seed."""

    algorithm: trials.Algorithm
    trials: Mapping[int, Sequence[trials.Trial]]


@dataclass(frozen=True)
class Choice:
    """The result of a search."""

    search: Search
    held_out: Mapping[int, int]  # number of validation images of each data seed
    likelihoods: pd.DataFrame  # NLL of these images [data seeds, trials]; NaN if a trial diverged
    number: int | None  # of the chosen trial; None if all diverged
    # by data seed: "primary" (the chosen trial), and "ensemble" if several trials did not diverge
    variants: Mapping[tuple[int, str], DomainOutputs]


def parts(parameters: Parameters) -> list[Part]:
    """Return the parts: each network, algorithm and form of spectral normalisation."""
    all_parts = []
    every_trial = itertools.product(range(parameters.runs), range(parameters.trials))
    networks = tuple(f"{seed}-{number}" for seed, number in every_trial)
    grid = itertools.product(parameters.sizes, parameters.algorithms, parameters.spectral)
    for network, name, form in grid:
        algorithm = trials.algorithm_of(parameters, network, name, form)  # or it is impossible
        backbone = network + spectral_suffix(form)
        identity = {"data_set": parameters.data_set, "method": name, "backbone": backbone}
        part = Part(
            f"{network}/{name}/{form}",
            identity,
            roles="",
            networks=networks,
            after=f"{network}/erm/{form}" if create(algorithm.recipe.objective).beside else "",
        )
        all_parts.append(part)
    return all_parts


def network(
    parameters: Parameters, part: Part, roles: Mapping[int, DomainSplit], name: str
) -> trials.Trial:
    """Return one trial on one data seed, trained or from the cache."""
    seed, number = map(int, name.split("-"))
    algorithm = trials.algorithm_of(parameters, *part.name.rsplit("/", 2))
    return trials.train_trial(parameters, algorithm, roles[seed].train, seed, number)


def models(parameters: Parameters, part: Part, roles: Mapping[int, DomainSplit]) -> Search:
    """Return all trials on all data seeds, trained or from the cache."""
    network, name, form = part.name.rsplit("/", 2)
    algorithm = trials.algorithm_of(parameters, network, name, form)
    trained = {
        seed: trials.train_trials(parameters, algorithm, split.train, seed)
        for seed, split in roles.items()
    }
    return Search(algorithm, trained)


def outputs(
    parameters: Parameters, part: Part, roles: Mapping[int, DomainSplit], models: Search
) -> Choice:
    """Return the trial with the best mean over data seeds, and outputs of it and the ensemble."""
    algorithm = models.algorithm
    nll = {
        seed: {
            trial.number: trials.validation_nll(trial, roles[seed], algorithm) for trial in trained
        }
        for seed, trained in models.trials.items()
    }
    likelihoods = pd.DataFrame.from_dict(nll, orient="index")
    number = next(iter(trials.ranked_trials(likelihoods)), None)
    variants = {}
    for seed, trained in models.trials.items():
        split = roles[seed]
        if number is not None:
            chosen = [trial for trial in trained if trial.number == number]
            variants[seed, "primary"] = ask(algorithm, chosen, split)
        finite = [trial for trial in trained if not trial.diverged]
        if len(finite) > 1:
            variants[seed, "ensemble"] = ask(algorithm, finite, split)
    return Choice(
        search=models,
        held_out={
            seed: held_out_images(trained, roles[seed]) for seed, trained in models.trials.items()
        },
        likelihoods=likelihoods,
        number=number,
        variants=variants,
    )


def ask(
    algorithm: trials.Algorithm, members: Sequence[trials.Trial], split: DomainSplit
) -> DomainOutputs:
    """Return the outputs of a trial, or of several trials as an ensemble; none diverged."""
    networks = tuple(trial.fitted for trial in members if trial.fitted is not None)
    held_out = members[0].held_out
    if held_out is not None and len(members) > 1:
        raise ValueError(
            "members: one finished network expected, because an ensemble has no committed outputs "
            f"of held-out images, got {len(members)}"
        )
    return DomainOutputs(Model(algorithm.name, networks, algorithm.passes), split, held_out)


def held_out(
    parameters: Parameters, part: Part
) -> Iterator[tuple[Fitted, None, dict[str, np.ndarray]]]:
    """Yield the exported networks of a part, and what is stored of their validation images."""
    network, name, form = part.name.rsplit("/", 2)
    algorithm = trials.algorithm_of(parameters, network, name, form)
    recipes = trials.recipes_of(parameters, algorithm)
    exported = parameters.replace(finished=parameters.tier)
    for seed, split in roles(parameters).items():
        networks = trials.finished_trials(exported, recipes, split.train, seed)
        for number, fitted in networks.items():
            outputs = ask(algorithm, [trials.Trial(number, fitted.recipe, fitted)], split)
            yield fitted, None, stored_arrays(parameters, outputs)


def stored_arrays(parameters: Parameters, outputs: DomainOutputs) -> dict[str, np.ndarray]:
    """Return logits of the validation images, and the scores that a slice cannot compute.

    Several answers of one network have the logits of their mean.
    """
    model = outputs.model
    validation = outputs.sets["validation"]
    logits = validation.logits
    if validation.members is not None:
        logits = calibration.log_probabilities(validation.probabilities)
    arrays = {"logits": logits.astype(np.float16), "labels": validation.labels.astype(np.int16)}
    for measure in parameters.measures:
        name = score_of(measure, model.name)
        if not name:
            continue
        score = created(parameters, name)
        if score.info.fits or score.info.needs == ("logits",) or lacks(score, measure, outputs):
            continue
        values = [validation_scores(score, outputs)]
        if is_scaled(score):
            values.append(validation_scores(score, outputs, after=True))
        arrays[SCORE + name] = np.array(values, np.float32)
    return arrays


def validation_scores(score: Score, outputs: DomainOutputs, after: bool = False) -> np.ndarray:
    """Return the scores of all validation images, at the learned temperature if `after`."""
    validation = outputs.sets["validation"]
    if "images" not in score.info.needs:
        return score.score_samples(validation)
    places = {"validation": np.arange(len(validation))}
    return score_images(score, outputs, places, after)["validation"]


def held_out_images(trained: Sequence[trials.Trial], split: DomainSplit) -> int:
    """Return the number of validation images of some trials on one data seed."""
    held_out = trained[0].held_out
    return len(split.validation if held_out is None else held_out.outputs)


def rows(parameters: Parameters, part: Part, outputs: Choice, draw: Draw) -> Iterator[dict]:
    """Yield the rows of all trials (variant ``trial N``), of the chosen trial and the ensemble."""
    algorithm = outputs.search.algorithm
    for seed, trained in outputs.search.trials.items():
        images = outputs.held_out[seed]
        for trial in trained:
            if trial.diverged:
                notes = trial.message
                row = results.row("validation", "diverged", 1.0, images)
            else:
                notes = _hyper_parameters(algorithm, trial)
                nll = outputs.likelihoods.loc[seed, trial.number]
                row = results.row("validation", "nll", nll, images)
            yield {"run": seed, "variant": f"trial {trial.number}", "notes": notes} | row
        if primary := outputs.variants.get((seed, "primary")):
            test = primary.sets["test"]  # log K is the loss of guessing
            yield {"run": seed} | results.row("test", "classes", test.num_classes, len(test))
        for (data_seed, variant), model in outputs.variants.items():
            if data_seed == seed:
                for row in measure(parameters, model, draw):
                    yield {"run": seed, "variant": variant} | row


def _hyper_parameters(algorithm: trials.Algorithm, trial: trials.Trial) -> str:
    """Return the searched hyper-parameters of a trial in words."""
    values = trial.recipe.as_dict() | trial.recipe.objective_arguments
    texts = []
    for name in algorithm.space:
        if name in values:
            value = values[name]
            texts.append(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}")
    return ", ".join(texts)


def measure(parameters: Parameters, model: DomainOutputs, draw: Draw) -> Iterator[dict]:
    """Yield all metrics of a network or an ensemble, before and after temperature scaling.

    A measure that does not depend on the temperature has rows before scaling only.
    """
    for when, temperature in (("before", 1.0), ("after", model.temperature)):
        test = calibration.scale_outputs(model.sets["test"], temperature)
        columns = {"method": model.model.name, "calibration": when}
        for row in measure_in_domain(test, parameters.bins, draw):
            yield columns | row
        for name in parameters.measures:
            columns = {"method": f"{model.model.name}/{name}", "calibration": when}
            for row in _rows_of_measure(parameters, name, model, when == "after", draw):
                yield columns | row


def _rows_of_measure(
    parameters: Parameters, measure: str, outputs: DomainOutputs, after: bool, draw: Draw
) -> list[dict]:
    """Return the rows of a measure; if it fails, the row with the reason.

    The paper's tables omit a measure that does not exist for an algorithm, and so do the rows.
    """
    facts = record(measure)
    model = outputs.model
    sets = outputs.sets
    name = score_of(measure, model.name, ensemble=len(model.networks) > 1)
    if not name:
        return []
    score = created(parameters, name)
    if after and not is_scaled(score):
        return []
    if absent := lacks(score, measure, outputs):
        if measure in MEASURES:
            return []
        reasons = "; ".join(LACKING[need] for need in absent)
        return [_failed(outputs, f"'{name}' {reasons}")]
    most = getattr(parameters, facts.most) if facts.most else None
    places = {key: spread(len(images), most) for key, images in sets.items()}
    try:
        if "images" in score.info.needs:
            values = score_images(score, outputs, places, after)
        else:
            values = score_outputs(score, outputs, after, density=facts.density)
        weights = {key: draw(key, len(sets[key]))[:, places[key]] for key in ("test", "out")}
        return list(measure_out_domain(values, parameters.keep, weights))
    except Exception as error:  # the other scores go on
        log.warning("%s of %s: %s", measure, model.name, error)
        return [_failed(outputs, f"{type(error).__name__}: {error}")]


def created(parameters: Parameters, name: str) -> Score:
    """Return a score with the parameters' arguments."""
    offered = {"copies": parameters.tta_copies, "seed": parameters.seed}
    return scores.create(name, offered=offered, **parameters.score_arguments.get(name, {}))


def lacks(score: Score, measure: str, outputs: DomainOutputs) -> list[str]:
    """Return what a score needs and a model does not have, as keys of `LACKING`."""
    absent = lacking(score.info.needs, outputs.model, outputs.sets["test"])
    if record(measure).without_dropout and absent == ["images"]:
        return []
    return absent


def _failed(outputs: DomainOutputs, why: str) -> dict:
    return results.row("out", "failed", 1.0, len(outputs.sets["out"]), notes=why)


def is_scaled(score: Score) -> bool:
    """Return whether a score uses only probabilities, which depend on the temperature.

    >>> [is_scaled(scores.create(name)) for name in ("entropy", "jacobian", "energy", "odin")]
    [True, True, False, False]
    """
    if "images" in score.info.needs:
        refused = ImageScore.at_temperatures
        return isinstance(score, ImageScore) and type(score).at_temperatures is not refused
    return score.info.needs == ("logits",)


def score_images(
    score: Score, outputs: DomainOutputs, places: Mapping[str, np.ndarray], after: bool
) -> dict[str, np.ndarray]:
    """Return the scores of some images of each role, for which the images are used again."""
    model = outputs.model
    values = {}
    for key, indices in places.items():
        if key == "validation" and outputs.held_out is not None:
            values[key] = outputs.held_out.scores_of(score.info.name, after=after)
            continue
        images = getattr(outputs.split, key).subset(indices)
        if isinstance(score, ImageScore) and is_scaled(score):
            # both temperatures at once cost no more than one
            before_and_after = score.at_temperatures(model, images, [1.0, outputs.temperature])
            values[key] = before_and_after[int(after)]
        else:
            values[key] = scores.score(score, model, images)
    return values


def score_outputs(
    score: Score, outputs: DomainOutputs, after: bool = False, *, density: bool = False
) -> dict[str, np.ndarray]:
    """Return the scores of the outputs of each role, at the learned temperature if `after`.

    The mixture of Gaussians learns from the training images, as in the authors' code.  Their text
    uses the validation images: fewer for a class than the features have dimensions at `small`.
    An ensemble has, with `density`, the mean density of its networks, of which one is in memory at
    a time.
    """
    networks = outputs.model.networks
    if density and len(networks) > 1:
        densities: dict[str, list[np.ndarray]] = {key: [] for key in SETS}
        for network in networks:
            single = replace(outputs, model=replace(outputs.model, networks=(network,)))
            for key, values in score_outputs(copy(score), single, after).items():
                densities[key].append(values)
        return {key: logsumexp(logs, axis=0) - np.log(len(logs)) for key, logs in densities.items()}
    sets = outputs.sets
    if is_scaled(score):
        temperature = outputs.temperature if after else 1.0
        sets = {key: calibration.scale_outputs(sets[key], temperature) for key in sets}
    if score.info.fits:
        train = outputs.train if "logits" in score.info.needs else outputs.train_features
        score.fit(train, outputs.model.head)
    if outputs.held_out is None or score.info.needs == ("logits",):
        return {key: score.score_samples(sets[key]) for key in sets}
    validation = outputs.held_out.scores_of(score.info.name, after=after)
    others = {key: score.score_samples(sets[key]) for key in ("test", "out")}
    return {"validation": validation} | others


def measure_in_domain(outputs: Outputs, bins: int, draw: Draw) -> Iterator[dict]:
    """Yield the in-domain metrics of test images: accuracy, its top five, ECE and NLL.

    >>> equal = Outputs(np.zeros((10, 10)), np.ones((10, 1)), np.arange(10))
    >>> rows = measure_in_domain(equal, 15, lambda name, images: np.ones((1, images)))
    >>> [(row["value"], *row["bootstrap"]) == (0.5, 0.5) for row in rows if "top" in row["metric"]]
    [True]
    """
    weights = draw("test", len(outputs))
    probabilities = outputs.probabilities
    labels = outputs.labels
    correct = outputs.correct
    among_top = hits(probabilities, labels, top=min(5, outputs.num_classes))
    errors = metrics.weighted_calibration_error(
        probabilities.max(axis=1), correct, weights, bins=bins
    )
    true = probabilities[np.arange(len(labels)), labels]
    losses = metrics.weighted_mean(-np.log(np.maximum(true, 1e-38)), weights)
    for metric, value, replicates in (
        ("accuracy", correct.mean(), metrics.weighted_mean(correct, weights)),
        ("accuracy_top5", among_top.mean(), metrics.weighted_mean(among_top, weights)),
        ("ece", metrics.ece(probabilities, labels, bins=bins), errors),
        ("nll", metrics.nll(probabilities, labels), losses),
    ):
        yield results.row("test", metric, value, len(outputs), replicates)


def measure_out_domain(
    values: Mapping[str, np.ndarray], keep: float, weights: Mapping[str, np.ndarray]
) -> Iterator[dict]:
    """Yield the out-domain metrics of one measure.

    `values` are the scores of `SETS`, `weights` the bootstrap weights [replicates, images] of
    ``test`` and ``out``; the threshold keeps the share `keep` of the validation images.  InAsOut
    and OutAsIn are 1 minus InAsIn and 1 minus OutAsOut.
    """
    known = values["test"]
    unknown = values["out"]
    auroc = metrics.auroc(known, unknown)
    replicates, _ = metrics.weighted_detection(known, unknown, weights["test"], weights["out"])
    yield results.row("out", "auroc", auroc, len(known) + len(unknown), replicates)
    threshold = metrics.rejection_threshold(values["validation"], keep=keep)
    shares = metrics.domain_confusion(known, unknown, threshold)
    inside = metrics.weighted_mean(known >= threshold, weights["test"])
    yield results.row("out", "in_as_in", shares.InAsIn, len(known), inside)
    outside = metrics.weighted_mean(unknown < threshold, weights["out"])
    yield results.row("out", "out_as_out", shares.OutAsOut, len(unknown), outside)


def spread(images: int, most: int | None) -> np.ndarray:
    """Return the places of at most `most` images, evenly spread: sets may be sorted by class.

    >>> spread(10, 4), spread(3, None)
    (array([0, 3, 6, 9]), array([0, 1, 2]))
    """
    if most is None or most >= images:
        return np.arange(images)
    return np.linspace(0, images - 1, most).astype(int)
