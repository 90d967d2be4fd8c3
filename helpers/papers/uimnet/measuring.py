"""What a network, or an ensemble, is worth in-domain and out-domain."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from helpers import cache, metrics, scores
from helpers.data import Images, ImageStream
from helpers.outputs import Outputs, ensemble
from helpers.papers.uimnet.imagenot import Roles
from helpers.papers.uimnet.networks import Algorithm, Trial
from helpers.papers.uimnet.protocol import Protocol, score_of
from helpers.scores import calibration
from helpers.scores.jacobian import jacobian_norms
from helpers.scores.tta import augmented_probabilities
from helpers.training.fitted import VERSIONS, Fitted
from helpers.training.loop import reproducible

OF_PROBABILITIES = ("msp", "gap", "entropy")
"""Measures that a temperature changes through the probabilities alone."""
OF_IMAGES = ("jacobian", "tta")
"""Measures for which images are shown to the network again."""
# read when the code is loaded: the files may change before a long run comes to use them
_AGAIN = {
    name: cache.code(f"helpers.scores.{name}", "helpers.networks.models.create")
    for name in OF_IMAGES
}


@dataclass(frozen=True)
class Answers:
    """What one network, or an ensemble, says about the images of each role.

    Attributes
    ----------
    validation, test, out : Outputs
    networks : tuple of Fitted
        Those that answer together.
    train : Outputs, optional
        What the mixture of Gaussians is fitted to.
    """

    validation: Outputs
    test: Outputs
    out: Outputs
    networks: tuple[Fitted, ...]
    train: Outputs | None = None

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


def answers(
    trials: Sequence[Trial], roles: Roles, algorithm: Algorithm, *, train: bool = True
) -> Answers:
    """Return what a trial says, or several of them as an ensemble.

    Parameters
    ----------
    trials : sequence of Trial
        None of which diverged.
    roles : Roles
    algorithm : Algorithm
    train : bool
        Whether the training images are answered, too.
    """

    def of(images, passes=algorithm.passes) -> Outputs:
        found = [one.fitted.outputs(images, passes=passes) for one in trials]
        return found[0] if len(found) == 1 else ensemble(found)

    return Answers(
        of(roles.validation),
        of(roles.test),
        of(roles.out),
        tuple(one.fitted for one in trials),
        of(roles.train, passes=0) if train else None,  # for its features,
    )


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
    algorithm: Algorithm, found: Answers, roles: Roles, measures: Sequence[str], protocol: Protocol
) -> Iterator[dict]:
    """Yield all metrics of a network or an ensemble, before and after temperature scaling.

    A measure that a temperature does not change is there before scaling alone.  The mixture of
    Gaussians is fitted to the training images, as in the authors' code: their text says the
    validation images, but those also give the threshold, and around the few of a class that it was
    fitted to a mixture is so dense that it refuses all other images.
    """
    sets = {"validation": found.validation, "test": found.test, "out": found.out}
    images = {"validation": roles.validation, "test": roles.test, "out": roles.out}
    temperatures = {"before": 1.0, "after": found.temperature}
    for when, temperature in temperatures.items():
        at = {name: scaled(outputs, temperature) for name, outputs in sets.items()}
        for row in in_domain(algorithm.name, at["test"], protocol):
            yield {"calibration": when} | row
        for measure in measures:
            name = score_of(measure, algorithm.name, ensemble=len(found.networks) > 1)
            if name is None or (when == "after" and name not in (*OF_PROBABILITIES, *OF_IMAGES)):
                continue
            if name == "jacobian" and algorithm.passes:
                continue  # its probabilities are those of random passes
            most = protocol.jacobian_images if name == "jacobian" else None
            places = {key: (spread(len(one), most), len(one)) for key, one in sets.items()}
            if name in OF_IMAGES:
                index = list(temperatures).index(when)
                some = {key: one.subset(places[key][0]) for key, one in images.items()}
                values = {
                    key: of_images(name, found.networks, one, [*temperatures.values()], protocol)
                    for key, one in some.items()
                }
                values = {key: one[index] for key, one in values.items()}
            else:
                score = scores.create(name).fit(
                    found.train if name == "gmm" else found.validation, None
                )
                some = at if name in OF_PROBABILITIES else sets
                values = {key: score.score_samples(one) for key, one in some.items()}
            for row in out_domain(f"{algorithm.name}/{measure}", values, protocol, places):
                yield {"calibration": when} | row


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


def of_images(
    name: str,
    networks: Sequence[Fitted],
    images: Images | ImageStream,
    temperatures: Sequence[float],
    protocol: Protocol,
) -> np.ndarray:
    """Return the scores of a measure that shows the images to the networks again, kept by content.

    Returns
    -------
    ndarray of float64, shape [temperatures, N]
        Higher = more likely in-domain.
    """
    own = {"copies": protocol.tta_copies, "seed": protocol.seed} if name == "tta" else {}
    size = networks[0].recipe.image_size
    key = cache.key(
        networks=[one.sha256 for one in networks],
        images=images.sha256,
        temperatures=list(temperatures),
        code=_AGAIN[name],
        image_size=size,
        **own,
        **VERSIONS,
    )

    def make() -> np.ndarray:
        classifiers = [one.classifier for one in networks]
        with reproducible(networks[0].device, networks[0].recipe.threads):
            if name == "jacobian":
                return -jacobian_norms(
                    classifiers, images, temperatures=temperatures, image_size=size
                )
            found = augmented_probabilities(
                classifiers, images, temperatures=temperatures, image_size=size, **own
            )
            return found.max(axis=2)

    return cache.array(name, key, make)
