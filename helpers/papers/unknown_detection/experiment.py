"""From detectors to rows of the results table."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd
from tqdm import tqdm

from helpers import metrics
from helpers.checks import fields_of
from helpers.data import Images, ImageStream
from helpers.networks.recipe import Recipe
from helpers.papers.unknown_detection import roles as benchmark
from helpers.papers.unknown_detection.detectors import (
    ASIDE,
    Answer,
    Detector,
    detector,
    evidence,
    recipe_of,
)
from helpers.papers.unknown_detection.protocol import Protocol, Roles
from helpers.report import results
from helpers.training import objectives

PAPER = "unknown_detection"
VARIANTS = {
    "primary": "The benchmark's choices.",
    "evidence": "EDL's confidence is the expected probability of its Dirichlet distribution.",
}
"""Ways to read what the paper leaves open, and what is different in each."""


def sets_of(roles: Roles) -> dict[str, Images | ImageStream]:
    """Return all test sets by name, ID first; OOD images have the label −1."""
    unknown = {"near": roles.near} | roles.far | roles.aside
    return {"test": roles.test} | {name: images.unknown() for name, images in unknown.items()}


def all_sets(roles: Roles) -> dict[str, Images | ImageStream]:
    """Return the images of every role by name."""
    names = ("train", "validation", "external", "external_validation")
    return {name: getattr(roles, name) for name in names} | sets_of(roles)


def judge(detector: Detector, roles: Roles) -> dict[str, Answer]:
    """Return what a detector says about each test set."""
    return {name: detector.answer(images) for name, images in sets_of(roles).items()}


def union(answers: Mapping[str, Answer], names: Sequence[str]) -> Answer:
    """Return the answers about several test sets as those about one."""
    parts = [answers[name] for name in names]
    return Answer(
        np.concatenate([part.confidence for part in parts]),
        np.concatenate([part.correct for part in parts]),
    )


def resampled(
    answers: Mapping[str, Answer], *, replicates: int, seed: int
) -> dict[str, np.ndarray]:
    """Return the bootstrap weights of each test set: the same ones for all methods and runs.

    Each set is drawn on its own, so that a union always holds as many images of each.  Only the
    two versions of a resized set are the same images, and drawn alike.
    """
    drawn_as = {"aliased": "fixed"}
    return {
        name: metrics.resample_weights(
            len(answer.correct),
            replicates=replicates,
            seed=seed + zlib.crc32(drawn_as.get(name, name).encode()),
        )
        for name, answer in answers.items()
    }


def measure(
    answers: Mapping[str, Answer], far: Sequence[str], weights: Mapping[str, np.ndarray]
) -> Iterator[dict]:
    """Compute the metrics of one detector, each with its bootstrap replicates.

    Parameters
    ----------
    answers : mapping of str to Answer
        About each test set: ``test``, ``near``, those of `far`, and others that are not part of
        any union.
    far : sequence of str
        Test sets that are far-OOD and part of the union.
    weights : mapping of str to ndarray
        From `resampled`.

    Yields
    ------
    dict
        ``test_set``, ``metric``, ``value``, ``bootstrap``, ``images``.  The AUROC and the false
        positive rate are those of all ID test images, right or wrong, against an OOD set.  The
        AURC is that of the ID test images alone (``test``), of them and the near-OOD ones
        (``near``), of them and all far-OOD ones (``far``) and of all together (``union``).
    """

    def row(test_set: str, metric: str, value: float, replicates, images: int) -> dict:
        return {
            "test_set": test_set,
            "metric": metric,
            "value": float(value),
            "bootstrap": np.asarray(replicates, dtype=np.float32),
            "images": images,
        }

    def joined(names: Sequence[str]) -> np.ndarray:
        return np.concatenate([weights[name] for name in names], axis=1)

    test = answers["test"]
    right = test.correct.astype(np.float64)
    replicates = metrics.weighted_mean(right, weights["test"])
    yield row("test", "accuracy", right.mean(), replicates, len(right))
    groups = {"near": ["near"], "far": list(far)}
    unions = {"test": [], **groups, "union": ["near", *far]}
    for name, others in unions.items():
        one, drawn = union(answers, ["test", *others]), joined(["test", *others])
        value = metrics.aurc(one.confidence, one.correct)
        replicates = metrics.weighted_aurc(one.confidence, one.correct, drawn)
        yield row(name, "aurc", value, replicates, len(one.correct))
    groups |= {name: [name] for name in answers if name not in ("test", "near")}
    for name, others in groups.items():
        unknown, drawn = union(answers, others).confidence, joined(others)
        images = len(test.confidence) + len(unknown)
        for metric, plain, weighted in (
            ("auroc", metrics.auroc, metrics.weighted_auroc),
            ("fpr_at_tpr", metrics.fpr_at_tpr, metrics.weighted_fpr_at_tpr),
        ):
            value = plain(test.confidence, unknown)
            replicates = weighted(test.confidence, unknown, weights["test"], drawn)
            yield row(name, metric, value, replicates, images)
    for name, others in (groups | {"test": ["test"]}).items():
        confidence = union(answers, others).confidence
        replicates = metrics.weighted_mean(confidence, joined(others))
        yield row(name, "mean_confidence", confidence.mean(), replicates, len(confidence))


def evaluate(
    tier: str,
    data_set: str,
    backbone: str,
    roles: Roles,
    methods: Sequence[str],
    runs: Sequence[int],
    training: Recipe,
    protocol: Protocol,
    *,
    own: Mapping[str, Mapping] | None = None,
    device: str | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Evaluate every method and run; train what is not in the cache.

    Parameters
    ----------
    tier : str
        Goes into the table, like `data_set` and `backbone`.
    data_set, backbone : str
    roles : Roles
    methods : sequence of str
        Of `METHODS`.  The Mahalanobis score of the baseline's features, which the paper tried and
        left out, is added where there is a pair of resized test sets to show it on.
    runs : sequence of int
        Their numbers, which decide the weights.
    training : Recipe
        What all methods share.
    protocol : Protocol
    own : mapping of str to mapping, optional
        What a method changes in the recipe.
    device, progress
        As in `helpers.training.fitted.fit`.

    Returns
    -------
    DataFrame
        A results table (see `helpers.report.results`), all `VARIANTS` in it.
    """
    own = own or {}
    aside = ASIDE if "aliased" in roles.aside and "baseline" in methods else ()
    for method in (*methods, *aside):  # what is wrong with a recipe, now and not hours later
        recipe = recipe_of(method, training, own)
        objectives.create(recipe.objective, **recipe.objective_arguments)
    cells = [(run, method) for run in runs for method in (*methods, *aside)]
    tables, weights = [], None
    for run, method in (bar := tqdm(cells, disable=not progress)):
        bar.set_description(f"run {run}, {method}")
        made = detector(
            method, roles, training, protocol, run=run, own=own, device=device, progress=progress
        )
        variants = {"primary": made} | ({"evidence": evidence(made)} if method == "edl" else {})
        rows = []
        for variant, one in variants.items():
            answers = judge(one, roles)
            weights = weights or resampled(
                answers, replicates=protocol.replicates, seed=protocol.seed
            )
            identity = {
                "tier": tier, "paper": PAPER, "data_set": data_set, "backbone": backbone,
                "run": run, "method": method, "variant": variant, "notes": notes(one, roles),
            }  # fmt: skip
            measured = measure(answers, list(roles.far), weights)
            if method in ASIDE:  # a distance is no confidence
                measured = (row for row in measured if row["metric"] != "mean_confidence")
            rows += [identity | row for row in measured]
        parameters = {
            "recipe": recipe_of(method, training, own).as_dict(),
            "protocol": asdict(protocol),
            "sets": {name: images.sha256 for name, images in all_sets(roles).items()},
        }
        provenance = results.provenance(
            parameters,
            seed=protocol.seed,
            device=made.model.device_name,
            seconds=made.model.seconds,
        )
        tables.append(results.tidy(rows, provenance))
    return pd.concat(tables, ignore_index=True)


