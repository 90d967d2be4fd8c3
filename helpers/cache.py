"""Results cached by content: keys cover all inputs, so the cache needs no manual clearing."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np

from helpers import modules
from helpers.files import atomic_path, cache_root, locked

Kept = TypeVar("Kept")
log = logging.getLogger(__name__)


def key(**content) -> str:
    """Return a key of 16 hexadecimal digits for JSON values, independent of the order of names.

    Examples
    --------
    >>> key(a=1, b=[2, 3]) == key(b=[2, 3], a=1)
    True
    >>> key(a=1) == key(a=2)
    False
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.cache
def code(*names: str) -> str:
    """Return a hash of modules and of all that they import: the part of a key for the code.

    Comments and docstrings do not matter.  Other packages count by name, without their versions.

    Examples
    --------
    >>> code("helpers.cache.key") == code("helpers.outputs.Head")
    False
    """
    return modules.code(names)


def load_or_make(path: Path, load: Callable[[Path], Kept], make: Callable[[Path], object]) -> Kept:
    """Load the file at `path`; make it first if it is missing or damaged.

    A damaged file is renamed to ``NAME.damaged``, with a warning that names it, and is made
    again; no data is loaded from the damaged file.
    """
    if path.exists():
        with suppress(ValueError, FileNotFoundError):
            return load(path)
        with locked(cache_root() / "locks" / f"{path.name}.lock"):
            try:
                return load(path)  # which another process has made meanwhile
            except FileNotFoundError:
                pass  # another process makes it
            except ValueError as error:
                os.replace(path, path.with_name(path.name + ".damaged"))
                log.warning("set aside a damaged file and make it anew: %s", error)
    make(path)
    return load(path)


class MissingError(LookupError):
    """Something is not in the cache, and may not be made here."""


def path_of(kind: str, key: str, suffix: str) -> Path:
    """Return where a thing of some kind is kept: ``cache_root()/kind/key.suffix``."""
    return cache_root() / kind / f"{key}{suffix}"


def array(kind: str, key: str, make: Callable[[], np.ndarray]) -> np.ndarray:
    """Return an array that is kept as ``cache_root()/kind/key.safetensors``; compute it if not.

    The file has a checksum, so that an altered file is made again.
    """
    from helpers import checkpoints  # only arrays need this import

    def load(path: Path) -> np.ndarray:
        return checkpoints.load(path, framework="np")[0]["array"]

    def write(path: Path) -> None:
        checkpoints.save(path, {"array": make()})

    return load_or_make(path_of(kind, key, ".safetensors"), load, write)


def value(kind: str, key: str, make: Callable[[], Kept]) -> Kept:
    """Return what JSON can hold, kept as ``cache_root()/kind/key.json``; compute it if not.

    The first line of the file is a checksum of the second, so that an altered file is made again.
    """

    def load(path: Path) -> Kept:
        checksum, _, text = path.read_text(encoding="utf-8").partition("\n")
        if checksum != hashlib.sha256(text.encode()).hexdigest():
            raise ValueError(f"{path}: altered since it was written")
        return json.loads(text)

    def write(path: Path) -> None:
        text = json.dumps(make())
        with atomic_path(path) as temporary:
            whole = f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}"
            temporary.write_text(whole, encoding="utf-8")

    return load_or_make(path_of(kind, key, ".json"), load, write)
