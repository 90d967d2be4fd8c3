"""The one driver: from a paper's parameters to rows of the results table, part by part.

The module ``experiment`` of each paper has the same stages; no stage calls another one::

    parts(parameters) -> list[Part]
    roles(parameters, part) -> which images play which role
    models(parameters, part, roles) -> networks, trained, from the cache or published
    outputs(parameters, part, roles, models) -> the models' outputs on the images
    rows(parameters, part, outputs, draw) -> iterable of rows

* `parts` can be computed separately and in parallel; the order is the order of computation.
* `roles` and `models` return data classes, mappings and sequences whose leaves are plain values,
  arrays, or objects with a ``sha256`` (`Images`, `Fitted`, ...): their content is the key of the
  stored rows.  Leaves of `models` with ``seconds`` and ``device_name`` give the cost of training.
  Roles may have ``missing``: data sets that are not available, and why; each is a row ``failed``.
* A part that trains several networks names them in ``networks``.  One more stage trains one of
  them: ``network(parameters, part, roles, name)``.
* `outputs` and `rows` are called only if the rows are not stored yet.  `outputs` holds everything
  that `rows` needs: the models too, if a score uses the images again.
* `rows` yields the results of `results.row`, with the columns that are not in the part's
  ``identity``.  ``draw(name, images)`` returns bootstrap weights [replicates, images]; the same
  name has the same weights in every part.

A part that fails is a row ``failed`` with its name and the reason in the notes.  All other parts
continue, and the next run repeats it.
"""

import logging
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from helpers import cache, metrics
from helpers.checks import known_name
from helpers.papers.parameters import Parameters
from helpers.tables import results

log = logging.getLogger(__name__)
Draw = Callable[[str, int], np.ndarray]
#: The number of images in a row about a part or a data set without numbers: the least possible.
_NO_IMAGES = 1
#: The name of the network of a part that trains a single one.
ALONE = "0"
#: The name of an exception's class, before its message.
_ERROR = re.compile(r"[A-Z]\w+: ")


@dataclass(frozen=True)
class Part:
    """A part of an experiment.

    `identity` has the columns that its rows share, such as ``data_set``, ``backbone`` and ``run``;
    a row may have another value.  Parts with the same `roles` share the roles of the images.
    `networks` are the names of the networks that the part trains, `ALONE` for a single one.  The
    networks of the same name of the part `after` are trained first.
    """

    name: str
    identity: Mapping[str, Any]
    roles: str
    networks: tuple[str, ...] = ()
    after: str = ""


def rows(
    parameters: Parameters, *, only: str | Sequence[str] | None = None, progress: bool = True
) -> pd.DataFrame:
    """Return the results table of an experiment; train networks that are not in the cache.

    `only` names parts, or networks for all their parts.
    """
    tables = []
    roles = None  # of the last part
    shared = None  # their name
    bar = tqdm(parts(parameters, only), disable=not progress)
    for part in bar:
        bar.set_description(part.name)
        if part.roles != shared:
            roles = None
            shared = part.roles
        table, roles = _rows_of_part(parameters, part, roles)
        tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    if (table["metric"] == "failed").all():
        raise ValueError(f"all parts failed; the first: {table['notes'].iloc[0]}")
    return table


def failed_parts(table: pd.DataFrame) -> list[str]:
    """Return the notes of the failed parts; other rows ``failed`` concern a score or a data set."""
    failed = table[(table["metric"] == "failed") & (table["images"] == _NO_IMAGES)]
    return failed.loc[failed["test_set"] == "test", "notes"].tolist()


def failed_scores(table: pd.DataFrame) -> list[str]:
    """Return the scores whose evaluation ended in an error, each with its reason, once.

    A score that does not apply, or a data set that is missing, has a reason without an error.
    """
    failed = table.loc[table["metric"] == "failed", ["method", "notes"]].drop_duplicates()
    errors = failed[failed["notes"].str.match(_ERROR)]
    return (errors["method"] + ": " + errors["notes"]).tolist()


def experiment_of(parameters: Parameters) -> ModuleType:
    """Return the module `experiment` in the folder of the parameters' class."""
    return import_module(f"{type(parameters).__module__.rpartition('.')[0]}.experiment")


def parts(parameters: Parameters, only: str | Sequence[str] | None = None) -> list[Part]:
    """Return the parts of an experiment, or those named directly or by their network."""
    by_name = {part.name: part for part in experiment_of(parameters).parts(parameters)}
    if only is None:
        return list(by_name.values())
    named: dict[str, Part] = {}
    for name in [only] if isinstance(only, str) else only:
        of_network = [part for part in by_name.values() if part.identity.get("backbone") == name]
        if not of_network:
            of_network = [by_name[known_name("part", name, by_name)]]
        named |= {part.name: part for part in of_network}
    return list(named.values())


def rows_of_part(parameters: Parameters, part: Part) -> pd.DataFrame:
    """Return the rows of one part, from the cache if code and content are unchanged."""
    return _rows_of_part(parameters, part, None)[0]


def ask(parameters: Parameters, part: Part, ready: Mapping[str, Any] | None = None) -> tuple:
    """Return a part's models and outputs; `ready` has roles by the name that parts share."""
    experiment = experiment_of(parameters)
    roles = ready.get(part.roles) if ready else None
    if roles is None:
        roles = experiment.roles(parameters, part)
    models = experiment.models(parameters, part, roles)
    return models, experiment.outputs(parameters, part, roles, models)