def parts(parameters: Mapping) -> list[str]:
    """Return the runs of a section ``evaluation``: what `sweep` can do side by side."""
    return [f"run {run}" for run in range(parameters["runs"])]


def sweep(
    parameters: Mapping, part: str, *, device: str | None = None, progress: bool = True
) -> pd.DataFrame:
    """Do what the evaluation notebook does for one run, without a notebook.

    Parameters
    ----------
    parameters : mapping
        A section ``evaluation`` of the parameter files.
    part : str
        One of `parts`.
    device, progress
        As in `evaluate`.
    """
    runs = [int(part.removeprefix("run "))]
    protocol = Protocol(**fields_of(Protocol, parameters))
    made = benchmark.roles(
        parameters["data_set"],
        parameters["external"],
        parameters["far"],
        protocol,
        aside=parameters["aside"],
        resized=parameters["resized"],
        download=parameters.get("download", False),
    )
    return evaluate(
        parameters["tier"],
        parameters["data_set"],
        parameters["network"],
        made,
        parameters["methods"],
        runs,
        Recipe.from_parameters(parameters["training"]),
        protocol,
        own=parameters["method_recipes"],
        device=device,
        progress=progress,
    )


def notes(detector: Detector, roles: Roles) -> str:
    """Say what a reader of a detector's numbers must know: what was chosen, what was skipped."""
    said = []
    if detector.chosen:
        pairs = ", ".join(f"{name} {value:g}" for name, value in detector.chosen.items())
        said.append(f"chosen on held-out images: {pairs}")
    sets = all_sets(roles).values()
    skipped = sorted({str(file) for one in sets for file in getattr(one, "skipped", ())})
    if skipped:
        said.append(f"unreadable, left out: {len(skipped)} ({', '.join(skipped[:5])})")
    return "; ".join(said)
