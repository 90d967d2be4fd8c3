"""The experiment of *Evaluating Uncertainty Calibration for Open-Set Recognition*.

{closed-set, open-set by threshold, open-set with OpenMax} × {before, after temperature scaling},
by Brier score, ECE and accuracy.  The choices that the paper leaves open are in the parameter
files and in `VARIANTS`.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from helpers import metrics
from helpers.checks import known_name
from helpers.data import Images
from helpers.files import content_of
from helpers.outputs import Outputs
from helpers.papers.learnt_distances import arrays_of, learnt_distances
from helpers.papers.openset_calibration.parameters import Parameters
from helpers.papers.openset_calibration.roles import SETTINGS, Split, roles
from helpers.papers.run import Draw, Part
from helpers.scores import calibration, openset
from helpers.scores.openmax import ClassDistances, OpenMax, openmax_answer
from helpers.tables import results
from helpers.training.fitted import Fitted, fit

__all__ = ["METHODS", "VARIANTS", "models", "network", "outputs", "parts", "roles", "rows"]

VARIANTS = content_of(__file__, "tables")["variants"]
METHODS = tuple(VARIANTS["primary"])
#: Kinds of distances of OpenMax, with the numbers of each class that are stored.
DISTANCES = {"euclidean": 1200, "euclidean_cosine": 100}
_NO_REPLICATES = np.empty(0)  # of a number that is no mean over the test images


@dataclass(frozen=True)
class Answers:
    """The answers of one method on a test set, before or after temperature scaling."""

    probabilities: np.ndarray  # of the known classes, float64 [N, K]
    unknown: np.ndarray  # probability of "unknown", float64 [N]; zero in the closed set
    answers: np.ndarray  # int64 [N]: 0 … K − 1, or −1 for "unknown"
    labels: np.ndarray
    temperature: float = 1.0
    threshold: float | None = None  # on the maximum probability; None for methods without one
    rejected: str = "unknown"  # confidence of rejected images, see `metrics.answer_confidence`

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


@dataclass(frozen=True)
class SplitOutputs:
    """What is known of a network: its outputs on held-out and test images.

    ``distances`` are of the training images, without augmentation, by the kind of distance.
    OpenMax needs them, and OpenMax is for the open set: the closed-set network has none.
    """

    calibration: Outputs
    test: Outputs
    distances: Mapping[str, ClassDistances]


def parts(parameters: Parameters) -> list[Part]:
    """Return the parts: each data set, network and run."""
    all_parts = []
    grid = itertools.product(parameters.data_sets, range(parameters.runs), parameters.networks)
    for data_set, run, network in grid:
        if run not in parameters.runs_of(network):
            continue
        identity = {"data_set": data_set, "backbone": network, "run": run}
        name = f"{data_set}/{network}/{run}"
        part = Part(name, identity, roles=f"{data_set}/{run}", networks=SETTINGS)
        all_parts.append(part)
    return all_parts


def models(parameters: Parameters, part: Part, roles: Mapping[str, Split]) -> dict[str, Fitted]:
    """Return the network of each setting, trained or from the cache."""
    return {setting: network(parameters, part, roles, setting) for setting in roles}


def network(parameters: Parameters, part: Part, roles: Mapping[str, Split], setting: str) -> Fitted:
    """Return the network of one setting, trained or from the cache."""
    name = known_name("network", part.identity["backbone"], parameters.networks)
    return fit(
        roles[setting].train,
        parameters.recipe(parameters.networks[name]),
        finished=parameters.finished_networks,
        seed=parameters.seed * 1000 + part.identity["run"],
        device=parameters.device,
    )


def outputs(
    parameters: Parameters, part: Part, roles: Mapping[str, Split], models: Mapping[str, Fitted]
) -> dict[str, SplitOutputs]:
    """Return the outputs of the network of each setting; it processes each image once."""
    by_setting = {}
    for setting, split in roles.items():
        network = models[setting]
        by_setting[setting] = SplitOutputs(
            calibration=network.held_out(split.calibration),
            test=network.outputs(split.test),
            distances=learnt_distances(network, split.train, DISTANCES) if split.unknown else {},
        )
    return by_setting


def held_out(
    parameters: Parameters, part: Part
) -> Iterator[tuple[Fitted, Images, dict[str, np.ndarray]]]:
    """Yield each network with its held-out images, and with what OpenMax knows of the others.

    `helpers.training.finished_networks.save_held_out` stores them.
    """
    splits = roles(parameters, part)
    for setting, network in models(parameters, part, splits).items():
        split = splits[setting]
        further: dict[str, np.ndarray] = {}
        if split.unknown:
            for kind, known in learnt_distances(network, split.train, DISTANCES).items():
                further |= arrays_of(known, DISTANCES[kind], np.float16)
        yield network, split.calibration, further


def closed_set(network: SplitOutputs) -> dict[str, Answers]:
    """Return answers without "unknown", before and after temperature scaling."""
    held_out = network.calibration
    test = network.test
    fitted = calibration.fit_temperature(held_out.logits, held_out.labels)
    return {
        when: Answers(
            probabilities=calibration.softmax(test.logits, temperature),
            unknown=np.zeros(len(test)),
            answers=test.predictions,
            labels=test.labels,
            temperature=temperature,
        )
        for when, temperature in {"before": 1.0, "after": fitted}.items()
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
    paper has a single accuracy per setting.  With `moving_decision` this threshold applies to the
    scaled probabilities.
    """
    panels = {}
    closed = closed_set(network)
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
    return network.distances["euclidean"].correct.mean()


