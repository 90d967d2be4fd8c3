"""The comparison: all algorithms and published networks with all scores, by all measures.

The method of a row is ``ALGORITHM``, or ``ALGORITHM/SCORE``; `synthesis.across.measures` lists
the measures.  A cell that does not apply is missing.  A published network is a baseline whose
backbone is the network's name.  The probability of "unknown" comes from the score, by Platt's
scaling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from helpers import metrics, scores
from helpers.labelfree import TAUS, Regression, draw_places, fit_regression, gscores
from helpers.metrics.detection_error_rate import DETECTION_ERROR_RATES
from helpers.networks.model import Model
from helpers.outputs import Outputs
from helpers.papers.run import Draw, Part
from helpers.papers.unknown_detection.detectors import train
from helpers.scores.calibration import scale_outputs
from helpers.scores.info import lacking
from helpers.scores.openmax import openmax_answer
from helpers.tables.results import row
from helpers.training import objectives
from synthesis.across.roles import ComparisonRoles, roles

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.papers.unknown_detection.roles import Benchmark
    from helpers.scores import Score
    from synthesis.across.parameters import Parameters

__all__ = ["models", "outputs", "parts", "roles", "rows"]

#: The Gscore evaluator: the best of the paper.
EVALUATOR = "ude_wasserstein"


def parts(parameters: Parameters) -> list[Part]:
    """Return every run and algorithm, then the published networks."""
    for name in parameters.algorithms:
        recipe = parameters.recipe_of(name)
        objectives.create(recipe.objective, **recipe.objective_arguments)

    def part(name: str, data_set: str, backbone: str, run: int = 0, roles: str = "") -> Part:
        columns = {"data_set": data_set, "backbone": backbone, "calibration": "before", "run": run}
        return Part(name, columns, roles)

    trained = [
        part(f"{run}/{algorithm}", parameters.data_set, parameters.network, run)
        for run in range(parameters.runs)
        for algorithm in parameters.algorithms
    ]
    return trained + [
        part(name, id_set, name, roles=id_set) for name, id_set in parameters.published.items()
    ]


def models(parameters: Parameters, part: Part, roles: ComparisonRoles) -> Model:
    """Load a published network or an algorithm's networks, which are trained if there are none."""
    if part.name in parameters.published:
        from helpers.networks import zoo  # here, since timm takes long to import

        network = zoo.load(part.name, device=parameters.device, threads=parameters.recipe().threads)
        return Model("baseline", (network,))
    run = part.identity["run"]
    algorithm = part.name.partition("/")[2]
    recipe = parameters.recipe_of(algorithm)
    members = [(run, 0)]
    if algorithm == "ensemble":
        # one ensemble, as in unknown detection: the baselines of all runs
        members = [(number, 0) for number in range(parameters.members)]
    benchmark = cast("Benchmark", roles)
    networks = tuple(
        train(parameters, benchmark, recipe, run=number, member=member)
        for number, member in members
    )
    return Model(algorithm, networks, parameters.passes if algorithm == "mc_dropout" else 0)


