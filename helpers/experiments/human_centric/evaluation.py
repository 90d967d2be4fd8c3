"""From networks and scores to rows of the results table."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache

import numpy as np
import pandas as pd
from tqdm import tqdm

from helpers import metrics, results, scores
from helpers.benchmarks import human_centric as benchmark
from helpers.benchmarks.human_centric import Protocol, Roles
from helpers.experiments.human_centric.networks import (
    Network,
    network,
    of_role,
    recipe_of,
    restricted,
    restricted_head,
)
from helpers.outputs import Head, Outputs

PAPER = "human_centric"
KEEPS = {"der95": 0.95, "der99": 0.99}
"""Share of the correctly classified training images that a threshold keeps, by metric."""
ALL_CLASSES = "all classes"
"""The variant in which a network answers with all classes that it has."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Judged:
    """What a network says about the images of each role.

    Attributes
    ----------
    head : Head
    train, test : Outputs
    input_shifted, label_shifted : dict of str to Outputs
        The former of images of known classes alone, the latter of unknown classes alone.
    sources : dict of str to (str, int, ndarray of int64)
        Where the images of each test set come from: from which set of how many images, and which
        of these they are.
    """

    head: Head
    train: Outputs
    test: Outputs
    input_shifted: dict[str, Outputs]
    label_shifted: dict[str, Outputs]
    sources: dict[str, tuple[str, int, np.ndarray]]

    @property
    def sets(self) -> dict[str, Outputs]:
        """All test sets by name."""
        return {"test": self.test} | self.input_shifted | self.label_shifted


def judge(network: Network, roles: Roles, *, all_classes: bool = False) -> Judged:
    """Show every image to a network once; what it has seen before comes from the cache.

    Parameters
    ----------
    network : Network
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


def scored(judged: Judged, method: str, protocol: Protocol) -> Scored:
    """Fit a score to the training images, take its thresholds from them, and apply it.

    All training images fit the score; those that are classified correctly decide the thresholds
    (Algorithm 1 of the paper, with its text's rather than its loop's choice of images).

    Raises
    ------
    ValueError
        No training image is classified correctly, or the score cannot be fitted.
    """
    score = scores.create(method, **protocol.score_arguments.get(method, {}))
    score.fit(judged.train, judged.head)
    if not judged.train.correct.any():
        raise ValueError("train: no image is classified correctly, which thresholds are taken from")
    reference = score.score_samples(judged.train)[judged.train.correct]
    return Scored(
        {name: metrics.rejection_threshold(reference, keep=keep) for name, keep in KEEPS.items()},
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
    judged: Judged, method: str, protocol: Protocol, draw: Mapping[str, np.ndarray]
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

    Yields
    ------
    dict
        ``test_set``, ``metric``, ``value``, ``images`` and, for the test images and the means over
        sets, ``bootstrap``: the detection error rates of each set and over sets, and the area
        and false positive rate of each label-shifted set against all test images and against the
        correctly classified ones.
    """
    found = scored(judged, method, protocol)
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
            yield _row(name, metric, rate, len(errors[name]), drawn[name] if name == "test" else ())
        yield from _means(metric, rates, drawn, {name: len(errors[name]) for name in rates}, groups)
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
                yield _row(name, metric + suffix, rate, images[name])
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
            yield _row(group, metric, value, sum(images[name] for name in names), replicates)


def _row(test_set: str, metric: str, value: float, images: int, replicates=()) -> dict:
    return {
        "test_set": test_set,
        "metric": metric,
        "value": float(value),
        "images": int(images),
        "bootstrap": np.asarray(replicates, dtype=np.float32),
    }


def rows_of(judged: Judged, methods: Sequence[str], protocol: Protocol) -> Iterator[dict]:
    """Yield the rows of one network: of itself, and of each score.

    A score that cannot be had from these outputs has one row, ``failed``, that says why.
    """
    draw = resampled(judged, protocol)
    accuracies = {"test": judged.test} | judged.input_shifted
    for name, outputs in accuracies.items():
        replicates = metrics.weighted_mean(outputs.correct, draw[name])
        row = _row(name, "accuracy", outputs.correct.mean(), len(outputs), replicates)
        yield {"method": "network"} | row
    for method in methods:
        try:
            rows = list(measure(judged, method, protocol, draw))
            yield from [{"method": method} | row for row in rows]
        except Exception as error:  # of one score, which ends none of the others
            log.warning("score %s: %s", method, error)
            yield {"method": method} | failure(error, len(judged.test))


def failure(error: Exception, images: int) -> dict:
    """Return the row of what could not be had, with the reason."""
    said = f"{type(error).__name__}: {error}"
    return _row("test", "failed", 1.0, images) | {"notes": said}


