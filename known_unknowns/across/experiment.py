"""The comparison: all algorithms and published networks with all scores, by all measures.

A number of an algorithm alone has its name for a method, one of a score ``ALGORITHM/SCORE``; what
can be compared, `known_unknowns.across.measures.MEASURES` lists.  A cell that does not apply is
not there.  A published network is a baseline with the network's name for a backbone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from helpers import metrics, scores
from helpers.metrics.thresholds import DETECTION_ERROR_RATES
from helpers.networks.model import Model
from helpers.outputs import Outputs
from helpers.papers.run import Draw, Part
from helpers.papers.unknown_detection.detectors import train
from helpers.report.results import row
from helpers.scores import openset
from helpers.training import objectives
from known_unknowns.across.model_outputs import ModelOutputs, logarithms
from known_unknowns.across.predictions import gscore_line, unknown_probability
from known_unknowns.across.roles import ComparisonRoles, roles

if TYPE_CHECKING:
    from helpers.training.fitted import Fitted
    from known_unknowns.across.parameters import Parameters

__all__ = ["TEACHER", "VARIANTS", "models", "outputs", "parts", "roles", "rows"]

VARIANTS = {
    "primary": "The probability of “unknown” is that of the score, by Platt's scaling.",
    "paper": "It is that of the thresholded softmax (msp) or of OpenMax itself (openmax).",
    "scaled": "The logits are divided by a temperature first, fitted to the validation images.",
}
"""Ways to probabilities, and what is different in each.

The last is the axis of Lyu et al. 2022; its rows have the calibration "after".  Scores are none of
its business: those of the classifier's own probabilities would be others of another temperature.
"""

SCALED = {"variant": "scaled", "calibration": "after"}
"""Columns of the rows of that variant."""

TEACHER = 1
"""The member of the run's ensemble that a distilled network learns from; not the baseline, which
has the same weights in the beginning."""


def parts(parameters: Parameters) -> list[Part]:
    """Return every run and algorithm, then the published networks."""
    for name in parameters.algorithms:
        recipe = parameters.recipe_of(name)
        objectives.create(recipe.objective, **recipe.objective_arguments)
    for name, arguments in parameters.score_arguments.items():
        scores.create(name, **arguments)

    def part(name: str, data_set: str, backbone: str, run: int = 0, roles: str = "") -> Part:
        columns = {"data_set": data_set, "backbone": backbone, "calibration": "before", "run": run}
        return Part(name, columns, roles)

    own = parameters.data_set, parameters.network
    trained = [
        part(f"{run}/{algorithm}", *own, run)
        for run in range(parameters.runs)
        for algorithm in parameters.algorithms
    ]
    given = [
        part(name, id_set, name, roles=id_set) for name, id_set in parameters.published.items()
    ]
    return trained + given


def models(parameters: Parameters, part: Part, roles: ComparisonRoles) -> Model:
    """Load a published network, or train an algorithm's networks if the cache lacks them."""
    if part.name in parameters.published:
        from helpers.networks import zoo  # here, since timm takes long to import

        options = {"device": parameters.device, "threads": parameters.recipe().threads}
        return Model("baseline", (zoo.load(part.name, **options),))
    run, algorithm = part.identity["run"], part.name.partition("/")[2]

    def network(name: str, member: int, teacher: Fitted | None = None) -> Fitted:
        recipe = parameters.recipe_of(name)
        return train(parameters, roles, recipe, run=run, member=member, teacher=teacher)

    teacher = network("baseline", TEACHER) if algorithm == "distillation" else None
    members = range(parameters.members if algorithm == "ensemble" else 1)
    networks = tuple(network(algorithm, member, teacher) for member in members)
    return Model(algorithm, networks, parameters.passes if algorithm == "mc_dropout" else 0)


def outputs(
    parameters: Parameters, part: Part, roles: ComparisonRoles, models: Model
) -> ModelOutputs:
    """Return the outputs of a model on all images; earlier outputs come from the cache."""
    names = ("train", "validation", "external_validation", "test")
    images = {name: getattr(roles, name) for name in names}
    unknown = roles.near | roles.far | roles.families
    images |= {name: one.unknown() for name, one in unknown.items()}
    said = {name: models.outputs(one) for name, one in images.items()}
    train = said["train"]
    images["train"] = roles.train.subset(roles.thresholds)
    said["train"] = train.subset(roles.thresholds)
    groups = map(tuple, (roles.near, roles.far, roles.families))
    return ModelOutputs(models, train, images, said, *groups)


