"""The experiment of *A Unified Benchmark for the Unknown Detection Capability of DNNs*.

Kim, Koo and Hwang (2023): nine methods rank correctly classified ID test images above
misclassified, near-OOD and far-OOD ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helpers import metrics
from helpers.networks.model import Model
from helpers.papers.run import Draw, Part
from helpers.papers.unknown_detection import composition, detectors, methods
from helpers.papers.unknown_detection.authors import AUTHORS, fpr_at_nearest_tpr
from helpers.papers.unknown_detection.detectors import Answer, Detector, union
from helpers.papers.unknown_detection.roles import Benchmark, roles
from helpers.report import results
from helpers.training import objectives

if TYPE_CHECKING:
    from helpers.papers.unknown_detection.parameters import Parameters

__all__ = ["models", "outputs", "parts", "roles", "rows"]


@dataclass(frozen=True)
class MethodAnswers:
    """What a method says of all test sets.

    Attributes
    ----------
    answers : dict of str to Answer
        By test set.
    far : tuple of str
        Which of them are far-OOD, and part of the union.
    notes : str
        What a reader of its numbers must know: what was chosen, what was skipped.
    """

    answers: dict[str, Answer]
    far: tuple[str, ...]
    notes: str


def parts(parameters: Parameters) -> list[Part]:
    """Return every run and method.

    Added to the methods are the scores that stand aside, with the baseline's networks.  A method
    that is made of networks of all runs is in the first alone, after all others.

    Raises
    ------
    ValueError
        A mistake in a recipe, now and not hours later.
    """
    names = [*parameters.methods]
    if "baseline" in names:
        records = methods.RECORDS.items()
        names += [name for name, method in records if method.aside and method.aside(parameters)]
    for name in names:
        recipe = parameters.method_recipe(name)
        objective = objectives.create(recipe.objective, **recipe.objective_arguments)
        if objective.needs_teacher:
            raise ValueError(f"{name}: it learns from another network, which no method here has")
    identity = {"data_set": parameters.data_set, "backbone": parameters.network}
    found, last = [], []
    for run, name in itertools.product(range(parameters.runs), names):
        networks = methods.named(name).networks(parameters, run)
        part = Part(f"{run}/{name}", identity | {"run": run, "method": name}, roles="all")
        if all(of == run for of, _ in networks):
            found.append(part)
        elif not run:  # after those that train its networks
            last.append(part)
    return found + last


def models(parameters: Parameters, part: Part, roles: Benchmark) -> Model:
    """Train the networks of a method in a run, or take them from the cache."""
    return detectors.train_method(parameters, roles, part.identity["method"], part.identity["run"])


def outputs(
    parameters: Parameters, part: Part, roles: Benchmark, models: Model
) -> dict[str, MethodAnswers]:
    """Return what a method says of each test set, by variant.

    ``primary`` has the benchmark's choices, the others those of the method's `variants`.
    """
    variants = ["primary", *methods.named(models.name).variants]
    return {one: ask(detectors.make(parameters, roles, models, one), roles) for one in variants}


def ask(detector: Detector, roles: Benchmark) -> MethodAnswers:
    """Return what a detector says of each test set."""
    answers = {name: detector.answer(images) for name, images in roles.test_sets.items()}
    notes, skipped = [], roles.skipped
    if detector.chosen:
        pairs = ", ".join(f"{name} {value:g}" for name, value in detector.chosen.items())
        notes.append(f"chosen on held-out images: {pairs}")
    if skipped:
        notes.append(f"unreadable, left out: {len(skipped)} ({', '.join(skipped[:5])})")
    return MethodAnswers(answers, tuple(roles.far), "; ".join(notes))


def measure(
    answers: Mapping[str, Answer], far: Sequence[str], draw: Draw, data_set: str = ""
) -> Iterator[dict]:
    """Compute the metrics of one detector, each with its bootstrap replicates.

    Each test set is drawn on its own, so that a union always holds as many images of each.  Only
    the two versions of a resized set are the same images, and drawn alike.

    Parameters
    ----------
    answers : mapping of str to Answer
        About each test set: ``test``, ``near``, those of `far`, and others that are not part of
        any union.
    far : sequence of str
        Test sets that are far-OOD and part of the union.
    draw : callable
        Bootstrap weights, see `helpers.papers.run`.
    data_set : str
        What is in-distribution: decides which union is the paper's.

    Yields
    ------
    dict
        Rows of the results table.  The AUROC and the false positive rate are those of all ID test
        images, right or wrong, against an OOD set.  The AURC is that of the ID test images alone
        (``test``), of them and the near-OOD ones (``near``), of them and all far-OOD ones
        (``far``) and of all together (``union``); in ``paper_union`` they count so often that
        each kind has the share that it has in the paper (see `composition`).
    """
    weights = {
        name: draw("fixed" if name == "aliased" else name, len(answer.correct))
        for name, answer in answers.items()
    }

    def join(names: Sequence[str]) -> tuple[Answer, np.ndarray]:
        return union(answers, names), np.concatenate([weights[name] for name in names], axis=1)

    test = answers["test"]
    accuracy = metrics.weighted_mean(test.correct.astype(np.float64), weights["test"])
    yield results.row("test", "accuracy", test.correct.mean(), len(test.correct), accuracy)
    groups = {"near": ["near"], "far": list(far)}
    for name, others in {"test": [], **groups, "union": ["near", *far]}.items():
        one, drawn = join(["test", *others])
        value = metrics.aurc(one.confidence, one.correct)
        replicates = metrics.weighted_aurc(one.confidence, one.correct, drawn)
        yield results.row(name, "aurc", value, len(one.correct), replicates)
    sets = ["test", "near", *far]
    sizes = {name: len(answers[name].correct) for name in sets}
    if times := composition.counts(sizes, data_set):
        one, drawn = join(sets)
        each = np.repeat([times[name] for name in sets], list(sizes.values()))
        value = metrics.weighted_aurc(one.confidence, one.correct, each[np.newaxis])[0]
        replicates = metrics.weighted_aurc(one.confidence, one.correct, drawn * each)
        yield results.row(composition.PAPER_UNION, "aurc", value, len(one.correct), replicates)
    groups |= {name: [name] for name in answers if name not in ("test", "near")}
    for name, others in groups.items():
        one, drawn = join(others)
        images = len(test.confidence) + len(one.confidence)
        for metric, plain, weighted in (
            ("auroc", metrics.auroc, metrics.weighted_auroc),
            ("fpr_at_tpr", metrics.fpr_at_tpr, metrics.weighted_fpr_at_tpr),
        ):
            value = plain(test.confidence, one.confidence)
            replicates = weighted(test.confidence, one.confidence, weights["test"], drawn)
            yield results.row(name, metric, value, images, replicates)
    for name, others in (groups | {"test": ["test"]}).items():
        one, drawn = join(others)
        replicates = metrics.weighted_mean(one.confidence, drawn)
        value = one.confidence.mean()
        yield results.row(name, "mean_confidence", value, len(one.confidence), replicates)


def rows(
    parameters: Parameters, part: Part, outputs: Mapping[str, MethodAnswers], draw: Draw
) -> Iterator[dict]:
    """Yield the rows of a method in a run, all variants.

    Those of `AUTHORS` have the false positive rate of the authors' code; where a method has no
    other answer there, they have nothing else, since all else is as in ``primary``.
    """
    confident = not methods.named(part.identity["method"]).aside  # a distance is no confidence
    for variant, one in outputs.items():
        for row in measure(one.answers, one.far, draw, parameters.data_set):
            nearest = variant == AUTHORS and row["metric"] == "fpr_at_tpr"
            if not nearest and (confident or row["metric"] != "mean_confidence"):
                yield {"variant": variant, "notes": one.notes} | row
    one = outputs.get(AUTHORS, outputs["primary"])
    for row in nearest_rates(one.answers, one.far):
        yield {"variant": AUTHORS, "notes": one.notes} | row


def nearest_rates(answers: Mapping[str, Answer], far: Sequence[str]) -> Iterator[dict]:
    """Compute the authors' false positive rate against each OOD set, without replicates."""
    known = answers["test"].confidence
    groups = {"near": ["near"], "far": list(far)}
    groups |= {name: [name] for name in answers if name not in ("test", "near")}
    for name, others in groups.items():
        unknown = union(answers, others).confidence
        images = len(known) + len(unknown)
        yield results.row(name, "fpr_at_tpr", fpr_at_nearest_tpr(known, unknown), images)
