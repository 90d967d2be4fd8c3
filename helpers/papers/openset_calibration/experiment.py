"""The protocol of *Evaluating Uncertainty Calibration for Open-Set Recognition*.

Lyu, Gutierrez and Beksi (2022): {closed-set, open-set by threshold, open-set with OpenMax} ×
{before, after temperature scaling}, by Brier score, ECE and accuracy. Where the paper is
silent, the choices are `Protocol`'s defaults and the variants that `evaluate` tabulates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import pandas as pd
from tqdm import tqdm

from helpers import metrics
from helpers.checks import known_name
from helpers.networks.recipe import Recipe
from helpers.outputs import Outputs
from helpers.papers.openset_calibration import roles as benchmark
from helpers.papers.openset_calibration.roles import Protocol
from helpers.report import results
from helpers.scores import calibration, openset
from helpers.training.fitted import Fitted, fit

PAPER = "openset_calibration"
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
}
"""Ways to read what the paper leaves open, and the methods on which each makes a difference.

``primary`` is this book's choice. ``half`` rejects below 0.5 whatever the network. ``moving
decision`` applies the same threshold again to the scaled probabilities; ``known confidence``
takes a rejected image's largest known probability for its confidence; ``normalised`` divides the
K + 1 values by their sum; ``shared temperature`` scales OpenMax by the temperature of the plain
softmax; ``long tail`` fits its Weibulls to a fifth of the correct training images of a class
(their mean number), ``cosine`` takes its other distance.
"""


@dataclass(frozen=True)
class Answers:
    """What one method says about a test set, before or after temperature scaling.

    Attributes
    ----------
    probabilities : ndarray of float64, shape [N, K]
        Of the known classes.
    unknown : ndarray of float64, shape [N]
        Probability of "unknown"; zero in the closed set.
    answers : ndarray of int64, shape [N]
        0 … K − 1, or −1 for "unknown".
    labels : ndarray of int64, shape [N]
        Likewise.
    temperature : float
        1 before scaling.
    threshold : float or None
        Of the maximum probability, where the method has one.
    rejected : str
        What a rejected image's confidence is: see `metrics.answer_confidence`.
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
        """Whether the answer is right in the (K + 1)-class problem, bool [N]."""
        return self.answers == self.labels

    def normalised(self) -> Answers:
        """Return the same answers with vectors that sum to 1."""
        total = self.probabilities.sum(axis=1) + self.unknown
        return replace(
            self, probabilities=self.probabilities / total[:, None], unknown=self.unknown / total
        )


@dataclass(frozen=True)
class Network:
    """A trained network with its split and its outputs on it."""

    split: benchmark.Split
    fitted: Fitted

    @cached_property
    def train(self) -> Outputs:
        """On the training images, without augmentation."""
        return self.fitted.outputs(self.split.train)

    @cached_property
    def calibration(self) -> Outputs:
        """On the held-out images of known classes."""
        return self.fitted.outputs(self.split.calibration)

    @cached_property
    def test(self) -> Outputs:
        """On the test images, all classes."""
        return self.fitted.outputs(self.split.test)


def network(
    data_set: str,
    setting: str,
    run: int,
    recipe: Recipe,
    protocol: Protocol,
    *,
    download: bool = False,
    progress: bool = True,
) -> Network:
    """Train the network of one run in one setting, or take it from the cache.

    Parameters
    ----------
    data_set : str
        One of `helpers.data.names`.
    setting : str
        ``closed-set`` or ``open-set``: two different networks.
    run : int
        Decides the known classes, the held-out images and the initial weights.
    recipe : Recipe
        Architecture and training.
    protocol : Protocol
        Only what concerns the split and the seed matters here.
    download, progress : bool
        Let torchvision download; show a progress bar.
    """
    split = benchmark.split(
        data_set,
        setting,
        run,
        known=protocol.known,
        calibration_share=protocol.calibration_share,
        seed=protocol.seed,
        download=download,
    )
    seed = protocol.seed * 1000 + run
    return Network(split, fit(split.train, recipe, seed=seed, progress=progress))


def closed_set(network: Network) -> dict[str, Answers]:
    """Answer without "unknown", before and after temperature scaling."""
    held = network.calibration
    temperatures = {"before": 1.0, "after": calibration.fit_temperature(held.logits, held.labels)}
    answers, nothing = network.test.predictions, np.zeros(len(network.test))
    return {
        when: Answers(
            calibration.softmax(network.test.logits, temperature),
            nothing,
            answers,
            network.test.labels,
            temperature,
        )
        for when, temperature in temperatures.items()
    }


def rejection_threshold(network: Network, protocol: Protocol) -> float:
    """Return the largest threshold on the maximum probability that keeps the held-out images."""
    confidences = network.calibration.probabilities.max(axis=1)
    return metrics.rejection_threshold(confidences, keep=protocol.keep)


def open_set(
    network: Network, threshold: float, *, moving_decision: bool = False
) -> dict[str, Answers]:
    """Answer "unknown" below a threshold on the maximum probability, before and after scaling.

    The decision is taken once, on the unscaled probabilities, so that scaling changes
    confidences and not answers, as the paper's single accuracy per setting wants it;
    with `moving_decision` the same threshold meets the scaled probabilities again.
    """
    closed = closed_set(network)
    decided = openset.open_set_answer(closed["before"].probabilities, threshold)
    return {
        when: replace(
            one,
            unknown=openset.unknown_probability(one.probabilities),
            answers=openset.open_set_answer(one.probabilities, threshold)
            if moving_decision
            else decided,
            threshold=threshold,
        )
        for when, one in closed.items()
    }


