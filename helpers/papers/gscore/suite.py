"""The suite: many sets of unknown images, and the ID images that they are mixed with."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from helpers import data
from helpers.checks import known_name
from helpers.data import Images, concatenate
from helpers.data.corruptions import corrupt_set
from helpers.files import data_root
from helpers.papers.gscore.mixtures import places
from helpers.papers.gscore.protocol import Protocol

_FOLDER = Path(__file__).parent
_SPLITS = ("test", "val", "sample", "train")  # the first that a set has is taken
HELD_OUT = "held_out_"
"""What the name of a set begins with whose images are of a class left out of the ID set."""
SEEN = "the network learns from it"


@dataclass(frozen=True)
class Roles:
    """Which images play which role.

    Attributes
    ----------
    train : Images
        ID; what the network learns from.
    meta, test : Images
        ID; mixed with the sets that the regression learns from, and that test it.
    validation : Images
        ID; what one-sided density estimation learns from.
    sets : dict of str to Images
        Unknown images by the name of their set; labels −1.
    excluded : dict of str to str
        Sets that were left out, and why: what they share with the ID set.
    shifted : dict of str to Images
        The images of `test` under each of the protocol's corruptions.
    outliers : Images, optional
        What a network may learn to be unsure of; of no set.
    """

    train: Images
    meta: Images
    validation: Images
    test: Images
    sets: dict[str, Images]
    excluded: dict[str, str] = field(default_factory=dict)
    shifted: dict[str, Images] = field(default_factory=dict)
    outliers: Images | None = None


def suite(
    data_set: str,
    sets: Sequence[str],
    protocol: Protocol,
    *,
    outliers: Sequence[str] = (),
    packs: bool = False,
    download: bool = False,
) -> Roles:
    """Load the ID set and all sets of unknown images, and give each image its role.

    The ID training images fall into three parts, none of which is in another: those that the
    network learns from, the share that is mixed with sets, and the validation images.  The paper
    divides them by five, and takes its validation images from the part that the network has
    learnt from; here they are held out of it, since a small network is surer of what it has seen.

    Parameters
    ----------
    data_set : str
        One of `helpers.data.names`, with ``train`` and ``test`` (or ``val``).
    sets : sequence of str
        Others of them.  Of each, the split ``test``, else ``val``, ``sample``, ``train``.
    protocol : Protocol
    outliers : sequence of str
        Sets whose training images a network is shown as unknown (outlier exposure), and which
        therefore test nothing.  The paper has none; a network that has learnt from few images is
        about as sure of most drawings as of photographs, and no detector then tells them apart.
    packs : bool
        Add every pack under `helpers.files.data_root` and, with `download`, every set that
        torchvision reads.  One of the latter that cannot be downloaded is excluded, and says why.
    download : bool
        Let torchvision download what is not there.

    Returns
    -------
    Roles
        All images have the size of the ID set's; larger ones are brought to it with antialiasing.

    Raises
    ------
    ValueError
        An unknown set or class; more validation images than there are; ID images that are not
        square; no set left, or a name that comes twice.
    """
    splits = data.splits(data_set)
    train = data.load(data_set, "train", download=download)
    test = data.load(data_set, "test" if "test" in splits else "val", download=download)
    size = train.images.shape[1]
    if train.images.shape[2] != size:
        raise ValueError(f"data_set: square images expected, got {train}")
    found = {}
    for name in protocol.held_out:
        both = [whole.select([name]).unknown() for whole in (train, test)]
        found[f"{HELD_OUT}{name}"] = concatenate(both, f"{HELD_OUT}{name}")
    kept = [name for name in train.class_names if name not in protocol.held_out]
    if len(kept) < 2:
        raise ValueError(f"held_out: at least two classes must be left, got {kept}")
    train, test = train.select(kept), test.select(kept)

    names = list(sets)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"sets: twice: {', '.join(twice)}")
    if packs:
        names += [name for name in _at_hand(download) if name not in names]
    excluded, left_out = {}, shared_classes(data_set) | dict.fromkeys(outliers, SEEN)
    for name in names:
        if name in left_out:
            excluded[name] = left_out[name]
            continue
        there = data.splits(name)
        split = next((one for one in _SPLITS if one in there), there[0])
        try:
            found[name] = data.load(name, split, size=size, download=download).unknown()
        except FileNotFoundError as error:  # of many hosts, one is often out of reach
            if name in sets:
                raise
            excluded[name] = str(error)
    if not found:
        raise ValueError("sets: none left; name some that share no class with the ID set")
    found = {
        name: one.subset(places(name, len(one), min(len(one), protocol.set_images), protocol.seed))
        for name, one in found.items()
    }

    order = np.random.default_rng(protocol.seed).permutation(len(train))
    ends = np.cumsum([round(protocol.fold_share * len(train)), protocol.validation_images])
    if ends[1] >= len(train):
        raise ValueError(
            f"validation_images: {protocol.validation_images} leave none of {len(train)} training "
            "images to the network; take fewer"
        )
    # validation images stay in random order, so that the first of them are a sample of all
    meta, validation, rest = np.split(order, ends)
    train, meta, validation = (
        train.subset(part) for part in (np.sort(rest), np.sort(meta), validation)
    )
    unlike = [data.load(name, "train", size=size, download=download) for name in outliers]
    return Roles(
        train, meta, validation, test, found, excluded, _shifted(test, protocol),
        concatenate(unlike, "outliers").unknown() if unlike else None,
    )  # fmt: skip


def _shifted(images: Images, protocol: Protocol) -> dict[str, Images]:
    found = {}
    for shift in protocol.shifts:
        kind, _, severity = shift.partition("/")
        found[shift] = corrupt_set(images, kind, int(severity), seed=protocol.seed)
    return found


def _at_hand(download: bool) -> list[str]:
    """Return the names of the packs, and of what torchvision may download."""
    root = data_root()
    found = {name for name in data.names() if (root / f"{name}.zip").is_file()}
    if download:
        found |= {card.name for card in data.cards() if card.torchvision}
    return sorted(found)


def shared_classes(data_set: str) -> dict[str, str]:
    """Return the sets that show classes of an ID set, and which; empty where nobody has looked.

    Those of the paper's own list are among them, for CIFAR-100, under the names of `pack_name`.

    Examples
    --------
    >>> shared_classes("cifar10")["pacs_photo"]
    'dog, horse'
    """
    return {row["set"]: row["shared"] for row in _rows("shared_classes.csv")
            if row["id_set"] == data_set}  # fmt: skip


def gbench() -> dict[str, str]:
    """Return the addresses of the paper's sets by their names, as far as its text has them.

    147 of the 200: the paper's list is cut.

    Examples
    --------
    >>> len(gbench()), gbench()["Tally marks"]
    (147, 'https://www.kaggle.com/datasets/duraidkhaalid/tally-marks')
    """
    return {row["name"]: row["url"] for row in _rows("gbench.csv")}


def pack_name(name: str) -> str:
    """Return what the pack of one of the paper's sets is called.

    Raises
    ------
    ValueError
        The paper has no such set; says which is nearest.

    Examples
    --------
    >>> pack_name("Rock Paper Scissors")
    'gbench_rock_paper_scissors'
    """
    known_name("set of Gbench", name, gbench())
    return "gbench_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


@cache
def _rows(file: str) -> tuple[dict[str, str], ...]:
    with open(_FOLDER / file, newline="", encoding="utf-8") as opened:
        return tuple(csv.DictReader(opened))