def rows(parameters: Parameters, part: Part, outputs: ModelOutputs, draw: Draw) -> Iterator[dict]:
    """Yield all measures of a model alone, and with every score that applies to it."""
    yield from classifier_rows(parameters, outputs)
    for name in filter(outputs.applies, parameters.scores):
        yield from score_rows(parameters, outputs, name, draw)


def classifier_rows(parameters: Parameters, found: ModelOutputs) -> Iterator[dict]:
    """Yield the rows of a model alone, whatever the score."""
    test = found.outputs["test"]
    chances, labels = test.probabilities, test.labels
    logits, scaled = logarithms(test), found.scaled(test)
    own, after = {"method": found.model.name}, SCALED | {"method": found.model.name}
    for metric, value, columns in (
        ("accuracy", metrics.accuracy(chances, labels), own),
        ("nll", metrics.nll(Outputs(logits, test.features, labels).probabilities, labels), own),
        ("ece", metrics.ece(chances, labels, bins=parameters.bins), own),
        ("brier", metrics.brier(chances, labels), own),
        ("parameters", found.model.parameters, own),
        ("passes", found.model.cost, own),
        ("temperature", found.temperature, after),
        ("nll", metrics.nll(scaled, labels), after),
        ("ece", metrics.ece(scaled, labels, bins=parameters.bins), after),
        ("brier", metrics.brier(scaled, labels), after),
    ):
        yield row("test", metric, value, len(test), **columns)


def score_rows(
    parameters: Parameters, found: ModelOutputs, name: str, draw: Draw
) -> Iterator[dict]:
    """Yield the rows of a model with a score."""
    score = scores.create(name, **parameters.score_arguments.get(name, {}))
    values, method = found.score(score), f"{found.model.name}/{name}"
    unknown = _platt(found, values)
    for one in (
        *_areas(found, values, draw),
        *_errors(found, values),
        *_confusion(found, values, parameters.keep),
        *_open_set(found, lambda: _with_unknown(found, unknown), parameters.bins),
        row("test", "passes", found.cost(score), len(values["test"])),
        *_predicted_area(found, values, parameters.seed),
    ):
        yield {"method": method} | one
    scaled = _open_set(found, lambda: _with_unknown(found, unknown, found.scaled), parameters.bins)
    for one in scaled:
        yield {"method": method} | one | SCALED
    if name in AS_PRINTED:
        printed = AS_PRINTED[name]
        for one in _open_set(found, lambda: printed(found, parameters.keep), parameters.bins):
            yield {"method": method, "variant": "paper"} | one


def _areas(found: ModelOutputs, values: Mapping[str, np.ndarray], draw: Draw) -> Iterator[dict]:
    """Yield AURC, AUROC and false positive rate: of the ID test images and of each group."""

    def join(arrays: Mapping[str, np.ndarray], names) -> np.ndarray:
        return np.concatenate([arrays[name] for name in names])

    def weights(names) -> np.ndarray:
        return np.concatenate([draw(name, len(values[name])) for name in names], axis=1)

    groups = {"near": found.near, "far": found.far, "union": found.unknown}
    groups = {name: one for name, one in groups.items() if one}
    groups |= {name: [name] for name in found.unknown}
    for group, unknown in ({"test": []} | groups).items():
        names, replicates = ["test", *unknown], ()
        confidence, correct = join(values, names), join(found.correct, names)
        if group in ("test", "union"):
            replicates = metrics.weighted_aurc(confidence, correct, weights(names))
        yield row(group, "aurc", metrics.aurc(confidence, correct), len(correct), replicates)
    test = values["test"]
    for group, names in groups.items():
        unknown, replicates = join(values, names), ()
        if group in ("near", "far"):
            replicates = metrics.weighted_auroc(test, unknown, weights(["test"]), weights(names))
        images = len(test) + len(unknown)
        yield row(group, "auroc", metrics.auroc(test, unknown), images, replicates)
        yield row(group, "fpr_at_tpr", metrics.fpr_at_tpr(test, unknown), images)


