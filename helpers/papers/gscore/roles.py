"""The suite: many sets of unknown images, and the ID images that they are mixed with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from helpers import data
from helpers.data import Images, concatenate
from helpers.data.class_lists import shared_classes
from helpers.data.corruptions import corrupt_set
from helpers.labelfree import draw_places
from helpers.papers.gscore.parameters import packs
from pictures import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helpers.papers.gscore.parameters import Parameters
    from helpers.papers.run import Part

_SPLITS = ("test", "val", "sample", "train")  # the first that a set has is taken
HELD_OUT = "held_out_"
"""What the name of a set begins with whose images are of a class left out of the ID set."""
SEEN = "the network learns from it"


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

    The ID training images fall into three parts, none of which is in another: those that the
    network learns from, the share that is mixed with sets, and the validation images.  The paper
    divides them by five, and takes its validation images from the part that the network has
    learnt from; here they are held out of it, since a small network is surer of what it has seen.
    Classes are held out of the main ID set alone.

    A published network has learnt from all of them, and knows all classes.  There the test images
    are divided in the same shares, what is left of them is mixed with the sets of the test, and no
    class is held out.
    """
    data_set, network, seed = part.identity["data_set"], part.identity["backbone"], parameters.seed
    published, main = parameters.is_published(network), data_set == parameters.data_set
    parameters = parameters.of_network(network)
    train, test, unknown = _id_images(
        data_set, parameters.held_out if main and not published else [], parameters.download
    )
    size = train.images.shape[1]
    others, excluded = _sets(parameters, data_set, size)
    found = {
        name: one.subset(draw_places(name, len(one), min(len(one), parameters.set_images), seed))
        for name, one in (unknown | others).items()
    }
    if not found:
        raise ValueError("sets: none left; name some that share no class with the ID set")

    divided = test if published else train
    order = np.random.default_rng(seed).permutation(len(divided))
    ends = np.cumsum([round(parameters.fold_share * len(divided)), parameters.validation_images])
    if ends[1] >= len(divided):
        raise ValueError(
            f"validation_images: {parameters.validation_images} leave none of {len(divided)} "
            f"{'test images to be mixed' if published else 'training images to the network'}; "
            "take fewer"
        )
    # validation images stay in random order, so that the first of them are a sample of all
    meta, validation, rest = np.split(order, ends)
    rest = divided.subset(np.sort(rest))
    train, test = (train, rest) if published else (rest, test)
    outliers = [
        data.load(name, "train", size=size, download=parameters.download)
        for name in ([] if published else parameters.outliers)
    ]
    corruptions = {shift: shift.split("/") for shift in parameters.shifts}
    suite = Suite(
        train=train,
        meta=divided.subset(np.sort(meta)),
        validation=divided.subset(validation),
        test=test,
        sets=found,
        excluded=excluded,
        shifted={
            shift: corrupt_set(test, kind, int(severity), seed=seed)
            for shift, (kind, severity) in corruptions.items()
        },
        outliers=concatenate(outliers, "outliers").unknown() if outliers else None,
    )
    suite = parameters.seen_by(network, suite)
    if parameters.shown_again is None:
        return suite
    most = dict.fromkeys(("meta", "test"), parameters.validation_images)
    most |= dict.fromkeys(found, parameters.shown_again)
    those = {"meta": suite.meta, "test": suite.test, **found}
    again = {
        name: draw_places(f"{name} again", len(one), min(len(one), most[name]), seed)
        for name, one in those.items()
    }
    return replace(suite, again=again)


def kind_of(name: str) -> str:
    """Return where the images of a set come from: formulas, a class of the ID set, or others."""
    if name.startswith(HELD_OUT):
        return "held-out class"
    return "drawn" if name in FAMILIES else "real"


def _id_images(
    data_set: str, held_out: Sequence[str], download: bool
) -> tuple[Images, Images, dict[str, Images]]:
    """Return the training and the test images of an ID set, and those of classes held out."""
    names = ("train", "test" if "test" in data.splits(data_set) else "val")
    train, test = (data.load(data_set, name, download=download) for name in names)
    if train.images.shape[1] != train.images.shape[2]:
        raise ValueError(f"data_set: square images expected, got {train}")
    unknown = {}
    for name in held_out:
        both = [whole.select([name]).unknown() for whole in (train, test)]
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
    left_out = shared_classes(data_set) | dict.fromkeys(parameters.outliers, SEEN)
    found, excluded = {}, {name: left_out[name] for name in names if name in left_out}
    for name in (name for name in names if name not in left_out):
        there = data.splits(name)
        split = next((one for one in _SPLITS if one in there), there[0])
        try:
            found[name] = data.load(name, split, size=size, download=download).unknown()
        except FileNotFoundError as error:  # of many hosts, one is often out of reach
            if name in parameters.sets:
                raise
            excluded[name] = str(error)
    return found, excluded
