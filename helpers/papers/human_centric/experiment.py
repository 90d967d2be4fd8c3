"""Experiment of *Rethinking Out-of-Distribution Detection From a Human-Centric Perspective*.

Every score on every network, by the detection error rate (DER) of thresholds that keep 95 % and
99 % of the training images that the network classifies correctly.
"""

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np

from helpers import metrics, scores
from helpers.checks import known_name
from helpers.data import Images, ImageStream
from helpers.files import data_root, project_root
from helpers.metrics.detection_error_rate import DETECTION_ERROR_RATES
from helpers.networks import zoo_records
from helpers.networks.model import Model
from helpers.papers.human_centric.parameters import EVERY_SET, FRESH, ModelName, Parameters
from helpers.papers.human_centric.roles import RoleOutputs, ShiftRoles, outputs_with, roles
from helpers.papers.run import ALONE, Draw, Part
from helpers.scores.info import LACKING
from helpers.tables import results
from helpers.training.fitted import fit, load_exported

__all__ = ["models", "outputs", "parts", "roles", "rows"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScoreValues:
    """Thresholds of one score by metric, and its values on each test set."""

    thresholds: dict[str, float]
    sets: dict[str, np.ndarray]

    @classmethod
    def of(cls, reference: np.ndarray, sets: Mapping) -> Self:
        """Return values with the thresholds of each DER from the scores `reference` [N]."""
        thresholds = {
            name: metrics.rejection_threshold(reference, keep=keep)
            for name, keep in DETECTION_ERROR_RATES.items()
        }
        return cls(thresholds, dict(sets))


def parts(parameters: Parameters) -> list[Part]:
    """Return every network and run; networks without training, and teachers, come first."""
    main = parameters.data_set
    trained = {name for name in parameters.names if parameters.trains(name)}
    waits = trained - {*parameters.teachers.values()}
    # parts of one ID set follow each other, and share its roles
    grid = [(_data_set_of(name, parameters), name) for name in parameters.names]
    grid.sort(key=lambda pair: (pair[0] != main, pair[0], pair[1] in waits))
    all_parts = []
    for id_set, name in grid:
        for run in range(parameters.runs_of(name)):
            identity = {"data_set": id_set, "backbone": name, "run": run}
            networks = (ALONE,) if name in trained else ()
            teacher = parameters.teachers.get(name)
            after = f"{teacher}/{run}" if teacher in trained else ""
            all_parts.append(Part(f"{name}/{run}", identity, id_set, networks, after))
    return all_parts


def _data_set_of(name: str, parameters: Parameters) -> str:
    """Return the ID set of a network; for a published network its record has the ID set."""
    main = parameters.data_set
    title = parameters.pretrained.get(name, name)
    if parameters.trains(name) or title not in zoo_records.records():
        return main
    record = zoo_records.find(title)
    if main in record.id_sets:
        return main
    return known_name(f"data set of {name}", record.data_set, [main, *parameters.other_data_sets])


def models(parameters: Parameters, part: Part, roles: ShiftRoles) -> Model:
    """Train a network, or load it from the cache, the zoo, ``results`` or ``DATA_ROOT/weights``.

    The file of the weights is ``NAME.safetensors`` or ``NAME.pth``.
    """
    name = part.identity["backbone"]
    network = _network(parameters, name, part.identity["run"], roles.train)
    # a network that was trained here has the classes of its training images
    class_names = getattr(network, "class_names", roles.train.class_names)
    return Model(name, (network,), class_names=class_names)


def _network(parameters: Parameters, name: str, run: int, train: Images | ImageStream):
    """Return a network: exported, pretrained, or trained after teacher and initial network."""
    if name in parameters.exported:
        path = project_root() / "results" / parameters.exported[name][run]
        return load_exported(path, train.class_names, device=parameters.device)
    if not parameters.trains(name):
        return _pretrained(parameters, name)
    teacher = parameters.teachers.get(name)
    architecture = ModelName.parse(name).architecture
    from_scratch = architecture in parameters.architectures
    return fit(
        train,
        parameters.recipe_of(name),
        teacher=_network(parameters, teacher, run, train) if teacher else None,
        initial=None if from_scratch else _pretrained(parameters, architecture),
        seed=parameters.seed * 1000 + run,
        device=parameters.device,
    )


def _pretrained(parameters: Parameters, name: str):
    files = [data_root() / "weights" / f"{name}{suffix}" for suffix in (".safetensors", ".pth")]
    weights = next((path for path in files if path.is_file()), None)
    title = parameters.pretrained.get(name, name)
    shared = list(parameters.pretrained.values()).count(title) > 1
    if weights is None and shared and "+" in name:
        # timm's weights belong to the plain network, which has a separate name
        raise FileNotFoundError(
            f"weights of '{name}': {' or '.join(map(str, files))} expected, found neither; the "
            f"weights of '{title}' in timm belong to another network"
        )
    from helpers.networks import zoo  # here, since timm takes long to import

    return zoo.load(
        title,
        weights=weights,
        download=parameters.download,
        device=parameters.device,
        threads=parameters.recipe().threads,
    )


def outputs(parameters: Parameters, part: Part, roles: ShiftRoles, models: Model) -> RoleOutputs:
    """Return the outputs on all images, of the data set's classes alone."""
    return outputs_with(models, roles, roles.class_names)


def apply_score(outputs: RoleOutputs, method: str, parameters: Parameters) -> ScoreValues:
    """Fit a score to the training images, and return its thresholds and values.

    The correctly classified training images give the thresholds (Algorithm 1 of the paper).
    """
    train = outputs.train
    score = scores.create(method, **parameters.score_arguments.get(method, {}))
    score.fit(train, outputs.head)
    if not train.correct.any():
        raise ValueError(
            "train: at least one correctly classified image expected, for the thresholds; got none"
        )
    reference = score.score_samples(train)[train.correct]
    sets = {name: score.score_samples(images) for name, images in outputs.sets.items()}
    return ScoreValues.of(reference, sets)


def apply_fresh_threshold(
    outputs: RoleOutputs, values: ScoreValues, parameters: Parameters
) -> tuple[ScoreValues, dict[str, np.ndarray]]:
    """Return values with thresholds from half of the test images, and the images to evaluate.

    Images of this half and their corrupted versions are not evaluated.  Indices by set.
    """
    order = np.random.default_rng(parameters.seed).permutation(len(outputs.test))
    reference = order[1::2]
    evaluated = outputs.sources["test"][2][order[::2]]  # indices in the whole test set
    correct = reference[outputs.test.correct[reference]]
    indices = {}
    for name, (base, _, indices_in_base) in outputs.sources.items():
        selected = (base != "test") | np.isin(indices_in_base, evaluated)
        indices[name] = np.flatnonzero(selected)
    fresh = ScoreValues.of(values.sets["test"][correct], values.sets)
    return fresh, indices


def rows(parameters: Parameters, part: Part, outputs: RoleOutputs, draw: Draw) -> Iterator[dict]:
    """Yield the rows of a network: its accuracies, and each score in all variants."""
    outputs = replace(outputs, compared=parameters.finished is not None)
    # an image is drawn with all its versions, which are no independent cases
    weights = {
        name: draw(base, images)[:, indices]
        for name, (base, images, indices) in outputs.sources.items()
    }
    averaged = outputs.averaged()
    variants = {"primary": averaged}
    if outputs.beside:
        variants[EVERY_SET] = outputs
    variants[FRESH] = averaged
    for variant, outputs_of in variants.items():
        for row in _rows_of_network(outputs_of, weights):
            yield {"variant": variant, "method": "network"} | row
    rows_of = partial(_rows_of_score, variants, parameters=parameters, weights=weights)
    # NumPy computes outside Python's lock; each score has the numbers that it has alone
    with ThreadPoolExecutor(parameters.recipe().threads) as pool:
        of_scores = pool.map(rows_of, parameters.methods)
        for method, rows in zip(parameters.methods, of_scores, strict=True):
            for row in rows:
                yield {"method": method} | row


def _rows_of_network(outputs: RoleOutputs, weights: Mapping[str, np.ndarray]) -> Iterator[dict]:
    yield results.row("test", "parameters", outputs.weights, len(outputs.test))
    for name, known in ({"test": outputs.test} | outputs.input_shifted).items():
        replicates = metrics.weighted_mean(known.correct, weights[name])
        yield results.row(name, "accuracy", known.correct.mean(), len(known), replicates)


def _rows_of_score(
    variants: Mapping[str, RoleOutputs], method: str, parameters: Parameters, weights
) -> list[dict]:
    """Return the rows of a score in all variants, for which it is fitted once.

    If the score does not apply or fails, the rows hold the reason.
    """

    def failed(notes: str) -> list[dict]:
        return [
            results.row("test", "failed", 1.0, len(outputs.test), variant=variant, notes=notes)
            for variant, outputs in variants.items()
        ]

    has_head = all(outputs.head is not None for outputs in variants.values())
    # the formula of GradNorm is the norm of the gradient of a linear head
    needs_head = method == "gradnorm" or "head" in scores.create(method).info.needs
    if needs_head and not has_head:
        return failed(f"'{method}' {LACKING['head']}")
    try:
        widest = max(variants.values(), key=lambda outputs: len(outputs.sets))
        values = apply_score(widest, method, parameters)
        rows = []
        for variant, outputs in variants.items():
            if variant == FRESH:
                fresh, indices = apply_fresh_threshold(outputs, values, parameters)
                of_variant = list(error_rates(outputs, fresh, weights, indices))
            else:
                of_ranking = None if variant == EVERY_SET else weights
                of_variant = list(error_rates(outputs, values, weights))
                of_variant += ranking(outputs, values, of_ranking)
            rows += [{"variant": variant} | row for row in of_variant]
        return rows
    except Exception as error:  # of one score; the other scores go on
        log.warning("score %s: %s", method, error)
        return failed(f"{type(error).__name__}: {error}")


def error_rates(
    outputs: RoleOutputs,
    values: ScoreValues,
    weights: Mapping[str, np.ndarray],
    evaluated: Mapping[str, np.ndarray] | None = None,
) -> Iterator[dict]:
    """Yield DER on each set and over sets; the mean over all sets has replicates.

    `evaluated` has the indices of the images that count, by set; by default all images count.
    ``der99_accepted`` of a set of known classes is the share of accepted errors; the remaining DER
    is incorrect rejections.
    """
    for metric, threshold in values.thresholds.items():
        rates = {}
        for name, images in outputs.sets.items():
            indices = evaluated[name] if evaluated else slice(None)
            correct = images.correct[indices]
            score = values.sets[name][indices]
            errors = (score >= threshold) != correct
            rate = metrics.detection_error_rate(score, correct, threshold)
            replicates = metrics.weighted_mean(errors, weights[name][:, indices])
            rates[name] = rate, replicates, len(correct)
            if name not in outputs.label_shifted:
                accepted = np.mean(errors & ~correct)
                yield results.row(name, f"{metric}_accepted", accepted, len(correct))
        yield from _rows_of_metric(metric, rates, outputs)


def ranking(
    outputs: RoleOutputs, values: ScoreValues, weights: Mapping[str, np.ndarray] | None
) -> Iterator[dict]:
    """Yield AUROC and FPR of label-shifted sets, against all and correct test images.

    The mean over the label-shifted sets has replicates, if there are `weights`.
    """
    tests = {
        "": np.arange(len(outputs.test)),
        "_correct": np.flatnonzero(outputs.test.correct),
    }
    for suffix, indices in tests.items():
        known = values.sets["test"][indices]
        areas = {}
        rates = {}
        for name in outputs.label_shifted:
            unknown = values.sets[name]
            count = len(known) + len(unknown)
            drawn: tuple = ((), ())
            if weights is not None:
                of_known = weights["test"][:, indices]
                drawn = metrics.weighted_detection(known, unknown, of_known, weights[name])
            areas[name] = metrics.auroc(known, unknown), drawn[0], count
            rates[name] = metrics.fpr_at_tpr(known, unknown), drawn[1], count
        yield from _rows_of_metric(f"auroc{suffix}", areas, outputs)
        yield from _rows_of_metric(f"fpr_at_tpr{suffix}", rates, outputs)


def _rows_of_metric(metric: str, rates: Mapping, outputs: RoleOutputs) -> Iterator[dict]:
    """Yield a metric of each set, and its means over the groups of these sets.

    `rates` are values, replicates and numbers of images by set.  Only the group with intervals in
    claims and figures has replicates, and single sets that are compared with committed rows.
    """
    resampled = "average" if "test" in rates else "label-shifted"
    for name, (rate, replicates, images) in rates.items():
        yield results.row(name, metric, rate, images, replicates if outputs.compared else ())
    for group, sets in outputs.groups.items():
        if not sets or not rates.keys() >= {*sets}:
            continue
        values, replicates, images = zip(*[rates[name] for name in sets], strict=True)
        of_mean = np.mean(replicates, axis=0) if group == resampled else ()
        yield results.row(group, metric, np.mean(values), sum(images), of_mean)
