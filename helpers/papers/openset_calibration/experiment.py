"""The experiment of *Evaluating Uncertainty Calibration for Open-Set Recognition*.

{closed-set, open-set by threshold, open-set with OpenMax} × {before, after temperature scaling},
by Brier score, ECE and accuracy.  The choices that the paper leaves open are in the parameter
files and in `VARIANTS`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from helpers import metrics
from helpers.checks import known_name
from helpers.outputs import Outputs
from helpers.papers.openset_calibration.roles import Split, roles
from helpers.papers.run import Draw, Part
from helpers.report import results
from helpers.scores import calibration, openset
from helpers.training.fitted import Fitted, fit

if TYPE_CHECKING:
    from helpers.papers.openset_calibration.parameters import Parameters

__all__ = ["METHODS", "VARIANTS", "models", "outputs", "parts", "roles", "rows"]

METHODS = ("closed-set", "open-set", "open-set + OpenMax")
VARIANTS = {
    "primary": METHODS,
    "half": METHODS[1:2],
    "moving decision": METHODS[1:2],
    "known confidence": METHODS[1:],
    "normalised": METHODS[1:2],
    "shared temperature": METHODS[2:],
    "long tail": METHODS[2:],
    "cosine": METHODS[2:],
    "matched tail": METHODS[2:],
}
"""Readings of the choices that the paper leaves open, with the methods on which they depend.