def train(parameters: Parameters, part: Part, name: str) -> Any:
    """Return one network of a part as its experiment does, trained or from the cache."""
    experiment = experiment_of(parameters)
    roles = experiment.roles(parameters, part)
    if part.networks == (ALONE,):
        return experiment.models(parameters, part, roles)
    known_name(f"network of {part.name}", name, part.networks)
    return experiment.network(parameters, part, roles, name)


def train_each(parameters: Parameters, part: Part, roles: Any) -> Iterator[tuple[str, Any]]:
    """Yield the networks of a part as `networks` does, each as soon as it is trained."""
    experiment = experiment_of(parameters)
    if len(part.networks) < 2:
        yield from networks(experiment.models(parameters, part, roles))
        return
    for name in part.networks:
        yield from networks({name: experiment.network(parameters, part, roles, name)})


def networks(models: Any) -> Iterator[tuple[str, Any]]:
    """Yield the networks in a part's models that were trained, each with its path and number."""
    for path, leaf in leaves(models):
        for number, network in enumerate(getattr(leaf, "networks", (leaf,))):
            if hasattr(network, "history"):
                yield f"{path}{f'-{number}' if number else ''}", network


def outputs(parameters: Parameters, part: Part):
    """Return the outputs of a part."""
    return ask(parameters, part)[1]


def draws(parameters: Parameters) -> Draw:
    """Return the function that draws bootstrap weights, the same weights for the same name."""

    def draw(name: str, images: int) -> np.ndarray:
        seed = parameters.seed + zlib.crc32(name.encode())
        return _weights(images, parameters.replicates, seed)

    return draw


@lru_cache(maxsize=32)
def _weights(images: int, replicates: int, seed: int) -> np.ndarray:
    return metrics.resample_weights(images, replicates=replicates, seed=seed)


def _rows_of_part(parameters: Parameters, part: Part, roles) -> tuple[pd.DataFrame, Any]:
    """Return the rows of a part, or one row with the reason why it failed, and its roles."""
    experiment = experiment_of(parameters)
    identity = {"tier": parameters.tier, "paper": parameters.paper, "run": 0} | {**part.identity}
    content: dict[str, Any] = {
        "part": part.name,
        "identity": identity,
        "parameters": parameters.decisive(),
    }
    try:
        if roles is None:
            roles = experiment.roles(parameters, part)
        models = experiment.models(parameters, part, roles)
        content |= {"roles": digests(roles), "models": digests(models)}

        def make(path: Path) -> None:
            outputs = experiment.outputs(parameters, part, roles, models)
            rows = list(experiment.rows(parameters, part, outputs, draws(parameters)))
            results.write(_table(rows, identity, content, models, parameters.seed), path)

        package = experiment.__name__.rpartition(".")[0]  # with the tables of the paper
        code = cache.code(experiment.__name__, package, f"{__name__}.draws")
        key = cache.key(code=code, **content)
        path = cache.path_of("rows", key, ".parquet")
        table = cache.load_or_make(path, results.read, make)
        if missing := getattr(roles, "missing", {}):
            failed = [_failed(name, why) for name, why in missing.items()]
            columns = {"method": "network"} | identity
            lacking = _table(failed, columns, content, models, parameters.seed)
            table = pd.concat([table, lacking], ignore_index=True)
        return table, roles
    except Exception as error:  # a missing network, or from other people's models and files
        log.exception("%s, part %s failed; the others go on", parameters.paper, part.name)
        why = f"part {part.name} failed: {type(error).__name__}: {error}"
        failed = [_failed("test", why)]
        columns = {"method": "network"} | identity
        return _table(failed, columns, content, None, parameters.seed), roles


def _failed(test_set: str, why: str) -> dict:
    return results.row(test_set, "failed", 1.0, _NO_IMAGES, notes=why)


def _table(rows: Sequence[Mapping], identity, content, models, seed: int) -> pd.DataFrame:
    trained = [leaf for _, leaf in leaves(models) if hasattr(leaf, "seconds")]
    device = ", ".join(dict.fromkeys(leaf.device_name for leaf in trained)) or "none"
    seconds = sum(leaf.seconds for leaf in trained)
    provenance = results.provenance(content, seed=seed, device=device, seconds=seconds)
    return results.tidy((identity | row for row in rows), provenance)


def digests(structure) -> list[tuple[str, Any]]:
    """Return the content of roles or models for a key, leaf by leaf, without fields not compared.

    >>> digests({"seeds": [3, 4], "name": "a"})
    [('.seeds.0', 3), ('.seeds.1', 4), ('.name', 'a')]
    """
    return [(path, getattr(leaf, "sha256", leaf)) for path, leaf in leaves(structure)]


def leaves(value, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a structure, each with its path."""
    if isinstance(value, np.ndarray):
        value = {"shape": str(value.shape), "bytes": cache.key(content=value.tobytes().hex())}
    if value is None or isinstance(value, str | int | float) or hasattr(value, "sha256"):
        yield path, value
        if hasattr(value, "class_names"):  # the meaning of the labels, no part of a sha256
            yield f"{path}.class_names", ", ".join(value.class_names)
        if getattr(value, "finished", False):
            yield f"{path}.held_out", value.held_out_sha256
    elif is_dataclass(value) or isinstance(value, Mapping | list | tuple):
        if is_dataclass(value):
            compared = [field.name for field in fields(value) if field.compare]
            value = {name: getattr(value, name) for name in compared}
        inner = value.items() if isinstance(value, Mapping) else enumerate(value)
        for name, item in inner:
            yield from leaves(item, f"{path}.{name}")
    else:
        kind = type(value).__name__
        raise TypeError(
            f"{path or 'roles or models'}: an array, text, number or object with sha256 "
            f"expected, got {kind}"
        )
