"""From models and scores to rows of the results table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from helpers import cache, scores
from helpers.checks import fields_of
from helpers.data import Images
from helpers.networks.model import Model
from helpers.networks.recipe import Recipe
from helpers.papers.synthesis import roles as benchmark
from helpers.papers.synthesis.measuring import of_algorithm, of_score
from helpers.papers.synthesis.networks import model, recipe_of
from helpers.papers.synthesis.roles import Protocol, Roles
from helpers.papers.synthesis.seeing import applies, scored, seen
from helpers.papers.unknown_detection.detectors import Answer
from helpers.papers.unknown_detection.experiment import resampled
from helpers.report import results
from helpers.training import objectives

PAPER = "synthesis"
VARIANTS = {
    "primary": "The probability of “unknown” is that of the score, by Platt's scaling.",
    "paper": "It is that of the thresholded softmax (msp) or of OpenMax itself (openmax).",
}
"""Ways to open-set probabilities, and what is different in each."""


def evaluate(
    tier: str,
    data_set: str,
    backbone: str,
    roles: Roles,
    families: Mapping[str, Images],
    algorithms: Sequence[str],
    detectors: Sequence[str],
    runs: Sequence[int],
    training: Recipe,
    protocol: Protocol,
    *,
    own: Mapping[str, Mapping] | None = None,
    score_arguments: Mapping[str, Mapping] | None = None,
    device: str | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Evaluate every algorithm and run with every score; train what is not in the cache.

    Parameters
    ----------
    tier, data_set, backbone : str
        Go into the table.
    roles : Roles
    families : mapping of str to Images
        From `helpers.papers.synthesis.roles.families`.
    algorithms : sequence of str
        Of `helpers.papers.synthesis.roles.ALGORITHMS`.
    detectors : sequence of str
        Scores; those that do not apply to a model are left out there.
    runs : sequence of int
        Their numbers, which decide the weights.
    training : Recipe
        What all algorithms share.
    protocol : Protocol
    own : mapping of str to mapping, optional
        What each algorithm changes in the recipe.
    score_arguments : mapping of str to mapping, optional
        Hyper-parameters of scores that are not their defaults; none are chosen here.
    device, progress
        As in `helpers.training.fitted.fit`.

    Returns
    -------
    DataFrame
        A results table (see `helpers.report.results`), all `VARIANTS` in it.  A number of an
        algorithm alone has its name for a method, one of a score ``ALGORITHM/SCORE``; what can be
        compared, `helpers.papers.synthesis.roles.MEASURES` lists.  A cell that does not apply is
        not there.

    Raises
    ------
    ValueError
        A mistake in a recipe, or an unknown score; before any network is trained.
    """
    own = own or {}
    for name in algorithms:
        recipe = recipe_of(name, training, own)
        objectives.create(recipe.objective, **recipe.objective_arguments)
    asked = {name: dict((score_arguments or {}).get(name, {})) for name in detectors}
    for name, arguments in asked.items():
        scores.create(name, **arguments)
    cells = [(run, name) for run in runs for name in algorithms]
    tables = []
    for run, name in (bar := tqdm(cells, disable=not progress)):
        bar.set_description(f"run {run}, {name}")
        made = model(
            name, roles, training, protocol, run=run, own=own, device=device, progress=progress
        )
        identity = {"tier": tier, "paper": PAPER, "data_set": data_set, "backbone": backbone,
                    "run": run, "calibration": "before"}  # fmt: skip
        tables.append(_kept(made, roles, families, asked, protocol, identity))
    return pd.concat(tables, ignore_index=True)


def _kept(
    made: Model,
    roles: Roles,
    families: Mapping[str, Images],
    detectors: Mapping[str, Mapping],
    protocol: Protocol,
    identity: Mapping,
) -> pd.DataFrame:
    """Return the table of one model, from the cache if it has been made by the same code."""
    names = ("train", "validation", "external_validation", "test", "near")
    images = {name: getattr(roles, name) for name in names} | roles.far | dict(families)
    parameters = {
        "recipe": made.networks[0].recipe.as_dict(),
        "detectors": dict(detectors),
        "protocol": asdict(protocol),
        "sets": {name: one.sha256 for name, one in images.items()},
    }
    key = cache.key(
        model=made.sha256,
        algorithm=made.name,
        identity=dict(identity),
        parameters=parameters,
        code=cache.code(__name__),
    )

    def make(path: Path) -> None:
        rows = _rows(made, roles, families, detectors, protocol)
        provenance = results.provenance(
            parameters, seed=protocol.seed, device=made.device_name,
            seconds=made.seconds,
        )  # fmt: skip
        results.write(results.tidy((dict(identity) | row for row in rows), provenance), path)

    return cache.load_or_make(cache.path_of("rows", key, ".parquet"), results.read, make)


def _rows(
    made: Model,
    roles: Roles,
    families: Mapping[str, Images],
    detectors: Mapping[str, Mapping],
    protocol: Protocol,
) -> Iterator[dict]:
    found = seen(made, roles, families)
    tested = {name: Answer(correct, correct) for name, correct in found.correct.items()}
    draw = resampled(tested, replicates=protocol.replicates, seed=protocol.seed)
    yield from of_algorithm(found, protocol)
    for name, arguments in detectors.items():
        if applies(name, made, found.outputs["test"]):
            offered = {"copies": protocol.tta_copies, "seed": protocol.seed}
            score = scores.create(name, offered=offered, **arguments)
            yield from of_score(score, found, scored(score, found), protocol, draw)


def parts(parameters: Mapping) -> list[str]:
    """Return the algorithms of a section ``evaluation``: what `sweep` can do side by side."""
    return list(parameters["algorithms"])


def sweep(
    parameters: Mapping, *algorithms: str, device: str | None = None, progress: bool = True
) -> pd.DataFrame:
    """Do what the evaluation notebook does for some algorithms, without a notebook.

    Parameters
    ----------
    parameters : mapping
        A section ``evaluation`` of the parameter files.
    *algorithms : str
        Of `parts`; the images are loaded once for all of them.
    device, progress
        As in `evaluate`.
    """
    protocol = Protocol(**fields_of(Protocol, parameters))
    download = parameters.get("download", False)
    roles = benchmark.roles(
        parameters["data_set"], parameters["external"], parameters["far"], protocol,
        download=download,
    )  # fmt: skip
    return evaluate(
        parameters["tier"],
        parameters["data_set"],
        parameters["network"],
        roles,
        benchmark.families(parameters["families"], roles, protocol, download=download),
        algorithms,
        parameters["detectors"],
        range(parameters["runs"]),
        Recipe.from_parameters(parameters["training"]),
        protocol,
        own=parameters["algorithms"],
        score_arguments=parameters["score_arguments"],
        device=device,
        progress=progress,
    )
