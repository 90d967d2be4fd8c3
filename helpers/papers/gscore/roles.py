"""The suite: many sets of unknown images, and the ID images that they are mixed with."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helpers import data
from helpers.data import Images
from helpers.data.class_lists import shared_classes
from helpers.data.corruptions import corrupt_set
from helpers.labelfree import draw_places
from helpers.papers.gscore.parameters import packs
from pictures import FAMILIES

if TYPE_CHECKING:
    from helpers.papers.gscore.parameters import Parameters
    from helpers.papers.run import Part


def gbench() -> dict[str, str]:
    """Return the addresses of the paper's sets by name: 147 of 200, as its printed list is cut."""
    with open(Path(__file__).with_name("gbench.csv"), newline="", encoding="utf-8") as opened:
        return {row["name"]: row["url"] for row in csv.DictReader(opened)}


@dataclass(frozen=True)
class Suite:
    """Which images play which role."""

    train: Images
    meta: Images
    validation: Images
    test: Images
    sets: dict[str, Images]
    shifted: dict[str, Images]
    again: dict[str, np.ndarray] = field(default_factory=dict)
    # unavailable sets, and the reasons: `run` makes rows ``failed`` of them
    missing: dict[str, str] = field(default_factory=dict, compare=False)


def roles(parameters: Parameters, part: Part) -> Suite:
    """Load the ID set and all sets of unknown images, and give each image its role.

    The ID training images are divided into three disjoint parts: images that the network learns
    from, images that are mixed with sets, and validation images.  The paper takes its validation
    images from the first part.  Here they are held out, since a small network is more confident on
    images that it learned from.

    A published network has learned from all training images.  So its test images are divided.
    """
    data_set = part.identity["data_set"]
    network = part.identity["backbone"]
    is_published = parameters.is_published(network)
    parameters = parameters.of_network(network)
    seed = parameters.seed
    train, test = _id_images(data_set, parameters.download)
    size = train.images.shape[1]
    whole, missing = _sets(parameters, data_set, size)
    sets = {
        name: images.subset(draw_places(name, len(images), parameters.set_images, seed))
        for name, images in whole.items()
    }
    if not sets:
        raise ValueError("sets: none left; name some that share no class with the ID set")

    divided = test if is_published else train
    meta, validation, remaining = _divide(divided, is_published, parameters)
    if is_published:
        test = remaining
    else:
        train = remaining
    suite = Suite(
        train=train,
        meta=meta,
        validation=validation,
        test=test,
        sets=sets,
        shifted={shift: _shifted(test, shift, seed) for shift in parameters.shifts},
        missing=missing,
    )
    if parameters.shown_again is None:
        return suite
    most = dict.fromkeys(sets, parameters.shown_again)
    most |= dict.fromkeys(("meta", "test"), parameters.validation_images)
    again = {
        name: draw_places(f"{name} again", len(images), most[name], seed)
        for name, images in {"meta": suite.meta, "test": suite.test, **sets}.items()
    }
    return replace(suite, again=again)


def _divide(
    images: Images, is_published: bool, parameters: Parameters
) -> tuple[Images, Images, Images]:
    """Divide images at random: to mix with sets, for validation, and all other images."""
    order = np.random.default_rng(parameters.seed).permutation(len(images))
    mixed = round(parameters.fold_share * len(images))
    end = mixed + parameters.validation_images
    if end >= len(images):
        use = "test images to be mixed" if is_published else "training images to the network"
        raise ValueError(
            f"validation_images: {parameters.validation_images} leave none of {len(images)} "
            f"{use}; choose a smaller number"
        )
    return (
        images.subset(np.sort(order[:mixed])),
        # in random order, so that the first validation images are a sample of all
        images.subset(order[mixed:end]),
        images.subset(np.sort(order[end:])),
    )


def _shifted(test: Images, shift: str, seed: int) -> Images:
    """Return the test images with a corruption, ``KIND/SEVERITY``."""
    kind, severity = shift.split("/")
    return corrupt_set(test, kind, int(severity), seed=seed)


_FORMER = Path(__file__).with_name("former_families.txt")


def kind_of(name: str) -> str:
    """Return the kind of a set: drawn by a formula, or real.

    The committed table of tier ``small`` has families that are no longer drawn.
    """
    former = _FORMER.read_text("utf-8").split()
    return "drawn" if name in FAMILIES or name in former else "real"


def _id_images(data_set: str, download: bool) -> tuple[Images, Images]:
    """Return the training and test images of an ID set."""
    train = data.load(data_set, "train", download=download)
    last = "test" if "test" in data.splits(data_set) else "val"
    test = data.load(data_set, last, download=download)
    if train.images.shape[1] != train.images.shape[2]:
        raise ValueError(f"data_set: square images expected, got {train}")
    return train, test


def _sets(
    parameters: Parameters, data_set: str, size: int
) -> tuple[dict[str, Images], dict[str, str]]:
    """Return the sets of unknown images without ID classes, and why others are missing."""
    names = list(parameters.sets)
    download = parameters.download
    if parameters.packs:
        available = set(packs())
        if download:
            available |= {card.name for card in data.cards() if card.torchvision}
        names += sorted(available - set(names))
    shared = shared_classes(data_set)
    sets = {}
    missing = {}
    for name in names:
        if name in shared:
            continue
        try:
            sets[name] = data.load(
                name, data.split_for_tests(name), size=size, download=download
            ).unknown()
        except FileNotFoundError as error:  # one of many hosts is often not available
            if name in parameters.sets:
                raise
            missing[name] = str(error)
    return sets, missing
