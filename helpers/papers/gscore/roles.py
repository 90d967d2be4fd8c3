"""The suite: many sets of unknown images, and the ID images that they are mixed with."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helpers import data
from helpers.checks import known_name
from helpers.data import Images, concatenate
from helpers.data.class_lists import shared_classes
from helpers.data.corruptions import corrupt_set
from helpers.labelfree import draw_places
from helpers.papers.gscore.parameters import packs
from pictures import FAMILIES

if TYPE_CHECKING:
    from helpers.papers.gscore.parameters import Parameters
    from helpers.papers.run import Part

_SPLITS = ("test", "val", "sample", "train")  # in this order of preference
#: Prefix of the names of sets that show a class left out of the ID set.
HELD_OUT = "held_out_"


def gbench() -> dict[str, str]:
    """Return the addresses of the paper's sets by name: 147 of 200, as its printed list is cut."""
    with open(Path(__file__).with_name("gbench.csv"), newline="", encoding="utf-8") as opened:
        return {row["name"]: row["url"] for row in csv.DictReader(opened)}


def pack_name(name: str) -> str:
    """Return the name of the pack with a set of the paper."""
    known_name("set of Gbench", name, gbench())
    return "gbench_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


@dataclass(frozen=True)
class Suite:
    """Which images play which role."""

    train: Images
    meta: Images
    validation: Images
    test: Images
    sets: dict[str, Images]
    excluded: dict[str, str]
    shifted: dict[str, Images]
    outliers: Images | None = None
    again: dict[str, np.ndarray] = field(default_factory=dict)


def roles(parameters: Parameters, part: Part) -> Suite:
    """Load the ID set and all sets of unknown images, and give each image its role.

    The ID training images are divided into three disjoint parts: images that the network learns
    from, images that are mixed with sets, and validation images.  The paper takes its validation
    images from the first part.  Here they are held out, since a small network is more confident on
    images that it learned from.  Classes are held out of the main ID set alone.

    A published network has learned from all training images, and knows all classes.  So its test
    images are divided instead, and no class is held out.
    """
    data_set, network, seed = part.identity["data_set"], part.identity["backbone"], parameters.seed
    published, main = parameters.is_published(network), data_set == parameters.data_set
    parameters = parameters.of_network(network)
    held_out = parameters.held_out if main and not published else []
    train, test, unknown = _id_images(data_set, held_out, parameters.download)
    size = train.images.shape[1]
    others, excluded = _sets(parameters, data_set, size)
    sets = {
        name: images.subset(draw_places(name, len(images), parameters.set_images, seed))
        for name, images in (unknown | others).items()
    }
    if not sets:
        raise ValueError("sets: none left; name some that share no class with the ID set")

    divided = test if published else train
    order = np.random.default_rng(seed).permutation(len(divided))
    ends = np.cumsum([round(parameters.fold_share * len(divided)), parameters.validation_images])
    if ends[1] >= len(divided):
        kind = "test images to be mixed" if published else "training images to the network"
        raise ValueError(
            f"validation_images: {parameters.validation_images} leave none of {len(divided)} "
            f"{kind}; take fewer"
        )
    # validation images stay in random order, so that the first of them are a sample of all
    meta, validation, rest = np.split(order, ends)
    rest = divided.subset(np.sort(rest))
    train, test = (train, rest) if published else (rest, test)
    shifted = {
        shift: corrupt_set(test, shift.split("/")[0], int(shift.split("/")[1]), seed=seed)
        for shift in parameters.shifts
    }
    meta, validation = divided.subset(np.sort(meta)), divided.subset(validation)
    suite = Suite(train, meta, validation, test, sets, excluded, shifted)
    if parameters.outliers and not published:
        given = {"size": size, "download": parameters.download}
        outliers = [data.load(name, "train", **given) for name in parameters.outliers]
        suite = replace(suite, outliers=concatenate(outliers, "outliers").unknown())
    if parameters.shown_again is None:
        return suite
    most = dict.fromkeys(sets, parameters.shown_again)
    most |= dict.fromkeys(("meta", "test"), parameters.validation_images)
    again = {
        name: draw_places(f"{name} again", len(images), most[name], seed)
        for name, images in {"meta": suite.meta, "test": suite.test, **sets}.items()
    }
    return replace(suite, again=again)


_FORMER = Path(__file__).with_name("former_families.txt")


def kind_of(name: str) -> str:
    """Return the kind of a set: drawn by a formula, a class of the ID set, or real.

    The committed table of tier ``small`` has families that are no longer drawn.
    """
    if name.startswith(HELD_OUT):
        return "held-out class"
    return "drawn" if name in {*FAMILIES, *_FORMER.read_text("utf-8").split()} else "real"


def _id_images(
    data_set: str, held_out: Sequence[str], download: bool
) -> tuple[Images, Images, dict[str, Images]]:
    """Return the training and test images of an ID set, and the images of held-out classes."""
    names = ("train", "test" if "test" in data.splits(data_set) else "val")
    train, test = (data.load(data_set, name, download=download) for name in names)
    if train.images.shape[1] != train.images.shape[2]:
        raise ValueError(f"data_set: square images expected, got {train}")
    unknown = {}
    for name in held_out:
        both = [images.select([name]).unknown() for images in (train, test)]
        unknown[f"{HELD_OUT}{name}"] = concatenate(both, f"{HELD_OUT}{name}")
    kept = [name for name in train.class_names if name not in held_out]
    if len(kept) < 2:
        raise ValueError(f"held_out: at least two classes must be left, got {kept}")
    return train.select(kept), test.select(kept), unknown


def _sets(
    parameters: Parameters, data_set: str, size: int
) -> tuple[dict[str, Images], dict[str, str]]:
    """Return the sets of unknown images, and why others are left out."""
    names, download = list(parameters.sets), parameters.download
    if parameters.packs:
        torchvision = [card.name for card in data.cards() if card.torchvision] if download else []
        names += sorted({*packs(), *torchvision} - set(names))
    seen = dict.fromkeys(parameters.outliers, "the network learns from it")
    shared = shared_classes(data_set) | seen
    sets, excluded = {}, {name: shared[name] for name in names if name in shared}
    for name in (name for name in names if name not in shared):
        splits = data.splits(name)
        split = next((split for split in _SPLITS if split in splits), splits[0])
        try:
            sets[name] = data.load(name, split, size=size, download=download).unknown()
        except FileNotFoundError as error:  # one of many hosts is often not available
            if name in parameters.sets:
                raise
            excluded[name] = str(error)
    return sets, excluded
