"""From networks to rows of the results table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from helpers import cache
from helpers.checks import fields_of, known_name
from helpers.labelfree import EVALUATORS
from helpers.networks.recipe import Recipe
from helpers.papers.gscore.measuring import PARTS
from helpers.papers.gscore.protocol import Protocol
from helpers.papers.gscore.regressing import divided
from helpers.papers.gscore.rows import rows_of_network
from helpers.papers.gscore.suite import Roles, suite
from helpers.report import results
from helpers.training.fitted import Fitted, fit

PAPER = "gscore"


def network(
    roles: Roles,
    recipe: Recipe,
    protocol: Protocol,
    *,
    device: str | None = None,
    progress: bool = True,
) -> Fitted:
    """Train the network whose detectors are evaluated, or take it from the cache."""
    return fit(
        roles.train, recipe, outliers=roles.outliers, seed=protocol.seed, device=device,
        progress=progress,
    )  # fmt: skip


def evaluate(
    tier: str,
    data_set: str,
    roles: Roles,
    networks: Mapping[str, Recipe],
    detectors: Sequence[str],
    evaluators: Sequence[str],
    protocol: Protocol,
    *,
    device: str | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Evaluate every network, detector and evaluator; train what is not in the cache.

    Parameters
    ----------
    tier, data_set : str
        Go into the table.
    roles : Roles
        From `helpers.papers.gscore.suite`.
    networks : mapping of str to Recipe
    detectors : sequence of str
        Scores; the thresholds τ are found with the first of them.
    evaluators : sequence of str
        Of `helpers.labelfree.EVALUATORS`; the two baselines are always there.
    protocol : Protocol
    device, progress
        As in `helpers.training.fitted.fit`.

    Returns
    -------
    DataFrame
        A results table (see `helpers.report.results`):

        * ``network``, ``accuracy``: of the ID test images.
        * A detector: its six true metrics on each set, mixed with the ID images ``meta`` or
          ``test`` (the variant).
        * ``DETECTOR/EVALUATOR``, the same variants: ``gscore``, at the τ of run 0.
        * ``DETECTOR/EVALUATOR`` on ``all`` sets, for each run: ``tau``; and for each true metric
          ``rmse_``, ``pearson_``, ``spearman_``, ``coverage_`` and ``width_METRIC``, or
          ``failed``.  Variants other than ``primary`` have these of the FPR95 alone.
        * msp/ude_wasserstein, for each run and each set that tests it: ``predicted_``, ``lower_``
          and ``upper_METRIC`` of AUROC and FPR95.

    Raises
    ------
    ValueError
        An unknown detector or evaluator, or too few sets; before any network is trained.
    """
    for evaluator in evaluators:
        known_name("evaluator", evaluator, EVALUATORS)
    divided(len(roles.sets), 0, protocol)
    tables = []
    for name, recipe in (bar := tqdm(networks.items(), disable=not progress)):
        bar.set_description(name)
        found = network(roles, recipe, protocol, device=device, progress=progress)
        identity = {"tier": tier, "paper": PAPER, "data_set": data_set, "backbone": name}
        tables.append(_kept(found, roles, detectors, evaluators, protocol, identity))
    return pd.concat(tables, ignore_index=True)


def _kept(
    found: Fitted,
    roles: Roles,
    detectors: Sequence[str],
    evaluators: Sequence[str],
    protocol: Protocol,
    identity: Mapping,
) -> pd.DataFrame:
    """Return the table of one network, from the cache if it has been made by the same code."""
    images = {name: getattr(roles, name).sha256 for name in ("train", "validation", *PARTS)}
    parameters = {
        "recipe": found.recipe.as_dict(),
        "protocol": asdict(protocol),
        "detectors": list(detectors),
        "evaluators": list(evaluators),
        "images": images,
        # in their order, which decides how they are divided
        "sets": [[name, one.sha256] for name, one in roles.sets.items()],
    }
    key = cache.key(
        weights=found.sha256,
        identity=dict(identity),
        parameters=parameters,
        code=cache.code(__name__),
    )

    def make(path: Path) -> None:
        rows = rows_of_network(found, roles, detectors, evaluators, protocol)
        made = results.provenance(
            parameters, seed=protocol.seed, device=found.device_name, seconds=found.seconds
        )
        whole = [{"run": 0} | dict(identity) | row for row in rows]
        results.write(results.tidy(whole, made), path)

    return cache.load_or_make(cache.path_of("rows", key, ".parquet"), results.read, make)


def parts(parameters: Mapping) -> list[str]:
    """Return what `sweep` can do side by side: ``ID SET/NETWORK``.

    Every network on the ID set of a section ``evaluation``, and the first one on its others.
    """
    first, *_ = networks = list(parameters["networks"])
    return [
        *(f"{parameters['data_set']}/{name}" for name in networks),
        *(f"{other}/{first}" for other in parameters["other_data_sets"]),
    ]


def roles_of(parameters: Mapping, protocol: Protocol, data_set: str) -> Roles:
    """Return the roles of the images with one ID set; classes are held out of the main one only."""
    held_out = protocol.held_out if data_set == parameters["data_set"] else ()
    return suite(
        data_set,
        parameters["sets"],
        replace(protocol, held_out=held_out),
        outliers=parameters["outliers"],
        packs=parameters["packs"],
        download=parameters.get("download", False),
    )


def sweep(
    parameters: Mapping, part: str, *, device: str | None = None, progress: bool = True
) -> pd.DataFrame:
    """Do what the evaluation notebook does for one part, without a notebook.

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
    data_set, name = part.split("/")
    recipe = Recipe.from_parameters(parameters["training"] | parameters["networks"][name])
    return evaluate(
        parameters["tier"],
        data_set,
        roles_of(parameters, protocol, data_set),
        {name: recipe},
        parameters["detectors"],
        parameters["evaluators"],
        protocol,
        device=device,
        progress=progress,
    )
