"""What a network and a score say about the images of each role, and how good that is."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from helpers import metrics, scores
from helpers.networks.model import Model
from helpers.outputs import Head, Outputs
from helpers.papers.human_centric.networks import of_role, restricted, restricted_head
from helpers.papers.human_centric.roles import Protocol, Roles

KEEPS = {"der95": 0.95, "der99": 0.99}
"""Share of the correctly classified training images that a threshold keeps, by metric."""


@dataclass(frozen=True)
class Judged:
    """What a network says about the images of each role.

    Attributes
    ----------
    head : Head or None
    train, test : Outputs
    input_shifted, label_shifted : dict of str to Outputs
        The former of images of known classes alone, the latter of unknown classes alone.
    sources : dict of str to (str, int, ndarray of int64)
        Where the images of each test set come from: from which set of how many images, and which
        of these they are.
    """

    head: Head | None
    train: Outputs
    test: Outputs
    input_shifted: dict[str, Outputs]
    label_shifted: dict[str, Outputs]
    sources: dict[str, tuple[str, int, np.ndarray]]

    @property
    def sets(self) -> dict[str, Outputs]:
        """All test sets by name."""
        return {"test": self.test} | self.input_shifted | self.label_shifted


def judge(network: Model, roles: Roles, *, all_classes: bool = False) -> Judged:
    """Show every image to a network once; what it has seen before comes from the cache.

    Parameters
    ----------
    network : Model
    roles : Roles
    all_classes : bool
        Let it answer with all of its classes, not only with those of `roles`.

    Raises
    ------
    ValueError
        The network does not know a class of `roles`, or none of an input-shifted set.
    """
    class_names = network.class_names if all_classes else roles.class_names

    def seen(images) -> Outputs:
        return restricted(network, network.outputs(images), class_names)

    sets, sources = {}, {}
    for name, images in roles.sets.items():
        outputs, known = seen(images), name not in roles.label_shifted
        chosen = np.flatnonzero((outputs.labels >= 0) == known)
        if known and not len(chosen):
            raise ValueError(f"{name}: '{network.name}' knows none of its classes by name")
        if len(chosen):  # else all of its images are of classes that are known
            sets[name] = of_role(outputs, known=known)
            base, where = roles.drawn_from.get(name, (name, np.arange(len(images))))
            sources[name] = base, len(roles.sets[base]), where[chosen]
    return Judged(
        restricted_head(network, class_names),
        of_role(seen(roles.train), known=True),
        sets["test"],
        {name: sets[name] for name in roles.input_shifted},
        {name: sets[name] for name in roles.label_shifted if name in sets},
        sources,
    )


@dataclass(frozen=True)
class Scored:
    """What one score says about the images of each role.

    Attributes
    ----------
    thresholds : dict of str to float
        By metric: of those in `KEEPS`.
    sets : dict of str to ndarray of float64
        Its values on each test set.
    """

    thresholds: dict[str, float]
    sets: dict[str, np.ndarray]


def scored(judged: Judged, method: str, protocol: Protocol, *, held_out: bool = False) -> Scored:
    """Fit a score to the training images, take its thresholds from them, and apply it.

    All training images fit the score; those that are classified correctly decide the thresholds
    (Algorithm 1 of the paper, with its text's rather than its loop's choice of images).  A score
    that has learnt its training images by heart then gets thresholds that other images do not
    reach; with `held_out`, thresholds come from images that it was not fitted to.

    Raises
    ------
    ValueError
        No training image is classified correctly, or the score cannot be fitted.
    """
    fitted_to = reference = judged.train
    if held_out:
        order = np.random.default_rng(protocol.seed).permutation(len(judged.train))
        fitted_to, reference = (judged.train.subset(np.sort(order[half::2])) for half in (0, 1))
    score = scores.create(method, **protocol.score_arguments.get(method, {}))
    score.fit(fitted_to, judged.head)
    if not reference.correct.any():
        raise ValueError("train: no image is classified correctly, which thresholds are taken from")
    right = score.score_samples(reference)[reference.correct]
    return Scored(
        {name: metrics.rejection_threshold(right, keep=keep) for name, keep in KEEPS.items()},
        {name: score.score_samples(outputs) for name, outputs in judged.sets.items()},
    )


def resampled(judged: Judged, protocol: Protocol) -> dict[str, np.ndarray]:
    """Return the bootstrap weights of each test set: the same ones for all models and scores.

    Images are drawn, and with each of them all that was made of it: an image and its corrupted
    versions are no independent cases.
    """
    return {
        name: _weights(base, length, protocol.replicates, protocol.seed)[:, chosen]
        for name, (base, length, chosen) in judged.sources.items()
    }


@lru_cache(maxsize=64)
def _weights(name: str, images: int, replicates: int, seed: int) -> np.ndarray:
    return metrics.resample_weights(
        images, replicates=replicates, seed=seed + zlib.crc32(name.encode())
    )


def measure(
    judged: Judged,
    method: str,
    protocol: Protocol,
    draw: Mapping[str, np.ndarray],
    *,
    held_out: bool = False,
) -> Iterator[dict]:
    """Compute the metrics of one score.

    Parameters
    ----------
    judged : Judged
    method : str
        The score's name.
    protocol : Protocol
    draw : mapping of str to ndarray
        From `resampled`.
    held_out : bool
        As in `scored`; then the error rates alone.

    Yields
    ------
    dict
        ``test_set``, ``metric``, ``value``, ``images`` and, for the test images and the means over
        sets, ``bootstrap``: the detection error rates of each set and over sets, and the area
        and false positive rate of each label-shifted set against all test images and against the
        correctly classified ones.
    """
    found = scored(judged, method, protocol, held_out=held_out)
    groups = {
        "input-shifted": list(judged.input_shifted),
        "label-shifted": list(judged.label_shifted),
        "average": list(judged.sets),
    }
    for metric, threshold in found.thresholds.items():
        errors = {
            name: (found.sets[name] >= threshold) != outputs.correct
            for name, outputs in judged.sets.items()
        }
        rates = {
            name: metrics.detection_error_rate(found.sets[name], outputs.correct, threshold)
            for name, outputs in judged.sets.items()
        }
        drawn = {name: metrics.weighted_mean(errors[name], draw[name]) for name in errors}
        for name, rate in rates.items():
            yield row_of(
                name, metric, rate, len(errors[name]), drawn[name] if name == "test" else ()
            )
        yield from _means(metric, rates, drawn, {name: len(errors[name]) for name in rates}, groups)
    if held_out:  # what follows asks for no threshold from training images
        return
    plain = {"auroc": metrics.auroc, "fpr_at_tpr": metrics.fpr_at_tpr}
    weighted = {"auroc": metrics.weighted_auroc, "fpr_at_tpr": metrics.weighted_fpr_at_tpr}
    everything = np.arange(len(judged.test))
    for suffix, chosen in (("", everything), ("_correct", np.flatnonzero(judged.test.correct))):
        known, known_weights = found.sets["test"][chosen], draw["test"][:, chosen]
        images = {name: len(chosen) + len(judged.sets[name]) for name in judged.label_shifted}
        for metric in plain:
            rates = {name: plain[metric](known, found.sets[name]) for name in images}
            drawn = {
                name: weighted[metric](known, found.sets[name], known_weights, draw[name])
                for name in images
            }
            for name, rate in rates.items():
                yield row_of(name, metric + suffix, rate, images[name])
            yield from _means(
                metric + suffix, rates, drawn, images, {"label-shifted": list(images)}
            )


def _means(
    metric: str,
    rates: Mapping[str, float],
    drawn: Mapping[str, np.ndarray],
    images: Mapping[str, int],
    groups: Mapping[str, Sequence[str]],
) -> Iterator[dict]:
    """Yield the means over groups of sets; a set counts as much as another, whatever its size."""
    for group, names in groups.items():
        if names:
            value = np.mean([rates[name] for name in names])
            replicates = np.mean([drawn[name] for name in names], axis=0)
            yield row_of(group, metric, value, sum(images[name] for name in names), replicates)


def row_of(test_set: str, metric: str, value: float, images: int, replicates=()) -> dict:
    """Return a row of the results table, as far as the number itself decides it."""
    return {
        "test_set": test_set,
        "metric": metric,
        "value": float(value),
        "images": int(images),
        "bootstrap": np.asarray(replicates, dtype=np.float32),
    }
