"""The one driver: from a paper's parameters to rows of the results table, part by part.

The module ``experiment`` of each paper has the same stages, one calling nothing of another::

    parts(parameters) -> list[Part]
    roles(parameters, part) -> which images play which role
    models(parameters, part, roles) -> what has been trained, or taken from the cache or a zoo
    outputs(parameters, part, roles, models) -> what the models say of the images
    rows(parameters, part, outputs, draw) -> iterable of rows

* `parts`: what can be done on its own and side by side, in the order in which it is done.
* `roles` and `models` return structures of data classes, mappings and sequences whose leaves are
  plain values, arrays, or things with a ``sha256`` (`Images`, `Fitted`, ...): their content is the
  key under which the rows are kept.  They only load and train.  What a network was trained on,
  and how long, is asked of the leaves of `models` that have ``seconds`` and ``device_name``.
  Roles may have ``missing``: data sets that are not at hand, by name, and why.  Each is a row
  ``failed`` of its own, and the others go on.
* `outputs` and `rows` are called only where the rows are not kept yet.  `outputs` holds whatever
  `rows` needs: the models too, where a score goes back to the images.
* `rows` yields what `results.row` returns, and in it the columns that the part's ``identity``
  does not have.  ``draw(name, images)`` gives bootstrap weights [replicates, images]: all that
  has the same name, in any part, is drawn alike.

A part that fails, whatever the reason, is a row ``failed`` with its name and the reason in the
notes, and ends no other; it is tried again the next time.
"""

from __future__ import annotations

import logging
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
from helpers.report import results

log = logging.getLogger(__name__)
Draw = Callable[[str, int], np.ndarray]
_PART_FAILED = "part "


@dataclass(frozen=True)
class Part:
    """A part of an experiment.

    Attributes
    ----------
    name : str
        ``data set/network/run`` or the like.
    identity : dict
        The columns that its rows share, such as ``data_set``, ``backbone`` and ``run``; a row may
        have another value.
    roles : str, optional
        Parts that have the same one share the roles of the images, which are then made once.
    """

    name: str
    identity: Mapping[str, Any]
    roles: str | None = None


def rows(
    parameters: Parameters, *, only: str | Sequence[str] | None = None, progress: bool = True
) -> pd.DataFrame:
    """Return the results table of an experiment; train what is not in the cache.

    Parameters
    ----------
    parameters : Parameters
        Of a paper, from `helpers.papers.load`.
    only : str or sequence of str, optional
        Names of parts, or of networks for all parts of theirs; by default all.
    progress : bool
        Show a progress bar over the parts.

    Returns
    -------
    DataFrame
        See `helpers.report.results`.

    Raises
    ------
    ValueError
        A part that does not exist; or none could be evaluated, with the reason of the first.
    """
    tables, roles, shared = [], None, None
    for part in (bar := tqdm(parts(parameters, only), disable=not progress)):
        bar.set_description(part.name)
        # networks on different features do not see the same images
        network = part.identity.get("backbone", "").partition("+")[0]
        own = (part.roles, parameters.features.get(network))
        if part.roles is None or own != shared:
            roles, shared = None, own
        found, roles = _rows_of_part(parameters, part, roles)
        tables.append(found)
    table = pd.concat(tables, ignore_index=True)
    if (table["metric"] == "failed").all():
        raise ValueError(f"nothing could be evaluated: {table['notes'].iloc[0]}")
    return table


def failed_parts(table: pd.DataFrame) -> list[str]:
    """Return the notes of the parts that failed: the name of each, and the reason.

    Other rows ``failed`` are about a score or a data set, which the rest of a part can do without.
    """
    notes = table.loc[table["metric"] == "failed", "notes"]
    return [note for note in notes if note.startswith(_PART_FAILED)]


def experiment_of(parameters: Parameters) -> ModuleType:
    """Return the module `experiment` that lies beside the class of the parameters."""
    return import_module(f"{type(parameters).__module__.rpartition('.')[0]}.experiment")


def parts(parameters: Parameters, only: str | Sequence[str] | None = None) -> list[Part]:
    """Return the parts of an experiment, or those that are named: each alone, or by its network."""
    found = {part.name: part for part in experiment_of(parameters).parts(parameters)}
    if only is None:
        return list(found.values())
    chosen: dict[str, Part] = {}
    for name in [only] if isinstance(only, str) else only:
        own = {one: part for one, part in found.items() if part.identity.get("backbone") == name}
        chosen |= own or {name: found[known_name("part", name, found)]}
    return list(chosen.values())


def rows_of_part(parameters: Parameters, part: Part) -> pd.DataFrame:
    """Return the rows of one part, from the cache if the same code has made them of the same."""
    return _rows_of_part(parameters, part, None)[0]


