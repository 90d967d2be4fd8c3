"""The experiment of *Unsupervised Evaluation of Out-of-distribution Detection*.

Zhang, Deng and Zheng (2023): mixtures of ID images with many sets of unknown ones, evaluated
without labels; a regression over some of the sets, tested on the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helpers.labelfree import METRICS, TAUS, fit_regression
from helpers.metrics.correlation import pearson, spearman
from helpers.networks.model import Model, Network
from helpers.papers.gscore.mixtures import (
    PARTS,
    DetectorScores,
    Mixtures,
    Variant,
    choose_images,
    evaluate_mixtures,
    feature_distances,
    metrics_by_confidence,
    redraw_mixtures,
    score_suite,
    variants,
)
from helpers.papers.gscore.roles import Suite, roles
from helpers.papers.run import Draw, Part
from helpers.report import results
from helpers.training.fitted import fit

if TYPE_CHECKING:
    from helpers.papers.gscore.parameters import Parameters

__all__ = ["models", "outputs", "parts", "roles", "rows"]

CONFIDENCE, AUTOMATIC = "confidence", "auto_evaluation"
"""The baselines: labels by confidence, and distances of features."""
VARIED = ("kmeans_l2", "gmm_wasserstein", "ude_wasserstein")
"""Evaluators that go through the variants, with the first detector."""
REDRAWN = "redrawn"
"""What the mixtures with other ID images are called, see `redraw_mixtures`."""
BY_SETS = "msp/ude_wasserstein"
"""The method whose predictions are written down set by set."""


def parts(parameters: Parameters) -> list[Part]:
    """Return every network on its ID set, and the first that is trained on the other ones."""
    published = {name for name in parameters.networks if parameters.is_published(name)}
    grid = [(parameters.id_set_of(name), name) for name in parameters.networks]
    grid += [(other, next(iter(parameters.trainings()))) for other in parameters.other_data_sets]
    return [
        Part(
            f"{data_set}/{name}",
            {"data_set": data_set, "backbone": name},
            roles=name if name in published else data_set,
        )
        for data_set, name in grid
    ]


def models(parameters: Parameters, part: Part, roles: Suite) -> Network:
    """Return the network whose detectors are evaluated: a published one, or trained."""
    divide(len(roles.sets), 0, parameters)  # too few sets are refused before
    network = part.identity["backbone"]
    if parameters.is_published(network):
        from helpers.networks import zoo  # here, since timm takes long to import

        threads = parameters.recipe().threads
        return zoo.load(network, device=parameters.device, threads=threads, progress=False)
    return fit(
        roles.train,
        parameters.recipe(parameters.networks[network]),
        outliers=roles.outliers,
        seed=parameters.seed,
        device=parameters.device,
    )


@dataclass(frozen=True)
class SuiteOutputs:
    """What a network says of the images of a suite."""

    correct: np.ndarray
    detectors: dict[str, DetectorScores]
    confidence: dict[str, DetectorScores]
    distances: dict[str, np.ndarray]


def outputs(parameters: Parameters, part: Part, roles: Suite, models: Network) -> SuiteOutputs:
    """Return the scores of all images, each of which the network sees once (for ODIN, twice)."""
    model = Model(part.identity["backbone"], (models,))
    detectors = {
        detector: score_suite(model, roles, detector, parameters)
        for detector in dict.fromkeys([*parameters.detectors, "msp"])
    }
    msp = detectors["msp"]
    confidence = {
        name: msp if _shown(own) == _shown(msp) else msp.of(roles.again)
        for name, own in detectors.items()
    }
    distances = {
        one: feature_distances(model, roles, one, places)
        for one, places in choose_images(msp, parameters).items()
    }
    return SuiteOutputs(model.outputs(roles.test).correct, detectors, confidence, distances)


def _shown(scores: DetectorScores) -> list[int]:
    return [len(scores.known[part]) for part in PARTS] + [*map(len, scores.sets.values())]


def divide(sets: int, run: int, parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
    """Divide the sets at random into those that a regression learns from and those that test it."""
    count = round(parameters.meta_share * sets)
    if not 3 <= count < sets:
        raise ValueError(
            f"sets: {sets} give {count} to learn from and {sets - count} to test; name more sets, "
            "so that there are 3 and 1 at least"
        )
    order = np.random.default_rng([parameters.seed, run]).permutation(sets)
    return np.sort(order[:count]), np.sort(order[count:])


def best_tau(meta: Mixtures, evaluator: str, learnt: np.ndarray) -> int:
    """Return which of `helpers.labelfree.TAUS` serves an evaluator best, to predict the FPR95.

    It is found with one detector, and kept for the others and for all metrics, as in the paper.
    """
    found = meta.gscores[evaluator][learnt]
    if not np.ptp(found, axis=0).any() or found.shape[1] == 1:
        return 0  # no threshold to choose, or no line at any, which the regression says
    tau = fit_regression(found, meta.truths["fpr95"][learnt], TAUS).tau
    return int(np.abs(TAUS - tau).argmin())


@dataclass(frozen=True)
class Predictions:
    """What a regression predicts of the sets that test it."""

    pearson: float
    spearman: float
    truths: np.ndarray
    predicted: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def numbers(self) -> dict[str, float]:
        """What a results table holds of it, by name."""
        found = {
            "rmse": np.sqrt(np.mean((self.predicted - self.truths) ** 2)),
            "pearson": self.pearson,
            "spearman": self.spearman,
            "coverage": np.mean((self.lower <= self.truths) & (self.truths <= self.upper)),
            "width": np.mean(self.upper - self.lower),
        }
        return {name: value for name, value in found.items() if not np.isnan(value)}


def predict(
    mixtures: Mapping[str, Mixtures],
    evaluator: str,
    metric: str,
    tau: int,
    division: tuple[np.ndarray, np.ndarray],
    level: float,
) -> Predictions:
    """Learn a regression from some sets and predict the others."""
    (learnt, tested), (meta, test) = division, (mixtures[part] for part in PARTS)
    own, truths = meta.gscores[evaluator][learnt, tau], meta.truths[metric][learnt]
    line = fit_regression(own[:, None], truths, TAUS[[tau]])
    unseen, again = test.gscores[evaluator][tested, tau], None
    if evaluator in mixtures[REDRAWN].gscores:
        other = mixtures[REDRAWN]
        again = other.gscores[evaluator][learnt, tau], other.truths[metric][learnt]
    return Predictions(
        float(pearson(own, truths)),
        float(spearman(own, truths)),
        test.truths[metric][tested],
        line.predict(unseen),
        *line.interval(unseen, level, redrawn=again),
    )


def rows(parameters: Parameters, part: Part, outputs: SuiteOutputs, draw: Draw) -> Iterator[dict]:
    """Yield the rows of a network; a repeat of the division is a run of the table.

    * ``network``, ``accuracy``: of the ID test images.
    * A detector: its six true metrics on each set, mixed with the ID images ``meta`` or ``test``
      (the variant).
    * ``DETECTOR/EVALUATOR``, the same variants: ``gscore``, at the τ of run 0.
    * ``DETECTOR/EVALUATOR`` on ``all`` sets, for each run: ``tau``; and for each true metric
      ``rmse_``, ``pearson_``, ``spearman_``, ``coverage_`` and ``width_METRIC``, or ``failed``.
      Variants other than ``primary`` have these of the FPR95 alone.
    * msp/ude_wasserstein, for each run and each set that tests it: ``predicted_``, ``lower_`` and
      ``upper_METRIC`` of AUROC and FPR95.
    """
    right = outputs.correct
    yield results.row("test", "accuracy", right.mean(), len(right), method="network")
    (first, *_), every, guesses = parameters.detectors, {}, {}
    for name in parameters.detectors:
        own = outputs.detectors[name]
        places = choose_images(own, parameters)
        every[name] = {
            one: evaluate_mixtures(
                own, one, chosen, parameters.evaluators, also={AUTOMATIC: outputs.distances[one]}
            )
            for one, chosen in places.items()
        } | {REDRAWN: redraw_mixtures(own, places["meta"], parameters.evaluators, parameters.seed)}
        sure = outputs.confidence[name]
        guesses[name] = metrics_by_confidence(own, sure, "test", places["test"])
    names, evaluators = list(places["test"]), [*parameters.evaluators, AUTOMATIC]
    divisions = [divide(len(names), run, parameters) for run in range(parameters.repeats)]
    for run, division in enumerate(divisions):
        taus = {one: best_tau(every[first]["meta"], one, division[0]) for one in evaluators}
        for detector, mixtures in every.items():
            if run == 0:
                yield from _rows_of_sets(detector, mixtures, names, taus)
            for row in (
                *_rows_of_regressions(detector, mixtures, taus, division, parameters, names=names),
                *_rows_of_confidence(detector, guesses[detector], mixtures["test"], division[1]),
            ):
                yield {"run": run} | row
    for variant in variants(parameters):
        mixtures = _evaluate_variant(outputs, every[first], variant, parameters)
        for run, division in enumerate(divisions):
            own = mixtures["test"].gscores
            taus = {one: best_tau(mixtures["meta"], one, division[0]) for one in own}
            for row in _rows_of_regressions(
                first, mixtures, taus, division, parameters, metrics=["fpr95"]
            ):
                yield {"run": run, "variant": variant.name} | row


def _evaluate_variant(
    outputs: SuiteOutputs,
    primary: Mapping[str, Mixtures],
    variant: Variant,
    parameters: Parameters,
) -> dict[str, Mixtures]:
    """Evaluate the mixtures of a variant, by the evaluators that it is about."""
    detector = outputs.detectors[parameters.detectors[0]]
    own = [one for one in VARIED if one in parameters.evaluators]
    if variant.validation or variant.learnt or variant.one_sided:
        own = [one for one in own if one.startswith("ude")]
    places = choose_images(detector, parameters, variant)
    if variant.shift:  # what the regression learns from is as it was
        shifted = evaluate_mixtures(detector, variant.shift, places["test"], own)
        return dict(primary) | {"test": shifted}
    found = {
        part: evaluate_mixtures(
            detector, part, chosen, own, truths=primary[part].truths, variant=variant
        )
        for part, chosen in places.items()
    }
    return found | {
        REDRAWN: redraw_mixtures(detector, places["meta"], own, parameters.seed, variant)
    }


def _rows_of_sets(
    detector: str, mixtures: Mapping[str, Mixtures], names: Sequence[str], taus: Mapping[str, int]
) -> Iterator[dict]:
    """Yield true metrics and Gscores of every set."""
    for part, found in ((part, mixtures[part]) for part in PARTS):
        columns = {(detector, metric): values for metric, values in found.truths.items()}
        for evaluator, tau in taus.items():
            columns[f"{detector}/{evaluator}", "gscore"] = found.gscores[evaluator][:, tau]
        for (method, metric), values in columns.items():
            for name, value, images in zip(names, values, found.images, strict=True):
                yield results.row(name, metric, value, images, method=method, variant=part)


def _rows_of_regressions(
    detector: str,
    mixtures: Mapping[str, Mixtures],
    taus: Mapping[str, int],
    division: tuple[np.ndarray, np.ndarray],
    parameters: Parameters,
    *,
    metrics: Sequence[str] = tuple(METRICS),
    names: Sequence[str] = (),
) -> Iterator[dict]:
    """Yield what the regressions of one division are worth, and predictions of named sets."""
    images = mixtures["test"].images[division[1]]
    for evaluator, tau in taus.items():
        method, found = f"{detector}/{evaluator}", {}
        try:
            for metric in metrics:
                found[metric] = predict(
                    mixtures, evaluator, metric, tau, division, parameters.level
                )
        except ValueError as error:  # of this evaluator; the others have their numbers
            notes = f"{type(error).__name__}: {error}"
            yield results.row("all", "failed", 1.0, images.sum(), method=method, notes=notes)
            continue
        numbers = {f"{name}_{metric}": value for metric, one in found.items()
                   for name, value in one.numbers.items()}  # fmt: skip
        if evaluator.startswith(("gmm", "ude")):
            numbers = {"tau": TAUS[tau]} | numbers
        for name, value in numbers.items():
            yield results.row("all", name, value, images.sum(), method=method)
        for metric in ("auroc", "fpr95") if names and method == BY_SETS else ():
            for what in ("predicted", "lower", "upper"):
                values, wanted = getattr(found[metric], what), f"{what}_{metric}"
                for number, value, count in zip(division[1], values, images, strict=True):
                    yield results.row(names[number], wanted, value, count, method=method)


def _rows_of_confidence(
    detector: str, guesses: Mapping[str, np.ndarray], test: Mixtures, tested: np.ndarray
) -> Iterator[dict]:
    """Yield how far metrics with labels by confidence are from the true ones."""
    images, method = test.images[tested].sum(), f"{detector}/{CONFIDENCE}"
    for metric, values in guesses.items():
        rmse = np.sqrt(np.mean((values - test.truths[metric])[tested] ** 2))
        yield results.row("all", f"rmse_{metric}", rmse, images, method=method)