def openmax(network: SplitOutputs, parameters: Parameters) -> OpenMax:
    """Return OpenMax, fitted to the training images."""
    model = OpenMax(parameters.tail, parameters.alpha or None, parameters.distance)
    return model.fit_distances(network.distances[parameters.distance])


def longest_tail(network: SplitOutputs, parameters: Parameters) -> int:
    """Return the number of distances of a class that OpenMax can use."""
    return network.distances[parameters.distance].largest.shape[1]


def matched_tail(network: SplitOutputs, parameters: Parameters) -> int:
    """Return the tail at which OpenMax rejects about the share 1 - `keep` of held-out images.

    These are of known classes only.  The tail is the nearest, the shortest of several, of a dozen
    from 2 to the mean number of correct training images of a class; of a finished network, of those
    whose distances are stored.
    """
    largest = max(2, round(correct_per_class(network)))
    tails = np.unique(np.geomspace(2, largest, 12).round().astype(int))
    tails = tails[tails <= max(2, longest_tail(network, parameters))]
    return int(min(tails, key=lambda tail: abs(_refused(network, parameters, tail))))


def _refused(network: SplitOutputs, parameters: Parameters, tail: int) -> float:
    """Return the share of held-out images that OpenMax rejects minus the threshold's share."""
    model = openmax(network, parameters.replace(tail=int(tail)))
    answers = openmax_answer(model.probabilities(network.calibration.logits, 1.0))
    return (answers < 0).mean() - (1 - parameters.keep)


def open_set_openmax(
    network: SplitOutputs, parameters: Parameters, least=0.0, *, shared_temperature: bool = False
) -> dict[str, Answers]:
    """Return answers of OpenMax, before and after temperature scaling of the revised logits.

    An unscaled probability below `least` gives no answer.  The temperature is fitted to the revised
    logits of the held-out images; with `shared_temperature` it is the plain softmax's temperature.
    """
    model = openmax(network, parameters)
    held_out = network.calibration
    logits = held_out.logits if shared_temperature else model.revised_logits(held_out.logits)
    fitted = calibration.fit_temperature(logits, held_out.labels)
    revised = model.revised_logits(network.test.logits)
    unscaled = calibration.softmax(revised)
    answers = np.where(unscaled.max(axis=1) >= least, openmax_answer(unscaled), -1)
    panels = {}
    for when, temperature in {"before": 1.0, "after": fitted}.items():
        probabilities = calibration.softmax(revised, temperature)
        panels[when] = Answers(
            probabilities=probabilities[:, :-1],
            unknown=probabilities[:, -1],
            answers=answers,
            labels=network.test.labels,
            temperature=temperature,
        )
    return panels


