"""The experiment of *Unsupervised Evaluation of Out-of-distribution Detection*.

Zhang, Deng and Zheng (2023): mixtures of ID images with many sets of unknown images are evaluated
without labels.  A regression learns from some of the sets, and the remaining sets test it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helpers import metrics, scores
from helpers.labelfree import METRICS, PREDICTED, TAUS, fit_regression
from helpers.metrics.correlation import pearson, spearman
from helpers.networks.model import Model
from helpers.papers.gscore import mixtures as mixing
from helpers.papers.gscore.mixtures import HALVES, PRIMARY, DetectorScores, Mixtures, Variant
from helpers.papers.gscore.roles import Suite, roles
from helpers.papers.run import ALONE, Draw, Part
from helpers.tables import results
from helpers.training.fitted import fit

if TYPE_CHECKING:
    from helpers.networks.model import Network
    from helpers.papers.gscore.parameters import Parameters

__all__ = ["models", "outputs", "parts", "roles", "rows"]

#: The baseline with labels by confidence.
CONFIDENCE = "confidence"
#: The baseline with distances of features.
AUTOMATIC = "auto_evaluation"
#: The evaluators in variants, with the first detector.
VARIED = ("kmeans_l2", "gmm_wasserstein", "ude_wasserstein", "statistic_share")
#: The ways to split the scores of a mixture that have a threshold τ.
SPLITS = ("gmm", "ude")
#: The variant in which all distances of a split have Wasserstein's threshold, as in the paper.
SHARED = "shared τ"
#: The mixtures with other ID images, see `redraw_mixtures`.
REDRAWN = "redrawn"
#: The method with a row for each prediction.
BY_SETS = "msp/ude_wasserstein"


def parts(parameters: Parameters) -> list[Part]:
    """Return every network on its ID set, and the first trained one on the other ID sets."""
    grid = [(parameters.id_set_of(name), name) for name in parameters.networks]
    first_trained = next(iter(parameters.trainings()))
    grid += [(other, first_trained) for other in parameters.other_data_sets]
    all_parts = []
    for data_set, name in grid:
        published = parameters.is_published(name)
        roles = name if published else data_set
        identity = {"data_set": data_set, "backbone": name}
        networks = () if published else (ALONE,)
        all_parts.append(Part(f"{data_set}/{name}", identity, roles, networks))
    return all_parts


def models(parameters: Parameters, part: Part, roles: Suite) -> Network:
    """Return the network whose detectors are evaluated: a published one, or trained."""
    divide(len(roles.sets), 0, parameters)  # too few sets are refused before
    network = part.identity["backbone"]
    if parameters.is_published(network):
        from helpers.networks import zoo  # here, since timm takes long to import

        return zoo.load(
            network,
            device=parameters.device,
            threads=parameters.recipe().threads,
            progress=False,
        )
    return fit(
        roles.train,
        parameters.recipe(parameters.networks[network]),
        seed=parameters.seed,
        device=parameters.device,
    )


@dataclass(frozen=True)
class SuiteOutputs:
    """The scores of a network on the images of a suite."""

    correct: np.ndarray
    detectors: dict[str, DetectorScores]
    confidence: dict[str, DetectorScores]
    distances: dict[str, np.ndarray]


def outputs(parameters: Parameters, part: Part, roles: Suite, models: Network) -> SuiteOutputs:
    """Return the scores of all images; the network processes an image once, for ODIN twice."""
    model = Model(part.identity["backbone"], (models,))
    detectors = {
        detector: mixing.score_suite(model, roles, detector, parameters)
        for detector in dict.fromkeys([*parameters.detectors, "msp"])
    }
    msp = detectors["msp"]
    confidence = {  # of the same images
        name: msp.of(roles.again) if "images" in scores.create(name).info.needs else msp
        for name in detectors
    }
    distances = {
        name: mixing.feature_distances(model, roles, name, places)
        for name, places in mixing.choose_images(msp, parameters).items()
    }
    return SuiteOutputs(model.outputs(roles.test).correct, detectors, confidence, distances)


def divide(sets: int, run: int, parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
    """Divide the sets at random into sets that a regression learns from and test sets."""
    count = round(parameters.meta_share * sets)
    if not 3 <= count < sets:
        raise ValueError(
            f"sets: {sets} give {count} to learn from and {sets - count} to test; name more sets, "
            "so that there are 3 and 1 at least"
        )
    order = np.random.default_rng([parameters.seed, run]).permutation(sets)
    return np.sort(order[:count]), np.sort(order[count:])


def best_tau(meta: Mixtures, evaluator: str, learnt: np.ndarray) -> int:
    """Return which of `helpers.labelfree.TAUS` is best for an evaluator to predict the FPR95.

    As in the paper, it is chosen with one detector and used for all detectors and metrics.
    """
    gscores = meta.gscores[evaluator][learnt]
    if not np.ptp(gscores, axis=0).any() or gscores.shape[1] == 1:
        return 0  # no threshold to choose, or no line at any: the regression then fails
    tau = fit_regression(gscores, meta.truths["fpr95"][learnt], TAUS).tau
    return int(np.abs(TAUS - tau).argmin())


def predict(
    mixtures: Mapping[str, Mixtures],
    evaluator: str,
    metric: str,
    tau: int,
    division: tuple[np.ndarray, np.ndarray],
    level: float,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Fit a regression on some sets; return its predictions for all other sets, and numbers."""
    learnt, tested = division
    meta = mixtures["meta"]
    gscores = meta.gscores[evaluator][learnt, tau]
    values = meta.truths[metric][learnt]
    line = fit_regression(gscores[:, None], values, TAUS[[tau]])
    redrawn = mixtures[REDRAWN]
    other_images = None  # the same regression with other ID images
    if evaluator in redrawn.gscores:
        other_images = redrawn.gscores[evaluator][learnt, tau], redrawn.truths[metric][learnt]
    test = mixtures["test"]
    unseen = test.gscores[evaluator][tested, tau]
    truths = test.truths[metric][tested]
    predicted = np.clip(line.predict(unseen), 0, 1)
    lower, upper = line.interval(unseen, level, redrawn=other_images)
    numbers = {
        "rmse": np.sqrt(np.mean((predicted - truths) ** 2)),
        "pearson": float(pearson(gscores, values)),
        "spearman": float(spearman(gscores, values)),
        "coverage": np.mean((lower <= truths) & (truths <= upper)),
        "width": np.mean(upper - lower),
    }
    return {"predicted": predicted, "lower": lower, "upper": upper}, numbers