def evaluate(
    tier: str,
    data_set: str,
    roles: Roles,
    names: Sequence[str],
    methods: Sequence[str],
    runs: Sequence[int],
    training: Mapping,
    protocol: Protocol,
    *,
    models: Mapping[str, Mapping] | None = None,
    teachers: Mapping[str, str] | None = None,
    pretrained: Mapping[str, str] | None = None,
    download: bool = False,
    device: str | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Evaluate every model, score and run; train what is not in the cache.

    A model that fails, whatever the reason, is a row of the table and ends nothing.

    Parameters
    ----------
    tier : str
        Goes into the table, like `data_set`.
    data_set : str
    roles : Roles
    names : sequence of str
        Models: those in `models` are trained, others are pretrained networks.
    methods : sequence of str
        Scores, of `helpers.benchmarks.human_centric.METHODS`.
    runs : sequence of int
        Seeds of the training; a pretrained model has run 0 alone.
    training : mapping
        What the recipes of all models share.
    protocol : Protocol
    models, teachers, pretrained, download
        See `networks.network`.
    device, progress
        As in `helpers.training.fitted.fit`.

    Returns
    -------
    DataFrame
        A results table (see `helpers.results`).  A network that has more classes than `roles` is
        there twice, the second time in the variant `ALL_CLASSES`.
    """
    models = models or {}
    for name in models:  # what is wrong with a recipe, now and not hours later
        recipe_of(name, models, training)
    for method in methods:
        scores.create(method, **protocol.score_arguments.get(method, {}))
    cells = [(name, run) for name in names for run in (runs if name in models else runs[:1])]
    tables = []
    for name, run in (bar := tqdm(cells, disable=not progress)):
        bar.set_description(f"{name}, run {run}")
        run = run if name in models else 0
        identity = {"tier": tier, "paper": PAPER, "data_set": data_set, "backbone": name,
                    "run": run}  # fmt: skip
        parameters = {
            "recipe": dict(training) | dict(models.get(name, {})),
            "teacher": (teachers or {}).get(name, ""),
            "pretrained": (pretrained or {}).get(name, ""),
            "protocol": asdict(protocol),
            "sets": {key: one.sha256 for key, one in (roles.sets | {"train": roles.train}).items()},
        }
        made, rows = {"device": "none", "seconds": 0.0}, []
        try:
            found = network(
                name, roles.train, models, training, teachers=teachers, pretrained=pretrained,
                seed=protocol.seed * 1000 + run, download=download, device=device,
                progress=progress,
            )  # fmt: skip
            made = {"device": found.source.device_name, "seconds": found.source.seconds}
            rows = list(_rows_of_network(found, roles, methods, protocol))
        except Exception as error:  # of other people's models, anything
            log.exception("model %s failed; the others go on", name)
            rows = [{"method": "network"} | failure(error, len(roles.test))]
        provenance = results.provenance(parameters, seed=protocol.seed, **made)
        tables.append(results.tidy([identity | row for row in rows], provenance))
    return pd.concat(tables, ignore_index=True)


def _rows_of_network(
    found: Network, roles: Roles, methods: Sequence[str], protocol: Protocol
) -> Iterator[dict]:
    variants = {"primary": False}
    if found.class_names != roles.class_names:
        variants[ALL_CLASSES] = True
    for variant, all_classes in variants.items():
        judged = judge(found, roles, all_classes=all_classes)
        for row in rows_of(judged, methods, protocol):
            yield {"variant": variant} | row
        size = _row("test", "parameters", found.parameters, len(judged.test))
        yield {"variant": variant, "method": "network"} | size


def parts(parameters: Mapping) -> list[str]:
    """Return the models of a section ``evaluation``: what `sweep` can do side by side.

    Teachers come first, so that those who learn from them find them.
    """
    first = set(parameters["teachers"].values())
    return sorted(parameters["names"], key=lambda name: name not in first)


def sweep(
    parameters: Mapping, part: str, *, device: str | None = None, progress: bool = True
) -> pd.DataFrame:
    """Do what the evaluation notebook does for one model, without a notebook.

    Parameters
    ----------
    parameters : mapping
        A section ``evaluation`` of the parameter files.
    part : str
        One of `parts`.
    device, progress
        As in `evaluate`.
    """
    chosen = {one.name: parameters[one.name] for one in fields(Protocol) if one.name in parameters}
    protocol = Protocol(**chosen)
    download = parameters.get("download", False)
    made = benchmark.roles(
        parameters["data_set"],
        parameters["input_shifted"],
        parameters["corrupted"],
        parameters["label_shifted"],
        protocol,
        download=download,
    )
    return evaluate(
        parameters["tier"],
        parameters["data_set"],
        made,
        [part],
        parameters["methods"],
        range(parameters["runs"]),
        parameters["training"],
        protocol,
        models=parameters["models"],
        teachers=parameters["teachers"],
        pretrained=parameters["pretrained"],
        download=download,
        device=device,
        progress=progress,
    )
