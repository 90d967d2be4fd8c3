"""What a network, or an ensemble, is worth in-domain and out-domain."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from helpers import metrics, scores
from helpers.networks.model import Model
from helpers.outputs import Outputs
from helpers.papers.uimnet.imagenot import Roles
from helpers.papers.uimnet.networks import Algorithm, Trial
from helpers.papers.uimnet.protocol import Protocol, score_of
from helpers.scores import calibration


@dataclass(frozen=True)
class Answers:
    """What a model says about the images of each role, asked for when it is looked at.

    Attributes
    ----------
    model : Model
        A trial's network, or those of several trials as an ensemble.
    roles : Roles
    validation, test, out, train : Outputs
        The last one without dropout: it is there for the features.
    """

    model: Model
    roles: Roles

    @cached_property
    def validation(self) -> Outputs:
        return self.model.outputs(self.roles.validation)

    @cached_property
    def test(self) -> Outputs:
        return self.model.outputs(self.roles.test)

    @cached_property
    def out(self) -> Outputs:
        return self.model.outputs(self.roles.out)

    @cached_property
    def train(self) -> Outputs:
        return replace(self.model, passes=0).outputs(self.roles.train)

    @cached_property
    def temperature(self) -> float:
        """Fitted to the in-domain validation images."""
        held = log_probabilities(self.validation)
        return calibration.fit_temperature(held, self.validation.labels)


def log_probabilities(outputs: Outputs) -> np.ndarray:
    """Return logits whose softmax the probabilities are, be they a mean over members, [N, K]."""
    tiny = np.finfo(np.float32).tiny  # a probability that underflowed has no logarithm
    return np.log(np.maximum(outputs.probabilities, tiny))


def scaled(outputs: Outputs, temperature: float) -> Outputs:
    """Return outputs with probabilities at a temperature, and without members."""
    logits = log_probabilities(outputs) / temperature
    return Outputs(logits, outputs.features, outputs.labels)


def answers(trials: Sequence[Trial], roles: Roles, algorithm: Algorithm) -> Answers:
    """Return what a trial says, or several of them, none of which diverged, as an ensemble."""
    networks = tuple(one.fitted for one in trials)
    return Answers(Model(algorithm.name, networks, algorithm.passes), roles)


@lru_cache(maxsize=16)
def _weights(name: str, images: int, replicates: int, seed: int) -> np.ndarray:
    return metrics.resample_weights(
        images, replicates=replicates, seed=seed + zlib.crc32(name.encode())
    )


def row_of(
    method: str, test_set: str, metric: str, value: float, images: int, replicates=()
) -> dict:
    return {
        "method": method,
        "test_set": test_set,
        "metric": metric,
        "value": float(value),
        "images": int(images),
        "bootstrap": np.asarray(replicates, dtype=np.float32),
    }


def in_domain(name: str, outputs: Outputs, protocol: Protocol) -> Iterator[dict]:
    """Yield the in-domain metrics of an algorithm: accuracy, its top five, ECE and NLL."""
    weights = _weights("test", len(outputs), protocol.replicates, protocol.seed)
    probabilities, labels, bins = outputs.probabilities, outputs.labels, protocol.bins
    confidence = probabilities.max(axis=1)
    ranks = (probabilities > probabilities[np.arange(len(labels)), labels][:, None]).sum(axis=1)
    loss = -np.log(np.maximum(probabilities[np.arange(len(labels)), labels], 1e-38))
    top = min(5, outputs.num_classes)
    for metric, value, replicates in (
        ("accuracy", outputs.correct.mean(), metrics.weighted_mean(outputs.correct, weights)),
        (
            "accuracy_top5",
            metrics.accuracy(probabilities, labels, top=top),
            metrics.weighted_mean(ranks < top, weights),
        ),
        (
            "ece",
            metrics.ece(probabilities, labels, bins=bins),
            metrics.weighted_calibration_error(confidence, outputs.correct, weights, bins=bins),
        ),
        ("nll", metrics.nll(probabilities, labels), metrics.weighted_mean(loss, weights)),
    ):
        yield row_of(name, "test", metric, value, len(outputs), replicates)


def out_domain(
    method: str,
    values: Mapping[str, np.ndarray],
    protocol: Protocol,
    places: Mapping[str, tuple[np.ndarray, int]],
) -> Iterator[dict]:
    """Yield the out-domain metrics of one measure.

    Parameters
    ----------
    method : str
        ``ALGORITHM/MEASURE``.
    values : mapping of str to ndarray
        Scores, higher = more likely in-domain, of ``validation``, ``test`` and ``out``.
    protocol : Protocol
    places : mapping of str to (ndarray of int, int)
        Which images of each set these are, and how many the set has.
    """
    known, unknown = values["test"], values["out"]
    weights = [
        _weights(name, places[name][1], protocol.replicates, protocol.seed)[:, places[name][0]]
        for name in ("test", "out")
    ]
    images = len(known) + len(unknown)
    area = metrics.weighted_auroc(known, unknown, *weights)
    yield row_of(method, "out", "auroc", metrics.auroc(known, unknown), images, area)
    threshold = metrics.rejection_threshold(values["validation"], keep=protocol.keep)
    found = metrics.domain_confusion(known, unknown, threshold)
    inside = metrics.weighted_mean(known >= threshold, weights[0])
    outside = metrics.weighted_mean(unknown < threshold, weights[1])
    for metric, value, count, replicates in (
        ("in_as_in", found.InAsIn, len(known), inside),
        ("in_as_out", found.InAsOut, len(known), 1 - inside),
        ("out_as_in", found.OutAsIn, len(unknown), 1 - outside),
        ("out_as_out", found.OutAsOut, len(unknown), outside),
    ):
        yield row_of(method, "out", metric, value, count, replicates)


def measured(
    algorithm: Algorithm, found: Answers, measures: Sequence[str], protocol: Protocol
) -> Iterator[dict]:
    """Yield all metrics of a network or an ensemble, before and after temperature scaling.

    A measure that a temperature does not change is there before scaling alone.  The mixture of
    Gaussians is fitted to the training images, as in the authors' code: their text says the
    validation images, but those also give the threshold, and around the few of a class that it was
    fitted to a mixture is so dense that it refuses all other images.
    """
    sets = {name: getattr(found, name) for name in ("validation", "test", "out")}
    images = {name: getattr(found.roles, name) for name in sets}
    temperatures = [1.0, found.temperature]
    for index, when in enumerate(("before", "after")):
        at = {name: scaled(outputs, temperatures[index]) for name, outputs in sets.items()}
        for row in in_domain(algorithm.name, at["test"], protocol):
            yield {"calibration": when} | row
        for measure in measures:
            name = score_of(measure, algorithm.name, ensemble=len(found.model.networks) > 1)
            if name is None or (name == "jacobian" and algorithm.passes):
                continue  # its probabilities are those of random passes
            score = make_score(name, protocol)
            of_images = "images" in score.info.needs
            of_logits = "logits" in score.info.needs
            if when == "after" and not of_images and not of_logits:
                continue
            most = protocol.jacobian_images if name == "jacobian" else None
            places = {key: (spread(len(one), most), len(one)) for key, one in sets.items()}
            if of_images:
                some = {key: one.subset(places[key][0]) for key, one in images.items()}
                values = {
                    key: score.at_temperatures(found.model, one, temperatures)[index]
                    for key, one in some.items()
                }
            else:
                if score.info.fits:
                    score.fit(found.train, found.model.head)
                some = at if of_logits else sets
                values = {key: score.score_samples(one) for key, one in some.items()}
            for row in out_domain(f"{algorithm.name}/{measure}", values, protocol, places):
                yield {"calibration": when} | row


def make_score(name: str, protocol, **arguments) -> scores.Score:
    """Return a score with its arguments, of which a protocol gives the copies and the seed.

    Examples
    --------
    >>> vars(make_score("tta", Protocol(tta_copies=3, seed=1)))
    {'copies': 3, 'seed': 1}
    """
    given = {"copies": protocol.tta_copies, "seed": protocol.seed}
    known = scores.create(name).info.hyper_parameters
    own = {key: value for key, value in given.items() if key in known}
    return scores.create(name, **own | arguments)


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
