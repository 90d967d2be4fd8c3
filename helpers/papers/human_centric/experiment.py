"""Experiment of *Rethinking Out-of-Distribution Detection From a Human-Centric Perspective*.

Every score on every network, by the detection error rate (DER) of thresholds that keep 95 % and
99 % of the training images that the network classifies correctly.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from helpers import metrics, scores
from helpers.checks import known_name
from helpers.data import Images, ImageStream
from helpers.files import data_root
from helpers.networks import zoo_records
from helpers.networks.model import Model
from helpers.papers.human_centric import parameters as names
from helpers.papers.human_centric.parameters import ModelName, Parameters
from helpers.papers.human_centric.roles import RoleOutputs, ShiftRoles, outputs_with, roles
from helpers.papers.run import Draw, Part
from helpers.scores.info import LACKING
from helpers.tables import results
from helpers.training.fitted import fit

__all__ = ["models", "outputs", "parts", "roles", "rows"]

log = logging.getLogger(__name__)
_OF_LINEAR_HEADS = ("gradnorm",)  # its formula is the norm of that layer's gradient


@dataclass(frozen=True)
class ScoreValues:
    """Thresholds of one score by metric, and its values on each test set."""

    thresholds: dict[str, float]
    sets: dict[str, np.ndarray]

    @classmethod
    def of(cls, reference: np.ndarray, sets: Mapping, keeps: Mapping[str, float]) -> Self:
        """Return values with thresholds that keep these shares of the scores `reference` [N]."""
        given = {name: metrics.rejection_threshold(reference, keep=k) for name, k in keeps.items()}
        return cls(given, dict(sets))


def parts(parameters: Parameters) -> list[Part]:
    """Return every network and run; networks without training, and teachers, come first."""
    for given in (parameters.score_arguments, *parameters.score_arguments_of.values()):
        for method, arguments in given.items():  # now, and not hours later
            scores.create(method, **arguments)
    main, trains = parameters.data_set, {name: parameters.trains(name) for name in parameters.names}
    waits = {name for name in trains if trains[name]} - {*parameters.teachers.values()}
    # parts of one ID set follow each other, and share its roles
    grid = [(_data_set_of(name, parameters), name) for name in trains]
    grid.sort(key=lambda pair: (pair[0] != main, pair[0], pair[1] in waits))
    return [
        Part(f"{name}/{run}", {"data_set": id_set, "backbone": name, "run": run}, roles=id_set)
        for id_set, name in grid
        for run in range(parameters.runs if trains[name] else 1)
    ]


def _data_set_of(name: str, parameters: Parameters) -> str:
    """Return the ID set of a network; for a published network its record has the ID set."""
    main, called = parameters.data_set, parameters.pretrained.get(name, name)
    if parameters.trains(name) or called not in zoo_records.records():
        return main
    record = zoo_records.find(called)
    if main in record.id_sets:
        return main
    return known_name(f"data set of {name}", record.data_set, [main, *parameters.other_data_sets])


def models(parameters: Parameters, part: Part, roles: ShiftRoles) -> Model:
    """Train a network, or load it from the cache, the zoo or ``DATA_ROOT/weights``.

    The file of the weights is ``NAME.safetensors`` or ``NAME.pth``.
    """
    name = part.identity["backbone"]
    network = _network(parameters, name, part.identity["run"], roles.train)
    # a network that was trained here has the classes of its training images
    class_names = getattr(network, "class_names", roles.train.class_names)
    return Model(name, (network,), class_names=class_names)


def _network(parameters: Parameters, name: str, run: int, train: Images | ImageStream):
    """Return a network: trained, after its teacher and its initial network, or pretrained."""
    if not parameters.trains(name):
        return _pretrained(parameters, name)
    teacher, architecture = parameters.teachers.get(name), ModelName.parse(name).architecture
    scratch = architecture in parameters.architectures
    return fit(
        train,
        parameters.recipe_of(name),
        teacher=_network(parameters, teacher, run, train) if teacher else None,
        initial=None if scratch else _pretrained(parameters, architecture),
        seed=parameters.seed * 1000 + run,
        device=parameters.device,
    )


def _pretrained(parameters: Parameters, name: str):
    files = [data_root() / "weights" / f"{name}{suffix}" for suffix in (".safetensors", ".pth")]
    weights = next((path for path in files if path.is_file()), None)
    called = parameters.pretrained.get(name, name)
    if weights is None and list(parameters.pretrained.values()).count(called) > 1 and "+" in name:
        # timm's weights belong to the plain network, which has a separate name
        raise FileNotFoundError(
            f"weights of '{name}': not found. Looked for {' or '.join(map(str, files))}; timm "
            f"has only those of '{called}'"
        )
    from helpers.networks import zoo  # here, since timm takes long to import

    options = {"device": parameters.device, "threads": parameters.recipe().threads}
    return zoo.load(called, weights=weights, download=parameters.download, **options)


def outputs(
    parameters: Parameters, part: Part, roles: ShiftRoles, models: Model
) -> dict[str, RoleOutputs]:
    """Return the outputs on all images by variant: ``primary`` and ``all classes``.

    The second variant exists if the network has other classes than the data set.
    """
    answers = {"primary": roles.class_names}
    if models.class_names != roles.class_names:
        answers[names.ALL_CLASSES] = models.class_names
    return {variant: outputs_with(models, roles, names) for variant, names in answers.items()}


def apply_score(outputs: RoleOutputs, method: str, parameters: Parameters) -> ScoreValues:
    """Fit a score to the training images, and return its thresholds and values.

    The correctly classified training images give the thresholds (Algorithm 1 of the paper).
    """
    train = outputs.train
    score = scores.create(method, **parameters.score_arguments.get(method, {}))
    score.fit(train, outputs.head)
    if not train.correct.any():
        raise ValueError("train: no image is classified correctly, which thresholds are taken from")
    right = score.score_samples(train)[train.correct]
    tested = {name: score.score_samples(images) for name, images in outputs.sets.items()}
    return ScoreValues.of(right, tested, parameters.keeps)


def apply_fresh_threshold(
    outputs: RoleOutputs, values: ScoreValues, parameters: Parameters
) -> tuple[ScoreValues, dict[str, np.ndarray]]:
    """Return values with thresholds from half of the test images, and the images to evaluate.

    Images of this half and their corrupted versions are not evaluated.  Indices by set.
    """
    drawn = np.random.default_rng(parameters.seed).permutation(len(outputs.test))
    judged, reference = drawn[::2], drawn[1::2]
    right = reference[outputs.test.correct[reference]]
    kept = {
        name: np.flatnonzero((base != "test") | np.isin(indices, judged))
        for name, (base, _, indices) in outputs.sources.items()
    }
    return ScoreValues.of(values.sets["test"][right], values.sets, parameters.keeps), kept


def rows(
    parameters: Parameters, part: Part, outputs: Mapping[str, RoleOutputs], draw: Draw
) -> Iterator[dict]:
    """Yield the rows of a network: its accuracies, and each score in all variants."""
    arguments = parameters.score_arguments_of.get(part.identity["data_set"], {})
    parameters = parameters.replace(score_arguments=parameters.score_arguments | arguments)
    for answering, every in outputs.items():
        every = replace(every, kinds=parameters.average_weights)
        # an image is drawn with all its versions, which are no independent cases
        weights = {
            name: draw(base, images)[:, chosen]
            for name, (base, images, chosen) in every.sources.items()
        }
        averaged = every.averaged()
        variants = {answering: averaged}
        if answering == "primary":
            if every.beside:
                variants[names.EVERY_SET] = every
            variants[names.FRESH] = averaged
        for variant, outputs_of in variants.items():
            for row in _rows_of_network(outputs_of, weights):
                yield {"variant": variant, "method": "network"} | row
        for method in parameters.methods:
            for row in _rows_of_score(variants, method, parameters, weights):
                yield {"method": method} | row


def _rows_of_network(outputs: RoleOutputs, weights: Mapping[str, np.ndarray]) -> Iterator[dict]:
    yield results.row("test", "parameters", outputs.weights, len(outputs.test))
    for name, each in ({"test": outputs.test} | outputs.input_shifted).items():
        drawn = metrics.weighted_mean(each.correct, weights[name])
        yield results.row(name, "accuracy", each.correct.mean(), len(each), drawn)


def _rows_of_score(
    variants: Mapping[str, RoleOutputs], method: str, parameters: Parameters, weights
) -> list[dict]:
    """Return the rows of a score in all variants, for which it is fitted once.

    If the score does not apply or fails, the rows hold the reason.
    """

    def failed(notes: str) -> list[dict]:
        return [
            {"variant": variant} | results.row("test", "failed", 1.0, len(o.test), notes=notes)
            for variant, o in variants.items()
        ]

    heads = [outputs.head for outputs in variants.values()]
    needs = scores.create(method).info.needs
    if None in heads and ("head" in needs or method in _OF_LINEAR_HEADS):
        return failed(f"'{method}' {LACKING['head']}")
    try:
        widest = max(variants.values(), key=lambda outputs: len(outputs.sets))
        values, rows = apply_score(widest, method, parameters), []
        for variant, outputs in variants.items():
            if variant == names.FRESH:
                fresh, judged = apply_fresh_threshold(outputs, values, parameters)
                each = [*error_rates(outputs, fresh, weights, judged)]
            else:
                drawn = None if variant == names.EVERY_SET else weights
                each = [*error_rates(outputs, values, weights), *ranking(outputs, values, drawn)]
            rows += [{"variant": variant} | row for row in each]
        return rows
    except Exception as error:  # of one score; the other scores go on
        log.warning("score %s: %s", method, error)
        return failed(f"{type(error).__name__}: {error}")


def error_rates(
    outputs: RoleOutputs,
    values: ScoreValues,
    weights: Mapping[str, np.ndarray],
    judged: Mapping[str, np.ndarray] | None = None,
) -> Iterator[dict]:
    """Yield DER on each set and over sets; the mean over all sets has replicates.

    Only the images `judged` count, indices by set; by default all.  On sets of known classes,
    ``der99_accepted`` is the share of accepted errors; the remaining DER is incorrect rejections.
    """
    for metric, threshold in values.thresholds.items():
        rates = {}
        for name, every in outputs.sets.items():
            chosen = judged[name] if judged else slice(None)
            right, score = every.correct[chosen], values.sets[name][chosen]
            wrong, drawn = (score >= threshold) != right, weights[name][:, chosen]
            rate = metrics.detection_error_rate(score, right, threshold)
            rates[name] = rate, metrics.weighted_mean(wrong, drawn), len(right)
            if name not in outputs.label_shifted:
                accepted = np.mean(wrong & ~right)
                yield results.row(name, f"{metric}_accepted", accepted, len(right))
        yield from _rows_of_metric(metric, rates, outputs)


def ranking(
    outputs: RoleOutputs, values: ScoreValues, weights: Mapping[str, np.ndarray] | None
) -> Iterator[dict]:
    """Yield AUROC and FPR of label-shifted sets, against all and correct test images.

    The mean over the label-shifted sets has replicates, if there are `weights`.
    """
    every = np.arange(len(outputs.test))
    for suffix, chosen in (("", every), ("_correct", np.flatnonzero(outputs.test.correct))):
        known = values.sets["test"][chosen]
        for metric in ("auroc", "fpr_at_tpr"):
            weighted, rates = getattr(metrics, f"weighted_{metric}"), {}
            for name, each in outputs.label_shifted.items():
                pair, replicates = (known, values.sets[name]), ()
                if weights is not None:
                    replicates = weighted(*pair, weights["test"][:, chosen], weights[name])
                rate = getattr(metrics, metric)(*pair)
                rates[name] = rate, replicates, len(chosen) + len(each)
            yield from _rows_of_metric(metric + suffix, rates, outputs)


def _rows_of_metric(metric: str, rates: Mapping, outputs: RoleOutputs) -> Iterator[dict]:
    """Yield a metric of each set, and its means over the groups of these sets.

    `rates` are values, replicates and numbers of images by set.  Only the group with intervals in
    claims and figures has replicates.
    """
    resampled, shares = "average" if "test" in rates else "label-shifted", outputs.shares
    for name, (rate, _, images) in rates.items():
        yield results.row(name, metric, rate, images)
    for group, sets in outputs.groups.items():
        if sets and rates.keys() >= {*sets}:
            values, replicates, images = zip(*(rates[name] for name in sets), strict=True)
            counts = [shares.get(name, 1.0) for name in sets]
            drawn = np.average(replicates, axis=0, weights=counts) if group == resampled else ()
            mean = np.average(values, weights=counts)
            yield results.row(group, metric, mean, sum(images), drawn)
