"""The roles of the images as the authors' own archives have them.

Their README links both benchmarks as folders of pictures, and the code beside it reads them
(github.com/daintlab/unknown-detection-benchmarks: dataloader.py, methods/oe/oe_loader.py).
``PART/SET/CLASS/`` holds images with labels, ``PART/SET/labels/CLASS/`` where the set has both,
``PART/SET/no-labels/ANY/`` those without; parts are ``train``, ``valid`` and ``test``.  So they say
what the paper does not print: which forty classes are known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.data import Images, ImageStream, sources, subsample
from helpers.files import data_root

if TYPE_CHECKING:
    from helpers.papers.unknown_detection.parameters import BenchmarkParameters


@dataclass(frozen=True)
class Archive:
    """How an archive calls its sets.

    Attributes
    ----------
    known, near, external : str
    far : dict of str to str
        By what they are called here.
    size : int, optional
        Pixels that all images are brought to in memory; without, they are streamed.
    """

    known: str
    near: str
    external: str
    far: dict[str, str]
    size: int | None = None


ARCHIVES = {
    "cifar-bench": Archive(
        known="cifar40",
        near="cifar60",
        external="new-tinyimagenet158",
        far={"svhn": "svhn", "lsun_fix": "lsun-fix", "dtd": "describable-textures"},
        size=32,
    ),
    "imagenet-bench": Archive(
        known="imagenet200",
        near="near-imagenet200",
        external="external-imagenet394",
        far={name: name for name in ("food101", "caltech256", "places365")},
    ),
}
"""By the name of the folder that each of them unpacks to, in ``DATA_ROOT``."""


def read(parameters: BenchmarkParameters) -> dict:
    """Return the fields of a `Benchmark` from the authors' archive; all images are as they are.

    Raises
    ------
    FileNotFoundError
        A folder of the archive is not there, by name.
    ValueError
        The parts of the known set do not have the same classes.
    """
    archive = ARCHIVES[parameters.data_set]
    root = data_root() / parameters.data_set

    def part(split: str, name: str, called: str, kind: str) -> Images | ImageStream:
        folder = root / split / name
        inner = folder / kind
        return _read(inner if inner.is_dir() else folder, called, split, archive.size)

    seen, held, test = (
        part(split, archive.known, archive.known, "labels") for split in ("train", "valid", "test")
    )
    for one in (held, test):
        if odd := sorted(set(one.class_names) ^ set(seen.class_names)):
            raise ValueError(
                f"{root}: {archive.known} has class {odd[0]!r} in one of its parts train and "
                f"{one.split} alone; unpack the archive again"
            )
    outside, held_outside = (
        part(split, archive.external, "external", "no-labels").unknown()
        for split in ("train", "valid")
    )
    near = part("test", archive.near, "near", "no-labels")
    count, seed = parameters.external_validation, parameters.seed
    return {
        "known": seen.class_names,
        "near_classes": near.class_names,
        "superclass_of": {},
        "train": seen,
        "validation": held,
        "test": test,
        "external": outside,
        "external_validation": subsample(held_outside, count, seed=seed),
        "near": near,
        "far": {
            called: part("test", name, called, "no-labels") for called, name in archive.far.items()
        },
        "aside": {},
    }


def _read(folder: Path, name: str, split: str, size: int | None) -> Images | ImageStream:
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{folder}: no such folder of the authors' archive; unpack it whole below DATA_ROOT"
        )
    found = sources.folder(folder, "test", size=size) if size else ImageStream.scan(folder)
    return replace(found, name=name, split=split)
