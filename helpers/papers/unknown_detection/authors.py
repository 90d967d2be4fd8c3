"""The authors' archives of images, and the choices of their code that differ from ours.

Both benchmarks are folders of pictures (github.com/daintlab/unknown-detection-benchmarks).
``PART/SET/labels/CLASS/`` holds images with labels, ``PART/SET/no-labels/ANY/`` images without;
parts are ``train``, ``valid`` and ``test``.  The folders name the classes that are known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from helpers.data import Images, ImageStream, sources, subsample
from helpers.files import data_root

if TYPE_CHECKING:
    from helpers.papers.unknown_detection.parameters import BenchmarkParameters

FLAT = 0.5
"""The factor of every logit that OpenMax revises on CIFAR, whatever its rank (``openmax.py``)."""

ARCHIVES = {
    "cifar-bench": {
        "known": "cifar40",
        "near": "cifar60",
        "external": "new-tinyimagenet158",
        "far": {"svhn": "svhn", "lsun_fix": "lsun-fix", "dtd": "describable-textures"},
        "size": 32,
    },
    "imagenet-bench": {
        "known": "imagenet200",
        "near": "near-imagenet200",
        "external": "external-imagenet394",
        "far": {name: name for name in ("food101", "caltech256", "places365")},
        "size": None,
    },
}
"""Folders of each set, by the folder of the archive in ``DATA_ROOT``; no size means streamed."""


def read(parameters: BenchmarkParameters) -> dict:
    """Return the fields of a `Benchmark` from the authors' archive; no image is left out."""
    archive = ARCHIVES[parameters.data_set]
    root = data_root() / parameters.data_set

    def load(split: str, name: str, title: str, kind: str = "no-labels") -> Images | ImageStream:
        folder = root / split / name
        folder = folder / kind if (folder / kind).is_dir() else folder
        if not folder.is_dir():
            raise FileNotFoundError(
                f"{folder}: no such folder of the authors' archive; unpack it whole below DATA_ROOT"
            )
        size = archive["size"]
        images = sources.folder(folder, "test", size=size) if size else ImageStream.scan(folder)
        return replace(images, name=title, split=split)

    known = archive["known"]
    train, validation, test = (
        load(split, known, known, "labels") for split in ("train", "valid", "test")
    )
    for images in (validation, test):
        if odd := sorted(set(images.class_names) ^ set(train.class_names)):
            raise ValueError(
                f"{root}: {known} has class {odd[0]!r} in one of its parts train and "
                f"{images.split} alone; unpack the archive again"
            )
    external, held_out = (
        load(split, archive["external"], "external").unknown() for split in ("train", "valid")
    )
    near = load("test", archive["near"], "near")
    return {
        "known": train.class_names,
        "near_classes": near.class_names,
        "train": train,
        "validation": validation,
        "test": test,
        "external": external,
        "external_validation": subsample(
            held_out, parameters.external_validation, seed=parameters.seed
        ),
        "near": near,
        "far": {title: load("test", name, title) for title, name in archive["far"].items()},
    }


def fpr_at_nearest_tpr(known, unknown, *, tpr: float = 0.95) -> float:
    """Return the false positive rate of the authors' code, `metrics_ood.py`.

    The known images with the lowest scores are dropped until the kept share is nearest to `tpr`;
    unknown images count as accepted from the score of the last dropped image on.

    >>> from helpers.metrics import fpr_at_tpr
    >>> known, unknown = range(20), [-1, 0.5, 0.5, 30]
    >>> fpr_at_nearest_tpr(known, unknown), fpr_at_tpr(known, unknown)
    (0.75, 0.25)
    """
    known, unknown = np.sort(np.asarray(known)), np.asarray(unknown)
    dropped = np.abs(np.arange(len(known), -1, -1) / len(known) - tpr).argmin()
    return float((unknown >= known[dropped - 1]).mean()) if dropped else 1.0