def correct_per_class(network: Network) -> float:
    """Return the mean number of correctly classified training images of a class."""
    return network.train.correct.sum() / network.train.num_classes


def open_set_openmax(
    network: Network, protocol: Protocol, *, shared_temperature: bool = False
) -> dict[str, Answers]:
    """Answer by OpenMax, before and after temperature scaling of the K + 1 revised logits.

    The temperature is fitted to what it divides, the revised logits of the held-out images;
    with `shared_temperature` it is the one of the plain softmax.
    """
    model = openset.OpenMax(protocol.tail, protocol.alpha or None, protocol.distance)
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
    closed: Network, opened: Network, protocol: Protocol, variant: str = "primary"
) -> dict[tuple[str, str], Answers]:
    """Return the answers of each method, before and after scaling, as one variant has them.

    Parameters
    ----------
    closed, opened : Network
        The two networks of a run.
    protocol : Protocol
    variant : str
        One of `VARIANTS`.

    Returns
    -------
    dict of (method, calibration) to Answers
        Of the methods on which the variant makes a difference.
    """
    known_name("variant", variant, VARIANTS)
    if variant == "long tail":
        protocol = replace(protocol, tail=max(2, round(0.2 * correct_per_class(opened))))
    if variant == "cosine":
        protocol = replace(protocol, distance="euclidean_cosine")
    moving, shared = variant == "moving decision", variant == "shared temperature"
    threshold = 0.5 if variant == "half" else rejection_threshold(opened, protocol)
    make = {
        METHODS[0]: lambda: closed_set(closed),
        METHODS[1]: lambda: open_set(opened, threshold, moving_decision=moving),
        METHODS[2]: lambda: open_set_openmax(opened, protocol, shared_temperature=shared),
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


@lru_cache(maxsize=4)
def _weights(images: int, replicates: int, seed: int) -> np.ndarray:
    """Return the resampling weights of a test set: the same ones for all that see it."""
    return metrics.resample_weights(images, replicates=replicates, seed=seed)


def measure(answers: Answers, protocol: Protocol) -> Iterator[dict]:
    """Compute the metrics of one panel, each with its bootstrap replicates.

    Yields
    ------
    dict
        ``metric``, ``value``, ``bootstrap``, ``images``: the part of a record of
        `results.tidy` that the answers alone decide.
    """
    images = len(answers.labels)
    weights = _weights(images, protocol.replicates, protocol.seed)
    bins = {"bins": protocol.bins}
    errors = metrics.open_set_squared_errors(answers.probabilities, answers.unknown, answers.labels)
    confidence, correct = answers.confidence, answers.correct
    measured = {
        "accuracy": (correct.mean(), metrics.weighted_mean(correct, weights)),
        "brier": (errors.mean(), metrics.weighted_mean(errors, weights)),
        "ece": (
            metrics.calibration_error(confidence, correct, **bins),
            metrics.weighted_calibration_error(confidence, correct, weights, **bins),
        ),
        "ece_floor": (
            metrics.calibration_error_floor(confidence, **bins),
            metrics.weighted_calibration_error_floor(confidence, weights, **bins),
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
        yield {
            "metric": metric,
            "value": float(value),
            "bootstrap": np.asarray(replicates, dtype=np.float32),
            "images": images,
        }


def evaluate(
    tier: str,
    data_sets: list[str],
    networks: Mapping[str, Recipe],
    runs: int,
    protocol: Protocol,
    *,
    download: bool = False,
    progress: bool = True,
) -> pd.DataFrame:
    """Evaluate every data set, network and run; train what is not in the cache.

    Parameters
    ----------
    tier : str
        Goes into the table.
    data_sets : list of str
    networks : mapping of str to Recipe
        Under the names that the table has in its column ``backbone``.
    runs : int
        Random splits, numbered from 0.
    protocol : Protocol
    download, progress : bool
        Let torchvision download; show a progress bar.

    Returns
    -------
    DataFrame
        A results table (see `helpers.report.results`), all `VARIANTS` in it.
    """
    cells = [(d, n, r) for d in data_sets for n in networks for r in range(runs)]
    tables = []
    for data_set, name, run in tqdm(cells, desc="evaluating", disable=not progress):
        recipe = networks[name]
        pair = {
            setting: network(
                data_set, setting, run, recipe, protocol, download=download, progress=progress
            )
            for setting in benchmark.SETTINGS
        }
        identity = {"tier": tier, "paper": PAPER, "data_set": data_set, "backbone": name}
        records: dict[str, list[dict]] = {setting: [] for setting in benchmark.SETTINGS}
        for variant in VARIANTS:
            for (method, when), answers in panels(*pair.values(), protocol, variant).items():
                key = {"run": run, "method": method, "calibration": when, "variant": variant}
                setting = "closed-set" if method == "closed-set" else "open-set"
                records[setting] += [identity | key | row for row in measure(answers, protocol)]
        for setting, rows in records.items():
            fitted = pair[setting].fitted
            parameters = {"recipe": recipe.as_dict(), "protocol": asdict(protocol)} | identity
            tables.append(
                results.tidy(
                    rows,
                    results.provenance(
                        parameters,
                        seed=protocol.seed,
                        device=fitted.device_name,
                        seconds=fitted.seconds,
                    ),
                )
            )
    return pd.concat(tables, ignore_index=True)