def ask(parameters: Parameters, part: Part, made: Mapping[str, Any] | None = None) -> tuple:
    """Return a part's models, and what they say of its images.

    Parameters
    ----------
    parameters : Parameters
    part : Part
    made : mapping of str to roles, optional
        Roles that are made already, by the name by which parts share them (`Part.roles`).
    """
    experiment = experiment_of(parameters)
    roles = (made or {}).get(part.roles)
    roles = experiment.roles(parameters, part) if roles is None else roles
    models = experiment.models(parameters, part, roles)
    return models, experiment.outputs(parameters, part, roles, models)


def outputs(parameters: Parameters, part: Part):
    """Return what a part's models say of its images."""
    return ask(parameters, part)[1]


def draws(parameters: Parameters) -> Draw:
    """Return the function that draws bootstrap weights: alike for all that has the same name."""
    return lambda name, images: _weights(
        images, parameters.replicates, parameters.seed + zlib.crc32(name.encode())
    )


@lru_cache(maxsize=32)
def _weights(images: int, replicates: int, seed: int) -> np.ndarray:
    return metrics.resample_weights(images, replicates=replicates, seed=seed)


def _rows_of_part(parameters: Parameters, part: Part, roles) -> tuple[pd.DataFrame, Any]:
    """Return the rows of a part, be it the one that says why it failed, and its roles."""
    experiment = experiment_of(parameters)
    identity = {"tier": parameters.tier, "paper": parameters.paper, "run": 0} | {**part.identity}
    content = {"part": part.name, "identity": identity, "parameters": parameters.decisive()}
    try:
        roles = experiment.roles(parameters, part) if roles is None else roles
        models = experiment.models(parameters, part, roles)
        content |= {"roles": digests(roles), "models": digests(models)}

        def make(path: Path) -> None:
            said = experiment.outputs(parameters, part, roles, models)
            made = list(experiment.rows(parameters, part, said, draws(parameters)))
            results.write(_table(made, identity, content, models, parameters.seed), path)

        code = cache.code(experiment.__name__, f"{__name__}.draws")
        key = cache.key(code=code, **content)
        path = cache.path_of("rows", key, ".parquet")
        found = cache.load_or_make(path, results.read, make)
        if missing := getattr(roles, "missing", {}):
            lacking = [_failed(name, why) for name, why in missing.items()]
            columns = {"method": "network"} | identity
            lacking = _table(lacking, columns, content, models, parameters.seed)
            found = pd.concat([found, lacking], ignore_index=True)
        return found, roles
    except cache.MissingError:  # no fault of the part's
        raise
    except Exception as error:  # of other people's models and files, anything
        log.exception("%s, part %s failed; the others go on", parameters.paper, part.name)
        why = f"{type(error).__name__}: {error}"
        failed = _failed("test", f"{_PART_FAILED}{part.name} failed: {why}")
        columns = {"method": "network"} | identity
        return _table([failed], columns, content, None, parameters.seed), roles


def _failed(test_set: str, why: str) -> dict:
    return results.row(test_set, "failed", 1.0, 1, notes=why)


def _table(rows: Sequence[Mapping], identity, content, models, seed: int) -> pd.DataFrame:
    trained = [one for _, one in leaves(models) if hasattr(one, "seconds")]
    provenance = results.provenance(
        content,
        seed=seed,
        device=", ".join(dict.fromkeys(one.device_name for one in trained)) or "none",
        seconds=sum(one.seconds for one in trained),
    )
    return results.tidy((identity | row for row in rows), provenance)


def digests(structure) -> list[tuple[str, Any]]:
    """Return what stands for the content of roles or models in a key, leaf by leaf.

    Raises
    ------
    TypeError
        A leaf is neither a plain value nor an array, and has no ``sha256``.

    Examples
    --------
    >>> digests({"seeds": [3, 4], "name": "a"})
    [('.seeds.0', 3), ('.seeds.1', 4), ('.name', 'a')]
    """
    return [(place, getattr(leaf, "sha256", leaf)) for place, leaf in leaves(structure)]


def leaves(value, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what a structure is made of, each with its place in it."""
    if isinstance(value, np.ndarray):
        value = {"shape": str(value.shape), "bytes": cache.key(content=value.tobytes().hex())}
    if value is None or isinstance(value, str | int | float) or hasattr(value, "sha256"):
        yield place, value
        if hasattr(value, "class_names"):  # by which images are numbered, no part of a sha256
            yield f"{place}.class_names", ", ".join(value.class_names)
    elif is_dataclass(value) or isinstance(value, Mapping | list | tuple):
        if is_dataclass(value):
            value = {field.name: getattr(value, field.name) for field in fields(value)}
        inner = value.items() if isinstance(value, Mapping) else enumerate(value)
        for name, one in inner:
            yield from leaves(one, f"{place}.{name}")
    else:
        kind = type(value).__name__
        raise TypeError(f"{place or 'roles or models'}: {kind} has no sha256 to know it again by")
