"""The kinds of files that this project writes and reads, each small and drawn from a seed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import helpers.scores
from helpers import cache, checkpoints
from helpers.data.packs import read_pack, write_pack
from helpers.files import atomic_path
from helpers.outputs import Head, Outputs
from helpers.report import results
from known_unknowns.auditing.inputs import read_outputs
from known_unknowns.auditing.rejector import Rejector

IMAGES, CLASSES, WIDTH = 40, 4, 6


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes
    ----------
    suffix : str
        Of its name.
    write : callable
        From a path and a seed: writes it, the same for the same seed.
    read : callable
        From a path to a digest of all that is used of the file.
    ours : bool
        Whether this project writes it; others are only read.
    """

    suffix: str
    write: Callable[[Path, int], object]
    read: Callable[[Path], str]
    ours: bool = True


def digest(*parts) -> str:
    """Return a SHA-256 of arrays and plain values: type, shape and bytes, or what they print as."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            total.update(f"{part.dtype} {part.shape} ".encode() + part.tobytes())
        else:
            total.update(repr(part).encode())
    return total.hexdigest()


def _outputs(seed: int) -> tuple[Outputs, Head]:
    generator = np.random.default_rng(seed)
    labels = np.arange(IMAGES) % CLASSES
    weight = generator.normal(size=(CLASSES, WIDTH)).astype(np.float32)
    features = generator.normal(size=(IMAGES, WIDTH)).astype(np.float32) + 2 * weight[labels]
    head = Head(weight, np.zeros(CLASSES, np.float32))
    return Outputs(features @ weight.T, features, labels), head


def _arrays(outputs: Outputs) -> list:
    return [outputs.logits, outputs.features, outputs.labels, outputs.members, outputs.native]


def _write_outputs(path: Path, seed: int) -> None:
    _outputs(seed)[0].save(path)


def _write_checkpoint(path: Path, seed: int) -> None:
    generator = np.random.default_rng(seed)
    tensors = {name: generator.normal(size=(8, 9)).astype(np.float32) for name in "abc"}
    checkpoints.save(path, tensors, epochs=[{"loss": seed / 7}], name="toy")


def _read_checkpoint(path: Path) -> str:
    tensors, information = checkpoints.load(path, framework="np")
    return digest(
        information, *(part for name in sorted(tensors) for part in (name, tensors[name]))
    )


def _write_rejector(path: Path, seed: int) -> None:
    outputs, head = _outputs(seed)
    score = helpers.scores.create("knn", k=5).fit(outputs, head)
    Rejector(score, -0.5, CLASSES, WIDTH, provenance={"seed": seed}).save(path)


def _read_rejector(path: Path) -> str:
    found, (outputs, _) = Rejector.load(path), _outputs(99)
    said = [found.score_samples(outputs), found.accepts(outputs)]
    return digest(*said, found.threshold, found.classes, found.provenance, found.temperature)


def _write_pack(path: Path, seed: int) -> None:
    images = np.random.default_rng(seed).integers(256, size=(IMAGES, 8, 8, 3), dtype=np.uint8)
    splits = {"test": (images, np.arange(IMAGES) % 2)}
    write_pack(path, name="toy", class_names=["a", "b"], splits=splits, origin={"title": "Toy"})


def _read_pack(path: Path) -> str:
    found = read_pack(path, "test")
    return digest(found.images, found.labels, found.class_names, found.name, found.origin)


def _write_results(path: Path, seed: int) -> None:
    made = {"seed": seed, "parameters": "0" * 12, "code": "0", "versions": "{}", "device": "none",
            "seconds": 1.0}  # fmt: skip
    shared = {"tier": "mini", "paper": "toy", "data_set": "digits", "backbone": "none"}
    generator = np.random.default_rng(seed)
    rows = [
        results.row("test", "ece", generator.random(), 9, generator.random(9), method=name, run=run)
        for name in ("a", "b") for run in range(5)
    ]  # fmt: skip
    results.write(results.tidy((shared | row for row in rows), made), path)


def _read_results(path: Path) -> str:
    table = results.read(path)
    return digest(*(table[name].tolist() for name in table if name != "bootstrap"),
                  *table["bootstrap"])  # fmt: skip


def _array(path: Path, make: Callable[[], np.ndarray]) -> np.ndarray:
    """Return what `cache.array` keeps at a path, which lies below the root of the cache."""
    relative = path.relative_to(cache.cache_root()).with_suffix("")  # which it adds
    return cache.array(str(relative.parent), relative.name, make)


def _write_array(path: Path, seed: int) -> None:
    path.unlink(missing_ok=True)  # what is there is what another seed has made
    _array(path, partial(_draw, seed))


def _draw(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(30, 11))


def _read_array(path: Path) -> str:
    def make():
        raise ValueError(f"{path} is not whole, and would be made anew")

    return digest(_array(path, make))


def _write_npz(path: Path, seed: int) -> None:
    outputs, head = _outputs(seed)
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, logits=outputs.logits, labels=outputs.labels, features=outputs.features,
                 head_weight=head.weight, head_bias=head.bias)  # fmt: skip


def _read_npz(path: Path) -> str:
    found = read_outputs(path)
    head = (found.head.weight, found.head.bias) if found.head else ()
    return digest(*_arrays(found.validation), *head, found.class_names)


KINDS = {
    "array in the cache": Kind(".array.safetensors", _write_array, _read_array),
    "stored outputs": Kind(
        ".outputs.safetensors", _write_outputs, lambda path: digest(*_arrays(Outputs.load(path)))
    ),
    "checkpoint": Kind(".safetensors", _write_checkpoint, _read_checkpoint),
    "rejector": Kind(".rejector.safetensors", _write_rejector, _read_rejector),
    "pack": Kind(".zip", _write_pack, _read_pack),
    "results table": Kind(".parquet", _write_results, _read_results),
    "outputs to audit": Kind(".npz", _write_npz, _read_npz, ours=False),
}
"""Every kind by its name."""

OURS = {name: kind for name, kind in KINDS.items() if kind.ours}


def make_all(folder: Path, seeds: Iterable[int]) -> dict[str, str]:
    """Make what is missing or damaged of every kind that is ours, once a seed; return the digests.

    What stands for the pipeline in most trials: it does what each step of that does, and takes
    as long as the files take to be written.
    """
    found = {}
    for seed in seeds:
        for name, kind in OURS.items():
            path = place(folder, name, seed)
            if kind.read is _read_array:  # which the cache does by itself
                found[path.name] = digest(_array(path, partial(_draw, seed)))
            else:
                make = partial(kind.write, seed=seed)
                found[path.name] = cache.load_or_make(path, kind.read, make)
    return found


def place(folder: Path, name: str, seed: int) -> Path:
    """Return where a file of some kind lies."""
    return folder / f"{name.replace(' ', '_')}_{seed}{KINDS[name].suffix}"


def leftovers(folder: Path) -> list[str]:
    """Return the names of temporary files and folders."""
    return sorted(one.name for one in folder.iterdir() if one.name.startswith("."))