@dataclass(frozen=True)
class ModelOutputs:
    """The images of each role, and the outputs of a model."""

    model: Model
    train: Outputs
    images: Mapping[str, Images | ImageStream]
    outputs: Mapping[str, Outputs]
    near: tuple[str, ...]
    far: tuple[str, ...]
    families: tuple[str, ...]

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of all sets of unknown images that are tested."""
        return (*self.near, *self.far)

    @cached_property
    def correct(self) -> dict[str, np.ndarray]:
        """Which images of each test set are classified correctly, bool."""
        return {name: self.outputs[name].correct for name in ("test", *self.unknown)}

    def applies(self, name: str) -> bool:
        """Return whether a score can be computed for the model."""
        needs = scores.create(name).info.needs
        return not lacking(needs, self.model, self.outputs["test"])

    def score(self, score: Score) -> dict[str, np.ndarray]:
        """Fit a score that `applies` to the training images, and apply it to all images."""
        if score.info.fits:
            score.fit(self.train, self.model.head)
        return {
            name: scores.score(score, self.model, self.images[name], outputs)
            for name, outputs in self.outputs.items()
        }


def outputs(
    parameters: Parameters, part: Part, roles: ComparisonRoles, models: Model
) -> ModelOutputs:
    """Return the outputs of a model on all images; earlier outputs are read from the cache."""
    names = ["train", "external_validation", "test"]
    if roles.held_out is None:
        names.append("validation")
    images = {name: getattr(roles, name) for name in names}
    sets = {**roles.near, **roles.far, **roles.families}
    images |= {name: each.unknown() for name, each in sets.items()}
    every = {name: models.outputs(each) for name, each in images.items()}
    if roles.held_out is not None:
        of_test = every["test"]
        images |= {"validation": roles.validation, "test": roles.test.subset(~roles.held_out)}
        every["validation"] = of_test.subset(roles.held_out)
        every["test"] = of_test.subset(~roles.held_out)
    train = every["train"]
    images["train"] = roles.train.subset(roles.thresholds)
    every["train"] = train.subset(roles.thresholds)
    return ModelOutputs(
        models, train, images, every, (*roles.near,), (*roles.far,), (*roles.families,)
    )


def rows(parameters: Parameters, part: Part, outputs: ModelOutputs, draw: Draw) -> Iterator[dict]:
    """Yield all measures of a model alone, and with every score that applies to it."""
    test = outputs.outputs["test"]
    for metric, value in classifier_rows(test, parameters.bins):
        yield row("test", metric, value, len(test), method=outputs.model.name)
    for name in filter(outputs.applies, parameters.scores):
        yield from score_rows(parameters, outputs, name, draw)


def classifier_rows(test: Outputs, bins: int) -> Iterator[tuple[str, float]]:
    """Yield the measures of the test images that do not depend on a score."""
    labels = test.labels
    yield "accuracy", metrics.accuracy(test.probabilities, labels)
    yield "nll", metrics.nll(scale_outputs(test).probabilities, labels)
    yield "ece", metrics.ece(test.probabilities, labels, bins=bins)
    yield "brier", metrics.brier(test.probabilities, labels)


def score_rows(
    parameters: Parameters, outputs: ModelOutputs, name: str, draw: Draw
) -> Iterator[dict]:
    """Yield the rows of a model with a score."""
    score = scores.create(name, **parameters.score_arguments.get(name, {}))
    values = outputs.score(score)
    every = [
        *_areas(outputs, values, draw),
        *_at_thresholds(outputs, values, parameters.keep),
        *_open_set(outputs, values, parameters.bins),
    ]
    if prediction := gscore_line(values, outputs, parameters.seed):
        line, gscore = prediction  # the value may leave [0, 1]
        images = 2 * len(values["test"])
        every.append(row("union", "predicted_auroc", line.predict([gscore])[0], images))
    for each in every:
        yield {"method": f"{outputs.model.name}/{name}"} | each


def _areas(outputs: ModelOutputs, values: Mapping[str, np.ndarray], draw: Draw) -> Iterator[dict]:
    """Yield AURC, AUROC and false positive rate for the ID test images and for each group."""

    def join(arrays: Mapping[str, np.ndarray], names) -> np.ndarray:
        return np.concatenate([arrays[name] for name in names])

    def weights(names) -> np.ndarray:
        return np.concatenate([draw(name, len(values[name])) for name in names], axis=1)

    joint = {"near": outputs.near, "far": outputs.far, "union": outputs.unknown}
    groups = {group: names for group, names in joint.items() if names}
    groups |= {name: (name,) for name in outputs.unknown}
    replicates: Any
    for group, names in {"test": (), **groups}.items():
        with_test = ("test", *names)
        confidence = join(values, with_test)
        correct = join(outputs.correct, with_test)
        replicates = ()
        if group in ("test", "union"):
            replicates = metrics.weighted_aurc(confidence, correct, weights(with_test))
        yield row(group, "aurc", metrics.aurc(confidence, correct), len(correct), replicates)
    test = values["test"]
    for group, names in groups.items():
        unknown = join(values, names)
        areas: Any = ()
        rates: Any = ()
        if group != "union":
            drawn = (weights(["test"]), weights(names))
            areas, rates = metrics.weighted_detection(test, unknown, *drawn)
        images = len(test) + len(unknown)
        yield row(group, "auroc", metrics.auroc(test, unknown), images, areas)
        yield row(group, "fpr_at_tpr", metrics.fpr_at_tpr(test, unknown), images, rates)


def _at_thresholds(
    outputs: ModelOutputs, values: Mapping[str, np.ndarray], share: float
) -> Iterator[dict]:
    """Yield detection error rates (means over test sets) and the confusion with near images."""
    correct = values["train"][outputs.outputs["train"].correct]
    for metric, keep in DETECTION_ERROR_RATES.items():
        threshold = metrics.rejection_threshold(correct, keep=keep)
        rates = [
            metrics.detection_error_rate(values[name], correct, threshold)
            for name, correct in outputs.correct.items()
        ]
        images = sum(map(len, outputs.correct.values()))
        yield row("average", metric, float(np.mean(rates)), images)
    if outputs.near:
        threshold = metrics.rejection_threshold(values["validation"], keep=share)
        near = np.concatenate([values[name] for name in outputs.near])
        shares = metrics.domain_confusion(values["test"], near, threshold)
        yield row("near", "in_as_in", shares.InAsIn, len(values["test"]))
        yield row("near", "out_as_out", shares.OutAsOut, len(near))


def _open_set(outputs: ModelOutputs, values: Mapping[str, np.ndarray], bins: int) -> Iterator[dict]:
    """Yield calibration measures of K + 1 probabilities; the last is for "unknown"."""
    if not outputs.near:
        return
    names = ("test", *outputs.near)
    shown = np.concatenate([values[name] for name in names])
    unknown = unknown_probability(shown, values["validation"], values["external_validation"])
    plain = np.concatenate([outputs.outputs[name].probabilities for name in names])
    labels = np.concatenate([outputs.outputs[name].labels for name in names])
    known = plain * (1 - unknown)[:, None]
    answers = openmax_answer(np.column_stack([known, unknown]))
    brier = metrics.open_set_brier(known, unknown, labels)
    ece = metrics.open_set_ece(known, unknown, labels, answers, bins=bins)
    yield row("near", "open_set_brier", brier, len(labels))
    yield row("near", "open_set_ece", ece, len(labels))


def unknown_probability(values, known, unknown) -> np.ndarray:
    """Return the probability of "unknown" by Platt's scaling of a score.

    `known` and `unknown` are scores of held-out images; both groups have the same weight.
    """
    known, unknown = (np.asarray(group, dtype=np.float64) for group in (known, unknown))
    both = np.concatenate([known, unknown])
    low, centre, high = np.quantile(both, [0.25, 0.5, 0.75])  # a distance may have far outliers
    scale = high - low or both.std() or 1.0
    standard = (both - centre) / scale
    counts = np.array([len(known), len(unknown)])
    wanted = np.repeat([(counts[0] + 1) / (counts[0] + 2), 1 / (counts[1] + 2)], counts)
    weights = np.repeat(0.5 / counts, counts)

    def loss(line: np.ndarray) -> tuple[float, np.ndarray]:
        exponent = line[0] * standard + line[1]
        value = -(weights * (wanted * log_expit(exponent) + (1 - wanted) * log_expit(-exponent)))
        slope = weights * (expit(exponent) - wanted)
        return value.sum(), np.array([slope @ standard, slope.sum()])

    slope, offset = minimize(loss, [1.0, 0.0], jac=True, bounds=[(0, None), (None, None)]).x
    return expit(-(slope * (np.asarray(values, dtype=np.float64) - centre) / scale + offset))


def gscore_line(
    values: Mapping[str, np.ndarray], outputs: ModelOutputs, seed: int
) -> tuple[Regression, float] | None:
    """Return the line that predicts an AUROC without labels, and the Gscore of the test images."""
    known = values["validation"]
    unknown = np.concatenate([values[name] for name in outputs.unknown])
    count = min(len(values["test"]), len(unknown))
    chosen = unknown[draw_places("union", len(unknown), count, seed)]
    mixtures = [np.concatenate([known, values[name]]) for name in outputs.families]
    mixtures.append(np.concatenate([values["test"], chosen]))
    if any(np.ptp(mixture) == 0 for mixture in (known, *mixtures)):
        return None
    *learnt, wanted = (gscores(each, [EVALUATOR], validation=known)[EVALUATOR] for each in mixtures)
    if not np.ptp(learnt, axis=0).any():
        return None
    truths = [metrics.auroc(known, values[name]) for name in outputs.families]
    line = fit_regression(learnt, truths, TAUS)
    return line, float(wanted[TAUS == line.tau][0])