def panels(
    outputs: Mapping[str, SplitOutputs], parameters: Parameters, variant: str = "primary"
) -> dict[tuple[str, str], Answers]:
    """Return answers by method and calibration, for the methods on which the variant depends.

    `outputs` are of the two networks of a run, by setting.
    """
    known_name("variant", variant, VARIANTS)
    closed = outputs["closed-set"]
    opened = outputs["open-set"]
    if variant == "long tail":
        tail = max(2, round(0.2 * correct_per_class(opened)))
        parameters = parameters.replace(tail=tail)
    if variant == "matched tail":
        parameters = parameters.replace(tail=matched_tail(opened, parameters))
    if variant == "cosine":
        parameters = parameters.replace(distance="euclidean_cosine")
    if variant == "one threshold":
        parameters = parameters.replace(tail=20, alpha=min(3, parameters.known))
    moving = variant == "moving decision"
    shared = variant == "shared temperature"
    fixed = {"half": 0.5, "one threshold": parameters.threshold}.get(variant, 0.0)
    threshold = fixed or rejection_threshold(opened, parameters)
    make = {
        METHODS[0]: lambda: closed_set(closed),
        METHODS[1]: lambda: open_set(opened, threshold, moving_decision=moving),
        METHODS[2]: lambda: open_set_openmax(opened, parameters, fixed, shared_temperature=shared),
    }
    panels = {}
    for method in VARIANTS[variant]:
        for when, answers in make[method]().items():
            if variant == "normalised":
                answers = normalised(answers)
            if variant == "known confidence":
                answers = replace(answers, rejected="known")
            panels[method, when] = answers
    return panels


def normalised(answers: Answers) -> Answers:
    """Return answers whose K + 1 probabilities have the sum 1."""
    total = answers.probabilities.sum(axis=1) + answers.unknown
    return replace(
        answers,
        probabilities=answers.probabilities / total[:, None],
        unknown=answers.unknown / total,
    )


def measure(answers: Answers, bins: int, weights: np.ndarray) -> Iterator[dict]:
    """Yield the metrics of one panel with bootstrap replicates, `weights` [replicates, N]."""
    confidence = answers.confidence
    correct = answers.correct
    unknown = answers.labels < 0
    errors = metrics.open_set_squared_errors(answers.probabilities, answers.unknown, answers.labels)

    def mean(values: np.ndarray) -> tuple[float, np.ndarray]:
        return values.mean(), metrics.weighted_mean(values, weights)

    measured: dict[str, tuple[float, np.ndarray]] = {
        "accuracy": mean(correct),
        "brier": mean(errors),
        "ece": (
            metrics.calibration_error(confidence, correct, bins=bins),
            metrics.weighted_calibration_error(confidence, correct, weights, bins=bins),
        ),
        "ece_floor": (
            metrics.calibration_error_floor(confidence, bins=bins),
            metrics.weighted_calibration_error_floor(confidence, weights, bins=bins),
        ),
        "temperature": (answers.temperature, _NO_REPLICATES),
    }
    if unknown.any():
        measured |= {"rejected": mean(answers.answers < 0), "unknown": mean(unknown)}
    if answers.threshold is not None:
        measured["threshold"] = (answers.threshold, _NO_REPLICATES)
    for metric, (value, replicates) in measured.items():
        yield results.row("test", metric, value, len(answers.labels), replicates)


def bins_of(answers: Answers, bins: int) -> Iterator[dict]:
    """Yield the accuracy and the confidence of each bin of a reliability diagram."""
    curve = metrics.reliability_curve(answers.confidence, answers.correct, bins=bins)
    numbers = np.rint(curve.edges[:, 1] * bins).astype(int)
    for index, number in enumerate(numbers):
        images = int(curve.count[index])
        for metric in ("accuracy", "confidence"):
            name = f"{metric}_in_bin_{number:02}_of_{bins}"
            value = getattr(curve, metric)[index]
            yield results.row("test", name, value, images)


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
