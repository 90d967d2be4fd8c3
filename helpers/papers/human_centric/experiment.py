"""From networks and scores to rows of the results table."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from helpers import cache, metrics, scores
from helpers.checks import fields_of
from helpers.networks.model import Model
from helpers.papers.human_centric import roles as benchmark
from helpers.papers.human_centric.measuring import Judged, judge, measure, resampled, row_of
from helpers.papers.human_centric.networks import network, recipe_of
from helpers.papers.human_centric.roles import Protocol, Roles
from helpers.report import results

PAPER = "human_centric"
HELD_OUT, ALL_CLASSES = "held-out threshold", "all classes"
VARIANTS = {
    "primary": "All training images fit a score, and those that are answered correctly give its "
    "threshold, as in the paper.",
    HELD_OUT: "One half of the training images fits a score, the other half gives its threshold.",
    ALL_CLASSES: "A network answers with all classes that it has, not only with the data set's.",
}
"""Ways to evaluate, and what is different in each."""
log = logging.getLogger(__name__)


def rows_of(
    judged: Judged, methods: Sequence[str], protocol: Protocol, *, held_out: bool = False
) -> Iterator[dict]:
    """Yield the rows of one network: of itself, and of each score.

    A score that cannot be had from these outputs has one row, ``failed``, that says why.
    """
    draw = resampled(judged, protocol)
    accuracies = {"test": judged.test} | judged.input_shifted
    for name, outputs in accuracies.items():
        replicates = metrics.weighted_mean(outputs.correct, draw[name])
        row = row_of(name, "accuracy", outputs.correct.mean(), len(outputs), replicates)
        yield {"method": "network"} | row
    for method in methods:
        try:
            rows = list(measure(judged, method, protocol, draw, held_out=held_out))
            yield from [{"method": method} | row for row in rows]
        except Exception as error:  # of one score, which ends none of the others
            log.warning("score %s: %s", method, error)
            yield {"method": method} | failure(error, len(judged.test))


def failure(error: Exception, images: int) -> dict:
    """Return the row of what could not be had, with the reason."""
    said = f"{type(error).__name__}: {error}"
    return row_of("test", "failed", 1.0, images) | {"notes": said}


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
        Scores, of `helpers.papers.human_centric.roles.METHODS`.
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
        A results table (see `helpers.report.results`), all `VARIANTS` in it; that of all classes
        for networks that have more of them than `roles`.
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
        try:
            found = network(
                name, roles.train, models, training, teachers=teachers, pretrained=pretrained,
                seed=protocol.seed * 1000 + run, download=download, device=device,
                progress=progress,
            )  # fmt: skip
            tables.append(_kept(found, roles, methods, protocol, identity, parameters))
        except Exception as error:  # of other people's models, anything
            log.exception("model %s failed; the others go on", name)
            row = identity | {"method": "network"} | failure(error, len(roles.test))
            made = results.provenance(parameters, seed=protocol.seed, device="none", seconds=0.0)
            tables.append(results.tidy([row], made))
    return pd.concat(tables, ignore_index=True)


def _kept(
    found: Model,
    roles: Roles,
    methods: Sequence[str],
    protocol: Protocol,
    identity: Mapping,
    parameters: Mapping,
) -> pd.DataFrame:
    """Return the table of one network, from the cache if it has been made by the same code."""
    key = cache.key(
        model=found.sha256,
        methods=list(methods),
        identity=dict(identity),
        parameters=dict(parameters),
        code=cache.code(__name__),
    )

    def make(path: Path) -> None:
        rows = list(_rows_of_network(found, roles, methods, protocol))
        made = results.provenance(
            parameters,
            seed=protocol.seed,
            device=found.device_name,
            seconds=found.seconds,
        )
        results.write(results.tidy([identity | row for row in rows], made), path)

    return cache.load_or_make(cache.path_of("rows", key, ".parquet"), results.read, make)


def _rows_of_network(
    found: Model, roles: Roles, methods: Sequence[str], protocol: Protocol
) -> Iterator[dict]:
    answering = {False: ("primary", HELD_OUT)}
    if found.class_names != roles.class_names:
        answering[True] = (ALL_CLASSES,)
    for all_classes, variants in answering.items():
        judged = judge(found, roles, all_classes=all_classes)
        size = row_of("test", "parameters", found.parameters, len(judged.test))
        for variant in variants:
            for row in rows_of(judged, methods, protocol, held_out=variant == HELD_OUT):
                yield {"variant": variant} | row
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
    protocol = Protocol(**fields_of(Protocol, parameters))
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
