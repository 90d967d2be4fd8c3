"""The experiment of *A Unified Benchmark for the Unknown Detection Capability of DNNs*."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from helpers import metrics
from helpers.networks.model import Model
from helpers.papers.learnt_distances import arrays_of, learnt_distances
from helpers.papers.run import Draw, Part
from helpers.papers.unknown_detection import composition, detectors, methods
from helpers.papers.unknown_detection.detectors import Answer, Detector, union
from helpers.papers.unknown_detection.methods import AUTHORS
from helpers.papers.unknown_detection.parameters import Parameters
from helpers.papers.unknown_detection.roles import Benchmark, roles
from helpers.tables import results
from helpers.training import objectives
from helpers.training.fitted import Fitted

__all__ = ["models", "network", "outputs", "parts", "roles", "rows"]


@dataclass(frozen=True)
class MethodAnswers:
    """The answers of a method by test set, the far-OOD sets of the union, and notes for readers."""

    answers: dict[str, Answer]
    far: tuple[str, ...]
    notes: str


def parts(parameters: Parameters) -> list[Part]:
    """Return every run and method, and the separate scores on the baseline's networks.

    A method made of the networks of all runs is in the first run alone, after all other parts.
    """
    names = [*parameters.methods]
    if "baseline" in names:
        for name, method in methods.RECORDS.items():
            lacking = method.learns_from_held_out and parameters.finished
            if method.aside and getattr(parameters, method.aside) and not lacking:
                names.append(name)
    for name in names:
        recipe = parameters.method_recipe(name)
        objective = objectives.create(recipe.objective, **recipe.objective_arguments)
        if objective.needs_teacher:
            raise ValueError(f"{name}: it learns from a teacher; choose a method without one")
    identity = {"data_set": parameters.data_set, "backbone": parameters.network}
    first = []
    last = []
    for run, name in itertools.product(range(parameters.runs), names):
        if not methods.has_run(parameters, name, run):
            continue
        networks = methods.RECORDS[name].networks(parameters, run)
        part = Part(f"{run}/{name}", identity | {"run": run, "method": name}, roles="all")
        if all(number == run for number, _ in networks):
            first.append(part)
        elif not run:  # after the parts that train its networks
            last.append(part)
    return _with_networks(parameters, first + last)


def _with_networks(parameters: Parameters, all_parts: Sequence[Part]) -> list[Part]:
    """Return parts with the networks that no part before them trains."""
    trained = set()
    complete = []
    for part in all_parts:
        name = part.identity["method"]
        recipe = repr(parameters.method_recipe(name))
        networks = []
        for run, member in methods.RECORDS[name].networks(parameters, part.identity["run"]):
            if (recipe, run, member) not in trained:
                networks.append(f"{run}-{member}")
            trained.add((recipe, run, member))
        complete.append(replace(part, networks=tuple(networks)))
    return complete


def network(parameters: Parameters, part: Part, roles: Benchmark, name: str) -> Fitted:
    """Return the network of a run and its member, trained or from the cache."""
    run, member = map(int, name.split("-"))
    recipe = parameters.method_recipe(part.identity["method"])
    return detectors.train(parameters, roles, recipe, run=run, member=member)


def models(parameters: Parameters, part: Part, roles: Benchmark) -> Model:
    """Return the networks of a method in a run, from the cache if possible."""
    return detectors.train_method(parameters, roles, part.identity["method"], part.identity["run"])


def outputs(
    parameters: Parameters, part: Part, roles: Benchmark, models: Model
) -> dict[str, MethodAnswers]:
    """Return the answers of a method by variant: ``primary`` (the benchmark's) and its others."""
    answers = {}
    for variant in ("primary", *methods.RECORDS[models.name].variants):
        detector = detectors.make(parameters, roles, models, variant)
        answers[variant] = ask(detector, roles)
    return answers


def ask(detector: Detector, roles: Benchmark) -> MethodAnswers:
    """Return the answers of a detector about each test set."""
    answers = {name: detector.answer(images) for name, images in roles.test_sets.items()}
    notes = []
    if detector.chosen:
        pairs = ", ".join(f"{name} {value:g}" for name, value in detector.chosen.items())
        notes.append(f"chosen on held-out images: {pairs}")
    if skipped := roles.skipped:
        notes.append(f"unreadable, left out: {len(skipped)} ({', '.join(skipped[:5])})")
    return MethodAnswers(answers, tuple(roles.far), "; ".join(notes))


def held_out(
    parameters: Parameters, part: Part
) -> Iterator[tuple[Fitted, None, dict[str, np.ndarray]]]:
    """Yield the baseline's network of a run with what OpenMax knows of its training images.

    `helpers.training.finished_networks.save_held_out` stores it; outputs on the held-out images,
    which are among the answers image by image (`per_image`), are not stored again.
    """
    if part.identity["method"] != "baseline":
        return
    benchmark = roles(parameters)
    recipe = parameters.method_recipe("baseline")
    network = detectors.train(parameters, benchmark, recipe, run=part.identity["run"])
    distance = parameters.distance
    known = learnt_distances(network, benchmark.train, [distance])[distance]
    yield network, None, arrays_of(known, max(parameters.tails), np.float32)


def _ood_groups(answers: Mapping[str, Answer], far: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the OOD groups for comparison with ID test images: near, all far sets, each set."""
    single = {name: [name] for name in answers if name not in ("test", "near")}
    return {"near": ["near"], "far": far} | single


def measure(
    answers: Mapping[str, Answer], far: Sequence[str], draw: Draw, data_set: str = ""
) -> Iterator[dict]:
    """Yield the metrics of one detector as rows, each with its bootstrap replicates.

    AUROC and false positive rate compare all ID test images, correct or not, with an OOD set.  AURC
    is computed for the ID test images alone (``test``), with near-OOD, with all far-OOD, and with
    all of them (``union``); ``paper_union`` weights the union to the paper's shares
    (`composition`).  Test sets are drawn separately, so that a union keeps its composition; only
    the two versions of a resized set, which are the same images, are drawn equally.
    """
    images = {name: len(answer.correct) for name, answer in answers.items()}
    weights = {name: draw("fixed" if name == "aliased" else name, images[name]) for name in images}

    def join(names: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        joint = union(answers, names)
        of_joint = np.concatenate([weights[name] for name in names], axis=1)
        return joint.confidence, joint.correct, of_joint

    test = answers["test"]
    accuracy = metrics.weighted_mean(test.correct.astype(np.float64), weights["test"])
    yield results.row("test", "accuracy", test.correct.mean(), images["test"], accuracy)
    unions = {
        "test": ["test"],
        "near": ["test", "near"],
        "far": ["test", *far],
        "union": ["test", "near", *far],
    }
    for name, names in unions.items():
        confidence, correct, drawn = join(names)
        value = metrics.aurc(confidence, correct)
        replicates = metrics.weighted_aurc(confidence, correct, drawn)
        yield results.row(name, "aurc", value, len(correct), replicates)
    sets = unions["union"]
    if times := composition.counts({name: images[name] for name in sets}, data_set):
        confidence, correct, drawn = join(sets)
        shares = np.concatenate([np.full(images[name], times[name]) for name in sets])
        value = metrics.weighted_aurc(confidence, correct, shares[np.newaxis])[0]
        replicates = metrics.weighted_aurc(confidence, correct, drawn * shares)
        yield results.row(composition.PAPER_UNION, "aurc", value, len(correct), replicates)
    groups = _ood_groups(answers, far)
    for name, group in groups.items():
        unknown, _, drawn = join(group)
        both = metrics.weighted_detection(test.confidence, unknown, weights["test"], drawn)
        for metric, replicates in zip((metrics.auroc, metrics.fpr_at_tpr), both, strict=True):
            value = metric(test.confidence, unknown)
            count = images["test"] + len(unknown)
            yield results.row(name, metric.__name__, value, count, replicates)
    for name, group in (groups | {"test": ["test"]}).items():
        confidence, _, drawn = join(group)
        replicates = metrics.weighted_mean(confidence, drawn)
        mean = confidence.mean()
        yield results.row(name, "mean_confidence", mean, len(confidence), replicates)


def fpr_at_nearest_tpr(known, unknown) -> float:
    """Return the false positive rate of the authors' code, `metrics_ood.py`.

    The known images with the lowest scores are dropped until the kept share is nearest to 95 %;
    unknown images count as accepted from the score of the last dropped image on.

    >>> known, unknown = range(20), [-1, 0.5, 0.5, 30]
    >>> fpr_at_nearest_tpr(known, unknown), metrics.fpr_at_tpr(known, unknown)
    (0.75, 0.25)
    """
    ascending = np.sort(np.asarray(known))
    kept_shares = np.arange(len(ascending), -1, -1) / len(ascending)
    dropped = np.abs(kept_shares - 0.95).argmin()
    if not dropped:
        return 1.0
    return float((np.asarray(unknown) >= ascending[dropped - 1]).mean())


def rows(
    parameters: Parameters, part: Part, outputs: Mapping[str, MethodAnswers], draw: Draw
) -> Iterator[dict]:
    """Yield the rows of a method in a run, all variants.

    The variant `AUTHORS` has the false positive rate of the authors' code, and further rows only
    for a method that answers differently there.
    """
    confident = not methods.RECORDS[part.identity["method"]].aside  # a distance is no confidence
    for variant, answered in outputs.items():
        for row in measure(answered.answers, answered.far, draw, parameters.data_set):
            nearest = variant == AUTHORS and row["metric"] == "fpr_at_tpr"
            if not nearest and (confident or row["metric"] != "mean_confidence"):
                yield {"variant": variant, "notes": answered.notes} | row
    answered = outputs.get(AUTHORS, outputs["primary"])
    known = answered.answers["test"].confidence
    for name, names in _ood_groups(answered.answers, answered.far).items():
        unknown = union(answered.answers, names).confidence
        rate = fpr_at_nearest_tpr(known, unknown)
        row = results.row(name, "fpr_at_tpr", rate, len(known) + len(unknown))
        yield {"variant": AUTHORS, "notes": answered.notes} | row
