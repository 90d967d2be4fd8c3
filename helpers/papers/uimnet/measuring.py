"""From what a model says to rows: in-domain, and out-domain by every measure.

A measure is a score of `helpers.scores`, whose record says what it needs.  One that learns does so
from the training images and the head, never from the validation images: these give the threshold.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from helpers import metrics, scores
from helpers.networks.model import Model
from helpers.outputs import Outputs
from helpers.papers.run import Draw
from helpers.papers.uimnet.measures import RECORDS, record, score_of
from helpers.papers.uimnet.roles import DomainSplit
from helpers.report import results
from helpers.scores import calibration
from helpers.scores.images import ImageScore
from helpers.scores.info import LACKING, lacking

if TYPE_CHECKING:
    from helpers.papers.uimnet.parameters import Parameters
    from helpers.scores import Score

log = logging.getLogger(__name__)
SETS = ("validation", "test", "out")


@dataclass(frozen=True)
class DomainOutputs:
    """What a model says of the images of each role, asked for when it is looked at.

    Attributes
    ----------
    model : Model
        A trial's network, or those of several trials as an ensemble.
    split : DomainSplit
    sets : dict of str to Outputs
        Of ``validation``, ``test`` and ``out``.
    train, train_features : Outputs
        Of the training images; and the same without dropout, for those who look at features alone.
    temperature : float
        Fitted to the in-domain validation images.
    """

    model: Model
    split: DomainSplit

    @cached_property
    def sets(self) -> dict[str, Outputs]:
        return {name: self.model.outputs(getattr(self.split, name)) for name in SETS}

    @cached_property
    def train(self) -> Outputs:
        return self.model.outputs(self.split.train)

    @cached_property
    def train_features(self) -> Outputs:
        without = replace(self.model, passes=0)
        return without.outputs(self.split.train) if self.model.passes else self.train

    @cached_property
    def temperature(self) -> float:
        held = self.sets["validation"]
        logits = calibration.log_probabilities(held.probabilities, np.float64)
        return calibration.fit_temperature(logits, held.labels)

    @property
    def members(self) -> list[DomainOutputs]:
        """The same of each network alone."""
        models = [replace(self.model, networks=(one,)) for one in self.model.networks]
        return [replace(self, model=one) for one in models]


def measure(parameters: Parameters, found: DomainOutputs, draw: Draw) -> Iterator[dict]:
    """Yield all metrics of a network or an ensemble, before and after temperature scaling.

    A measure that a temperature does not change is there before scaling alone.
    """
    for when, temperature in (("before", 1.0), ("after", found.temperature)):
        test = calibration.scale_outputs(found.sets["test"], temperature)
        columns = {"method": found.model.name, "calibration": when}
        for row in measure_in_domain(test, parameters.bins, draw):
            yield columns | row
        for one in parameters.measures:
            columns = {"method": f"{found.model.name}/{one}", "calibration": when}
            for row in _rows_of_measure(parameters, one, found, when == "after", draw):
                yield columns | row


def _rows_of_measure(
    parameters: Parameters, measure: str, found: DomainOutputs, after: bool, draw: Draw
) -> list[dict]:
    """Return the rows of a measure; of one that cannot be had, the one that says why.

    Where one of the paper's own cannot be had there is none, as in its tables.
    """
    known, model = record(measure), found.model
    name = score_of(measure, model.name, ensemble=len(model.networks) > 1)
    if not name:
        return []
    offered = {"copies": parameters.tta_copies, "seed": parameters.seed}
    arguments = parameters.score_arguments.get(name, {})
    score = scores.create(name, offered=offered, **arguments)
    if after and not is_scaled(score):
        return []
    lacks = lacking(score.info.needs, model, found.sets["test"])
    if lacks and not (known.without_dropout and lacks == ["images"]):
        why = f"'{name}' " + "; ".join(LACKING[one] for one in lacks)
        return [] if measure in RECORDS else [_failed(found, why)]
    most = getattr(parameters, known.most) if known.most else None
    places = {key: spread(len(outputs), most) for key, outputs in found.sets.items()}
    try:
        if "images" in score.info.needs:
            values = score_images(score, found, places, after)
        else:
            values = score_outputs(score, found, after, density=known.density)
        drawn = {key: draw(key, len(found.sets[key]))[:, places[key]] for key in ("test", "out")}
        return list(measure_out_domain(values, parameters.keep, drawn))
    except Exception as error:  # of one score, which ends none of the others
        log.warning("%s of %s: %s", measure, model.name, error)
        return [_failed(found, f"{type(error).__name__}: {error}")]


def _failed(found: DomainOutputs, why: str) -> dict:
    return results.row("out", "failed", 1.0, len(found.sets["out"]), notes=why)


def is_scaled(score: Score) -> bool:
    """Tell whether a score is of probabilities alone, which a temperature changes.

    Examples
    --------
    >>> [is_scaled(scores.create(name)) for name in ("entropy", "jacobian", "energy", "odin")]
    [True, True, False, False]
    """
    if "images" in score.info.needs:
        refused = ImageScore.at_temperatures
        return getattr(type(score), "at_temperatures", refused) is not refused
    return score.info.needs == ("logits",)


def score_images(
    score: Score, found: DomainOutputs, places: Mapping[str, np.ndarray], after: bool
) -> dict[str, np.ndarray]:
    """Return what a score says of some images of each role, which it is shown again."""
    values = {}
    for key, own in places.items():
        images = getattr(found.split, key).subset(own)
        if is_scaled(score):  # both at once, since that costs no more than one
            at = score.at_temperatures(found.model, images, [1.0, found.temperature])
            values[key] = at[int(after)]
        else:
            values[key] = scores.score(score, found.model, images)
    return values


def score_outputs(
    score: Score, found: DomainOutputs, after: bool = False, *, density: bool = False
) -> dict[str, np.ndarray]:
    """Return what a score says of the outputs of each role, fitted where it learns.

    The mixture of Gaussians, too, learns from the training images, as in the authors' code: their
    text says the validation images, but around the few of a class that it was fitted to a mixture
    is so dense that it refuses all other images.

    Parameters
    ----------
    score : Score
    found : DomainOutputs
    after : bool
        At the learned temperature.
    density : bool
        Of an ensemble, the mean of its networks' densities: one is held in memory at a time.
    """
    if density and len(found.model.networks) > 1:
        each = [score_outputs(copy(score), one, after) for one in found.members]
        return {key: mean_density([one[key] for one in each]) for key in SETS}
    sets = found.sets
    if is_scaled(score):
        temperature = found.temperature if after else 1.0
        sets = {key: calibration.scale_outputs(one, temperature) for key, one in sets.items()}
    if score.info.fits:
        learnt = found.train if "logits" in score.info.needs else found.train_features
        score.fit(learnt, found.model.head)
    return {key: score.score_samples(one) for key, one in sets.items()}


def mean_density(each: Sequence[np.ndarray]) -> np.ndarray:
    r"""Return the logarithm of the mean of densities that are given as logarithms.

    .. math:: \log \frac1k \sum_{i=1}^k e^{d_i}

    Examples
    --------
    >>> np.exp(mean_density([np.log([1.0, 4.0]), np.log([3.0, 4.0])])).round(6)
    array([2., 4.])
    >>> mean_density([np.array([-2000.0]), np.array([-2000.0])])
    array([-2000.])
    """
    return logsumexp(each, axis=0) - np.log(len(each))


def measure_in_domain(outputs: Outputs, bins: int, draw: Draw) -> Iterator[dict]:
    """Yield the in-domain metrics of test images: accuracy, its top five, ECE and NLL."""
    weights = draw("test", len(outputs))
    probabilities, labels, right = outputs.probabilities, outputs.labels, outputs.correct
    true = probabilities[np.arange(len(labels)), labels]
    top = min(5, outputs.num_classes)
    among_top = (probabilities > true[:, None]).sum(axis=1) < top
    confidence, loss = probabilities.max(axis=1), -np.log(np.maximum(true, 1e-38))
    found = {
        "accuracy": right.mean(),
        "accuracy_top5": metrics.accuracy(probabilities, labels, top=top),
        "ece": metrics.ece(probabilities, labels, bins=bins),
        "nll": metrics.nll(probabilities, labels),
    }
    means = {"accuracy": right, "accuracy_top5": among_top, "nll": loss}
    replicates = {name: metrics.weighted_mean(one, weights) for name, one in means.items()}
    replicates["ece"] = metrics.weighted_calibration_error(confidence, right, weights, bins=bins)
    for metric, value in found.items():
        yield results.row("test", metric, value, len(outputs), replicates[metric])


def measure_out_domain(
    values: Mapping[str, np.ndarray], keep: float, weights: Mapping[str, np.ndarray]
) -> Iterator[dict]:
    """Yield the out-domain metrics of one measure.

    Parameters
    ----------
    values : mapping of str to ndarray
        Scores, higher = more likely in-domain, of ``validation``, ``test`` and ``out``.
    keep : float
        The threshold keeps this share of the validation images.
    weights : mapping of str to ndarray, shape [replicates, N]
        Of the images of ``test`` and ``out``.
    """
    known, unknown = values["test"], values["out"]
    area = metrics.weighted_auroc(known, unknown, weights["test"], weights["out"])
    images = len(known) + len(unknown)
    yield results.row("out", "auroc", metrics.auroc(known, unknown), images, area)
    threshold = metrics.rejection_threshold(values["validation"], keep=keep)
    found = metrics.domain_confusion(known, unknown, threshold)
    inside = metrics.weighted_mean(known >= threshold, weights["test"])
    outside = metrics.weighted_mean(unknown < threshold, weights["out"])
    for metric, value, count, replicates in (
        ("in_as_in", found.InAsIn, len(known), inside),
        ("in_as_out", found.InAsOut, len(known), 1 - inside),
        ("out_as_in", found.OutAsIn, len(unknown), 1 - outside),
        ("out_as_out", found.OutAsOut, len(unknown), outside),
    ):
        yield results.row("out", metric, value, count, replicates)


def spread(images: int, most: int | None) -> np.ndarray:
    """Return the places of at most so many images, evenly: sets may be sorted by class.

    Examples
    --------
    >>> spread(10, 4), spread(3, None)
    (array([0, 3, 6, 9]), array([0, 1, 2]))
    """
    if most is None or most >= images:
        return np.arange(images)
    return np.linspace(0, images - 1, most).astype(int)
