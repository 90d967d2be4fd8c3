"""State of a fitted score as plain JSON and arrays: no code is written to or read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from helpers.checks import known_name
from helpers.outputs import Head
from helpers.scores.bank import Bank
from helpers.scores.moments import Gaussians
from helpers.scores.openmax import OpenMax

#: Parts of a score in addition to numbers and arrays; a file cannot name other parts.
PARTS: dict[str, type] = {kind.__name__: kind for kind in (Bank, Gaussians, Head, OpenMax)}


def pack(value: Any, name: str, tensors: dict[str, np.ndarray]) -> Any:
    """Return a value in plain JSON; its arrays are added to `tensors`, each array once.

    Plain numbers, text, None and lists stay; other values become a mapping with the type as key.
    Names of arrays begin with `name`.
    """
    if isinstance(value, np.generic):
        tensors[name] = np.asarray(value)
        return {"number": name}
    if isinstance(value, np.ndarray):
        # the rounding of sums depends on the order of an array in memory, which is kept
        turned = value.flags.f_contiguous and not value.flags.c_contiguous
        stored = value.T if turned else value
        memory = stored.__array_interface__  # which two objects can share, as two times .T
        same = (key for key, array in tensors.items() if array.__array_interface__ == memory)
        name = next(same, name)
        tensors[name] = stored
        return {"turned" if turned else "array": name}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        items = [pack(item, f"{name}.{index}", tensors) for index, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    kind = "mapping" if isinstance(value, dict) else type(value).__name__
    if kind != "mapping" and PARTS.get(kind) is not type(value):
        raise ValueError(f"score: {name} is a {kind}, which cannot be written to a file")
    fields = value if isinstance(value, dict) else vars(value)
    return {kind: {field: pack(item, f"{name}.{field}", tensors) for field, item in fields.items()}}


def unpack(value: Any, tensors: Mapping[str, np.ndarray]) -> Any:
    """Return the value that `pack` received."""
    if isinstance(value, list):
        return [unpack(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return tensors[content]
    if kind == "turned":
        return tensors[content].T
    if kind == "number":
        return tensors[content][()]
    if kind == "tuple":
        return tuple(unpack(content, tensors))
    fields = {name: unpack(item, tensors) for name, item in content.items()}
    if kind == "mapping":
        return fields
    part: object = object.__new__(PARTS[known_name("part of a score", kind, PARTS)])
    vars(part).update(fields)
    return part
