"""State of a fitted score as plain JSON and arrays: no code is written to or read from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from helpers.checks import known_name
from helpers.outputs import Head
from helpers.scores.bank import Bank
from helpers.scores.moments import Gaussians
from helpers.scores.openmax import OpenMax

#: Parts of a score in addition to numbers and arrays; a file cannot name other parts.
PARTS: dict[str, type] = {kind.__name__: kind for kind in (Bank, Gaussians, Head, OpenMax)}


class Packing:
    """Values in plain JSON, and `tensors` with their arrays by name, each array once.

    Plain numbers, text, None and lists stay; other values become a mapping with the type as key.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self._packed: dict[int, dict] = {}  # packed arrays by identity

    def pack(self, value: Any, name: str) -> Any:
        """Return a value in plain JSON; names of its arrays begin with `name`."""
        if isinstance(value, np.ndarray | np.generic):
            if id(value) not in self._packed:
                self._packed[id(value)] = self._pack_array(value, name)
            return self._packed[id(value)]
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list):
            return self._pack_items(value, name)
        if isinstance(value, tuple):
            return {"tuple": self._pack_items(value, name)}
        if isinstance(value, dict):
            return {"mapping": self._pack_fields(value, name)}
        kind = type(value).__name__
        if PARTS.get(kind) is type(value):
            return {kind: self._pack_fields(vars(value), name)}
        raise ValueError(f"score: {name} is a {kind}, which cannot be written to a file")

    def _pack_array(self, value: np.ndarray | np.generic, name: str) -> dict[str, str]:
        if isinstance(value, np.generic):
            self.tensors[name] = np.asarray(value)
            return {"number": name}
        if value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous:
            # The rounding of sums depends on the order of an array in memory, so we keep the order.
            self.tensors[name] = value.T
            return {"turned": name}
        self.tensors[name] = value
        return {"array": name}

    def _pack_items(self, items: Sequence, name: str) -> list:
        return [self.pack(item, f"{name}.{index}") for index, item in enumerate(items)]

    def _pack_fields(self, fields: Mapping[str, Any], name: str) -> dict[str, Any]:
        return {field: self.pack(value, f"{name}.{field}") for field, value in fields.items()}


def unpack(value: Any, tensors: Mapping[str, np.ndarray]) -> Any:
    """Return the value that `Packing.pack` received."""
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