def rows(parameters: Parameters, part: Part, outputs: SuiteOutputs, draw: Draw) -> Iterator[dict]:
    """Yield the rows of a network; a repeat of the division is a run of the table.

    * ``network``, ``accuracy``: of the ID test images.
    * A detector: its six true metrics on each set, mixed with the ID images ``meta`` or ``test``
      (the variant).
    * ``DETECTOR/EVALUATOR``, the same variants: ``gscore``, at the τ of run 0.
    * ``DETECTOR/EVALUATOR`` on ``all`` sets, for each run: ``tau``; and for each true metric
      ``rmse_``, ``pearson_``, ``spearman_``, ``coverage_`` and ``width_METRIC``, or ``failed``.
      Variants other than ``primary`` have these of the FPR95 alone; `SHARED`, of all detectors, of
      the AUROC too.
    * msp/ude_wasserstein, for each run and each set that tests it: ``predicted_``, ``lower_`` and
      ``upper_METRIC`` of AUROC and FPR95.
    """
    correct = outputs.correct
    several = parameters.replicates > 1
    of_images = draw("ID test", len(correct)) if several else None
    replicates = metrics.weighted_mean(correct, of_images) if several else ()
    yield results.row(
        "test", "accuracy", correct.mean(), len(correct), replicates, method="network"
    )
    evaluated: dict[str, dict[str, Mixtures]] = {}
    guesses = {}
    for detector in parameters.detectors:
        values = outputs.detectors[detector]
        places = mixing.choose_images(values, parameters)
        evaluated[detector] = _evaluate(values, parameters.evaluators, parameters)
        for half in HALVES:
            evaluated[detector][half].gscores[AUTOMATIC] = outputs.distances[half][:, None]
        guesses[detector] = mixing.metrics_by_confidence(
            values, outputs.confidence[detector], places["test"]
        )
    first = parameters.detectors[0]
    names = list(outputs.detectors[first].sets)
    divisions = [divide(len(names), run, parameters) for run in range(parameters.repeats)]
    level = parameters.level
    for run, division in enumerate(divisions):
        taus = _taus(evaluated[first], division[0])
        shared = _shared_taus(taus)
        for detector, mixtures in evaluated.items():
            if run == 0:
                drawn = _replicates(outputs.detectors[detector], draw) if several else {}
                yield from _rows_of_sets(detector, mixtures, names, taus, drawn)
            for row in _rows_of_regressions(detector, mixtures, taus, division, level, names=names):
                yield {"run": run} | row
            for row in _rows_of_regressions(
                detector, mixtures, shared, division, level, metrics=PREDICTED
            ):
                yield {"run": run, "variant": SHARED} | row
            for row in _rows_of_guesses(guesses[detector], mixtures["test"], division[1]):
                yield {"run": run, "method": f"{detector}/{CONFIDENCE}"} | row
    for variant in mixing.variants(parameters):
        evaluators = [name for name in VARIED if name in parameters.evaluators]
        if variant.validation:
            evaluators = [name for name in evaluators if name.startswith("ude")]
        mixtures = _evaluate(outputs.detectors[first], evaluators, parameters, variant)
        for run, division in enumerate(divisions):
            taus = _taus(mixtures, division[0])
            for row in _rows_of_regressions(
                first, mixtures, taus, division, level, metrics=["fpr95"]
            ):
                yield {"run": run, "variant": variant.name} | row