* ``primary``: the choice of this book
* ``half``: rejects below 0.5, whatever the network
* ``moving decision``: applies the same threshold again to the scaled probabilities
* ``known confidence``: a rejected image has the confidence of its largest known probability
* ``normalised``: divides the K + 1 values by their sum
* ``shared temperature``: scales OpenMax by the temperature of the plain softmax
* ``long tail``: fits Weibulls to a fifth of the correct training images of a class
* ``cosine``: OpenMax with its other distance
* ``matched tail``: OpenMax rejects about as many held-out images as the threshold
"""


@dataclass(frozen=True)
class Answers:
    """The answers of one method on a test set, before or after temperature scaling.

    Attributes
    ----------
    probabilities : ndarray of float64, shape [N, K]
        Probabilities of the known classes.
    unknown : ndarray of float64, shape [N]
        Probability of "unknown"; zero in the closed set.
    answers, labels : ndarray of int64, shape [N]
        0 … K − 1, or −1 for "unknown".
    temperature : float
        Temperature; 1 before scaling.
    threshold : float or None
        Threshold on the maximum probability; None for methods without one.
    rejected : str
        Kind of confidence of rejected images, see `metrics.answer_confidence`.
    """

    probabilities: np.ndarray
    unknown: np.ndarray
    answers: np.ndarray
    labels: np.ndarray
    temperature: float = 1.0
    threshold: float | None = None
    rejected: str = "unknown"

    @cached_property
    def confidence(self) -> np.ndarray:
        """Probability of the answer, float64 [N]."""
        return metrics.answer_confidence(
            self.probabilities, self.unknown, self.answers, rejected=self.rejected
        )

    @cached_property
    def correct(self) -> np.ndarray:
        """Whether the answer is correct in the (K + 1)-class problem, bool [N]."""
        return self.answers == self.labels

    def normalised(self) -> Answers:
        """Return the same answers with probabilities that sum to 1."""
        total = self.probabilities.sum(axis=1) + self.unknown
        return replace(
            self, probabilities=self.probabilities / total[:, None], unknown=self.unknown / total
        )


@dataclass(frozen=True)
class SplitOutputs:
    """The outputs of a network: training images without augmentation, held-out and test images."""

    train: Outputs
    calibration: Outputs
    test: Outputs


def parts(parameters: Parameters) -> list[Part]:
    """Return the parts: each data set, network and run."""
    grid = itertools.product(parameters.data_sets, range(parameters.runs), parameters.networks)
    return [
        Part(
            f"{data_set}/{network}/{run}",
            {"data_set": data_set, "backbone": network, "run": run},
            roles=f"{data_set}/{run}",
        )
        for data_set, run, network in grid
    ]


def models(parameters: Parameters, part: Part, roles: Mapping[str, Split]) -> dict[str, Fitted]:
    """Return the network of each setting, trained or from the cache."""
    network = part.identity["backbone"]
    known_name("network", network, parameters.networks)
    return {
        setting: fit(
            split.train,
            parameters.recipe(parameters.networks[network]),
            seed=parameters.seed * 1000 + part.identity["run"],
            device=parameters.device,
        )
        for setting, split in roles.items()
    }


def outputs(
    parameters: Parameters, part: Part, roles: Mapping[str, Split], models: Mapping[str, Fitted]
) -> dict[str, SplitOutputs]:
    """Return the outputs of the network of each setting; it processes each image once."""
    sets = {name: (split.train, split.calibration, split.test) for name, split in roles.items()}
    return {name: SplitOutputs(*map(models[name].outputs, sets[name])) for name in sets}


def closed_set(network: SplitOutputs) -> dict[str, Answers]:
    """Return answers without "unknown", before and after temperature scaling."""
    held = network.calibration
    temperatures = {"before": 1.0, "after": calibration.fit_temperature(held.logits, held.labels)}
    test, nothing = network.test, np.zeros(len(network.test))
    return {
        when: Answers(
            calibration.softmax(test.logits, value), nothing, test.predictions, test.labels, value
        )
        for when, value in temperatures.items()
    }


def rejection_threshold(network: SplitOutputs, parameters: Parameters) -> float:
    """Return the largest threshold that keeps the share `keep` of the held-out images."""
    confidences = network.calibration.probabilities.max(axis=1)
    return metrics.rejection_threshold(confidences, keep=parameters.keep)


def open_set(
    network: SplitOutputs, threshold: float, *, moving_decision: bool = False
) -> dict[str, Answers]:
    """Return answers with "unknown" below a threshold on the maximum probability.

    The decision uses the unscaled probabilities, so that scaling does not change answers: the
    paper has a single accuracy per setting.  With `moving_decision` the same threshold is applied
    to the scaled probabilities.
    """
    panels, closed = {}, closed_set(network)
    for when, answers in closed.items():
        decisive = answers if moving_decision else closed["before"]
        panels[when] = replace(
            answers,
            unknown=openset.unknown_probability(answers.probabilities),
            answers=openset.open_set_answer(decisive.probabilities, threshold),
            threshold=threshold,
        )
    return panels


def correct_per_class(network: SplitOutputs) -> float:
    """Return the mean number of correctly classified training images of a class."""
    return network.train.correct.sum() / network.train.num_classes


def matched_tail(network: SplitOutputs, parameters: Parameters) -> int:
    """Return the tail at which OpenMax rejects about the share 1 - `keep` of held-out images.

    These are of known classes only.  The tail is the nearest, the shortest of several, of a dozen
    from 2 to the mean number of correct training images of a class.
    """
    largest = max(2, round(correct_per_class(network)))
    tails = np.unique(np.geomspace(2, largest, 12).round().astype(int))
    return int(min(tails, key=lambda tail: abs(_refused(network, parameters, tail))))


def _refused(network: SplitOutputs, parameters: Parameters, tail: int) -> float:
    """Return the share of held-out images that OpenMax rejects minus that of the threshold."""
    model = openset.OpenMax(int(tail), parameters.alpha or None, parameters.distance)
    model.fit(network.train.logits, network.train.labels)
    answers = openset.openmax_answer(model.probabilities(network.calibration.logits, 1.0))
    return (answers < 0).mean() - (1 - parameters.keep)


def open_set_openmax(
    network: SplitOutputs, parameters: Parameters, *, shared_temperature: bool = False
) -> dict[str, Answers]:
    """Return answers of OpenMax, before and after temperature scaling of the revised logits.

    The temperature is fitted to the revised logits of the held-out images; with
    `shared_temperature` it is the temperature of the plain softmax.
    """
    model = openset.OpenMax(parameters.tail, parameters.alpha or None, parameters.distance)
    model.fit(network.train.logits, network.train.labels)
    held = network.calibration
    logits = held.logits if shared_temperature else model.revised_logits(held.logits)
    temperatures = {"before": 1.0, "after": calibration.fit_temperature(logits, held.labels)}
    panels = {}
    for when, temperature in temperatures.items():
        probabilities = model.probabilities(network.test.logits, temperature)
        panels[when] = Answers(
            probabilities[:, :-1],
            probabilities[:, -1],
            openset.openmax_answer(probabilities),
            network.test.labels,
            temperature,
        )
    return panels


def panels(
    outputs: Mapping[str, SplitOutputs], parameters: Parameters, variant: str = "primary"
) -> dict[tuple[str, str], Answers]:
    """Return answers by method and calibration, for the methods on which the variant depends.

    Parameters
    ----------
    outputs : mapping of str to SplitOutputs
        Outputs of the two networks of a run, by setting.
    parameters : Parameters
    variant : str
        One of `VARIANTS`.
    """
    known_name("variant", variant, VARIANTS)
    closed, opened = outputs["closed-set"], outputs["open-set"]
    if variant == "long tail":
        parameters = parameters.replace(tail=max(2, round(0.2 * correct_per_class(opened))))
    if variant == "matched tail":
        parameters = parameters.replace(tail=matched_tail(opened, parameters))
    if variant == "cosine":
        parameters = parameters.replace(distance="euclidean_cosine")
    moving, shared = variant == "moving decision", variant == "shared temperature"
    threshold = 0.5 if variant == "half" else rejection_threshold(opened, parameters)
    make = {
        METHODS[0]: lambda: closed_set(closed),
        METHODS[1]: lambda: open_set(opened, threshold, moving_decision=moving),
        METHODS[2]: lambda: open_set_openmax(opened, parameters, shared_temperature=shared),
    }
    found = {
        (method, when): answers
        for method in VARIANTS[variant]
        for when, answers in make[method]().items()
    }
    if variant == "normalised":
        return {key: answers.normalised() for key, answers in found.items()}
    if variant == "known confidence":
        return {key: replace(answers, rejected="known") for key, answers in found.items()}
    return found


def measure(answers: Answers, bins: int, weights: np.ndarray) -> Iterator[dict]:
    """Yield the metrics of one panel with bootstrap replicates, `weights` [replicates, N]."""
    errors = metrics.open_set_squared_errors(answers.probabilities, answers.unknown, answers.labels)
    confidence, correct = answers.confidence, answers.correct
    measured = {
        "accuracy": (correct.mean(), metrics.weighted_mean(correct, weights)),
        "brier": (errors.mean(), metrics.weighted_mean(errors, weights)),
        "ece": (
            metrics.calibration_error(confidence, correct, bins=bins),
            metrics.weighted_calibration_error(confidence, correct, weights, bins=bins),
        ),
        "ece_floor": (
            metrics.calibration_error_floor(confidence, bins=bins),
            metrics.weighted_calibration_error_floor(confidence, weights, bins=bins),
        ),
        "temperature": (answers.temperature, ()),
    }
    if (unknown := answers.labels < 0).any():
        rejected = answers.answers < 0
        measured["rejected"] = (rejected.mean(), metrics.weighted_mean(rejected, weights))
        measured["unknown"] = (unknown.mean(), metrics.weighted_mean(unknown, weights))
    if answers.threshold is not None:
        measured["threshold"] = (answers.threshold, ())
    for metric, (value, replicates) in measured.items():
        yield results.row("test", metric, value, len(answers.labels), replicates)


def bins_of(answers: Answers, bins: int) -> Iterator[dict]:
    """Yield the accuracy and the confidence of each bin of a reliability diagram."""
    curve = metrics.reliability_curve(answers.confidence, answers.correct, bins=bins)
    numbers = np.rint(curve.edges[:, 1] * bins).astype(int)
    for number, confidence, accuracy, count in zip(
        numbers, curve.confidence, curve.accuracy, curve.count, strict=True
    ):
        for metric, value in (("accuracy", accuracy), ("confidence", confidence)):
            name = f"{metric}_in_bin_{number:02}_of_{bins}"
            yield results.row("test", name, value, int(count))


def rows(
    parameters: Parameters, part: Part, outputs: Mapping[str, SplitOutputs], draw: Draw
) -> Iterator[dict]:
    """Yield the rows of a run: all `VARIANTS`, before and after temperature scaling."""
    weights = draw("", len(outputs["open-set"].test))  # the same images in both settings
    for variant in VARIANTS:
        for (method, when), answers in panels(outputs, parameters, variant).items():
            columns = {"method": method, "calibration": when, "variant": variant}
            for row in measure(answers, parameters.bins, weights):
                yield columns | row
            if variant == "primary":
                for row in bins_of(answers, parameters.bins):
                    yield columns | row