def _errors(found: ModelOutputs, values: Mapping[str, np.ndarray]) -> Iterator[dict]:
    """Yield the detection error rates, means over the test sets."""
    right = values["train"][found.outputs["train"].correct]
    for metric, keep in DETECTION_ERROR_RATES.items():
        threshold = metrics.rejection_threshold(right, keep=keep)
        rates = [
            metrics.detection_error_rate(values[name], correct, threshold)
            for name, correct in found.correct.items()
        ]
        yield row("average", metric, np.mean(rates), sum(map(len, found.correct.values())))


def _confusion(
    found: ModelOutputs, values: Mapping[str, np.ndarray], keep: float
) -> Iterator[dict]:
    """Yield the domain confusion of test and near images at a validation threshold."""
    if not found.near:
        return
    threshold = metrics.rejection_threshold(values["validation"], keep=keep)
    near = np.concatenate([values[name] for name in found.near])
    shares = metrics.domain_confusion(values["test"], near, threshold)
    yield row("near", "in_as_in", shares.InAsIn, len(values["test"]))
    yield row("near", "out_as_out", shares.OutAsOut, len(near))


def _predicted_area(
    found: ModelOutputs, values: Mapping[str, np.ndarray], seed: int
) -> Iterator[dict]:
    """Yield the AUROC that a Gscore predicts, which may lie outside [0, 1], if there is a line."""
    if prediction := gscore_line(values, found, seed):
        line, gscore = prediction
        (value,) = line.predict([gscore])
        yield row("union", "predicted_auroc", value, 2 * len(values["test"]))


def _join(found: ModelOutputs, values: Callable[[Outputs], np.ndarray]) -> np.ndarray:
    """Return a value of the test images and of the near ones, about as many: K + 1 classes."""
    return np.concatenate([values(found.outputs[name]) for name in ("test", *found.near)])


def _open_set(
    found: ModelOutputs, answer: Callable[[], tuple[np.ndarray, np.ndarray]], bins: int
) -> Iterator[dict]:
    """Yield how well K + 1 probabilities are calibrated, of which the last is "unknown"."""
    if not found.near:
        return
    (whole, answers), labels = answer(), _join(found, lambda one: one.labels)
    known, unknown = whole[:, :-1], whole[:, -1]
    error = metrics.open_set_brier(known, unknown, labels)
    yield row("near", "open_set_brier", error, len(labels))
    error = metrics.open_set_ece(known, unknown, labels, answers, bins=bins)
    yield row("near", "open_set_ece", error, len(labels))


def _platt(found: ModelOutputs, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the probability of "unknown" by a score, of the test images and of the near ones."""
    shown = np.concatenate([values[name] for name in ("test", *found.near)])
    return unknown_probability(shown, values["validation"], values["external_validation"])


def _with_unknown(
    found: ModelOutputs,
    unknown: np.ndarray,
    chances: Callable[[Outputs], np.ndarray] = lambda one: one.probabilities,
) -> tuple[np.ndarray, np.ndarray]:
    """Return K + 1 probabilities, the last of which is given, and the answers."""
    whole = np.column_stack([_join(found, chances) * (1 - unknown)[:, None], unknown])
    return whole, openset.openmax_answer(whole)


def _threshold(found: ModelOutputs, keep: float) -> tuple[np.ndarray, np.ndarray]:
    """Return K + 1 values and answers of the thresholded softmax."""
    held = found.outputs["validation"].probabilities.max(axis=1)
    chances = _join(found, lambda one: one.probabilities)
    answers = openset.open_set_answer(chances, metrics.rejection_threshold(held, keep=keep))
    return np.column_stack([chances, openset.unknown_probability(chances)]), answers


def _openmax(found: ModelOutputs, keep: float) -> tuple[np.ndarray, np.ndarray]:
    """Return K + 1 probabilities and answers of OpenMax, which has no threshold."""
    model = openset.OpenMax().fit(found.train.logits, found.train.labels)
    whole = model.probabilities(_join(found, lambda one: one.logits))
    return whole, openset.openmax_answer(whole)


AS_PRINTED = {"msp": _threshold, "openmax": _openmax}
"""The two rules of the chapter on open sets, by the scores that they are."""