def _rows_of_guesses(
    guesses: Mapping[str, np.ndarray], test: Mixtures, tested: np.ndarray
) -> Iterator[dict]:
    """Yield the errors of metrics with labels by confidence on the sets `tested`."""
    images = test.images[tested].sum()
    for metric, values in guesses.items():
        errors = (values - test.truths[metric])[tested]
        rmse = np.sqrt(np.mean(errors**2))
        yield results.row("all", f"rmse_{metric}", rmse, images)


def _evaluate(
    scores: DetectorScores,
    evaluators: Sequence[str],
    parameters: Parameters,
    variant: Variant = PRIMARY,
) -> dict[str, Mixtures]:
    """Evaluate the mixtures of a variant with the ID images of `HALVES`, and with others."""
    places = mixing.choose_images(scores, parameters, variant)
    test = variant.shift or "test"
    return {
        "meta": mixing.evaluate_mixtures(scores, "meta", places["meta"], evaluators, variant),
        "test": mixing.evaluate_mixtures(scores, test, places["test"], evaluators, variant),
        REDRAWN: mixing.redraw_mixtures(
            scores, places["meta"], evaluators, parameters.seed, variant
        ),
    }


def _taus(mixtures: Mapping[str, Mixtures], learnt: np.ndarray) -> dict[str, int]:
    return {name: best_tau(mixtures["meta"], name, learnt) for name in mixtures["test"].gscores}


def _shared_taus(taus: Mapping[str, int]) -> dict[str, int]:
    """Return the threshold of Wasserstein's distance for all other distances of a split."""
    shared = {}
    for name in taus:
        split = name.split("_")[0]
        wasserstein = f"{split}_wasserstein"
        if split in SPLITS and wasserstein in taus and name != wasserstein:
            shared[name] = taus[wasserstein]
    return shared


def _replicates(scores: DetectorScores, draw: Draw) -> dict[tuple[str, str, str], np.ndarray]:
    """Return bootstrap replicates by half, metric and set, over ID images and images of the set."""
    replicates = {}
    for half in HALVES:
        known = scores.known[half]
        of_known = draw(f"ID {half}", len(known))
        for name, unknown in scores.sets.items():
            of_unknown = draw(name, len(unknown))
            areas, errors = metrics.weighted_detection(known, unknown, of_known, of_unknown)
            replicates[half, "auroc", name] = areas
            replicates[half, "fpr95", name] = errors
    return replicates


def _rows_of_sets(
    detector: str,
    mixtures: Mapping[str, Mixtures],
    names: Sequence[str],
    taus: Mapping[str, int],
    drawn: Mapping[tuple[str, str, str], np.ndarray],
) -> Iterator[dict]:
    """Yield true metrics, some with replicates, and Gscores of every set."""
    for half in HALVES:
        of_half = mixtures[half]
        columns = {(detector, metric): values for metric, values in of_half.truths.items()}
        for evaluator, tau in taus.items():
            columns[f"{detector}/{evaluator}", "gscore"] = of_half.gscores[evaluator][:, tau]
        for (method, metric), values in columns.items():
            for name, value, images in zip(names, values, of_half.images, strict=True):
                replicates = drawn.get((half, metric, name), ())
                columns_of = {"method": method, "variant": half}
                yield results.row(name, metric, value, images, replicates, **columns_of)


def _rows_of_regressions(
    detector: str,
    mixtures: Mapping[str, Mixtures],
    taus: Mapping[str, int],
    division: tuple[np.ndarray, np.ndarray],
    level: float,
    *,
    metrics: Sequence[str] = tuple(METRICS),
    names: Sequence[str] = (),
) -> Iterator[dict]:
    """Yield the numbers of the regressions of one division, and predictions of named sets."""
    images = mixtures["test"].images[division[1]]
    for evaluator, tau in taus.items():
        method = f"{detector}/{evaluator}"
        try:
            regressions = {
                metric: predict(mixtures, evaluator, metric, tau, division, level)
                for metric in metrics
            }
        except ValueError as error:  # of this evaluator; all others have numbers
            notes = f"{type(error).__name__}: {error}"
            yield results.row("all", "failed", 1.0, images.sum(), method=method, notes=notes)
            continue
        numbers = {"tau": TAUS[tau]} if evaluator.startswith(SPLITS) else {}
        for metric, (_, of_metric) in regressions.items():
            numbers |= {f"{name}_{metric}": value for name, value in of_metric.items()}
        for name, value in numbers.items():
            if not np.isnan(value):  # a correlation of constant truths
                yield results.row("all", name, value, images.sum(), method=method)
        if not names or method != BY_SETS:
            continue
        tested = [names[number] for number in division[1]]
        for metric in ("auroc", "fpr95"):
            for kind, values in regressions[metric][0].items():
                for name, value, count in zip(tested, values, images, strict=True):
                    yield results.row(name, f"{kind}_{metric}", value, count, method=method)
