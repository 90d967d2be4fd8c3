"""Roles of the images in the human-centric benchmark.

Training images fit scores and give thresholds; test sets are shifted in input, in label, or not.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from helpers import cache
from helpers.checks import known_name
from helpers.data import Images, ImageStream, list_stream, load, overlaps, splits
from helpers.data.cards import find
from helpers.data.class_lists import shared_classes
from helpers.data.corruptions import corrupt
from helpers.data.draws import choose_of_each
from helpers.data.listing import Listing

if TYPE_CHECKING:
    from helpers.papers.human_centric.parameters import Parameters
    from helpers.papers.run import Part

# what stands for the code in the key of corrupted images
CORRUPTS = cache.code("helpers.data.corruptions.corrupt")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ShiftRoles:
    """Images of each role, with their own labels and class names.

    Attributes
    ----------
    train, test : Images or ImageStream
    input_shifted, label_shifted : dict of str to Images or ImageStream
        Known classes with another look; unknown classes.
    drawn_from : dict of str to (str, ndarray of int64)
        The set from which the images of another set come, and their indices in it.
    near, beside, own_classes : tuple of str
        Sets with classes like the known ones; sets of a variant; sets with predictions among their
        own classes.
    missing : dict of str to str
        Unavailable sets, and the reasons.
    """

    train: Images | ImageStream
    test: Images | ImageStream
    input_shifted: dict[str, Images | ImageStream]
    label_shifted: dict[str, Images | ImageStream]
    drawn_from: dict[str, tuple[str, np.ndarray]] = field(default_factory=dict)
    near: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    own_classes: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes of the ID set."""
        return self.train.class_names

    @property
    def sets(self) -> dict[str, Images | ImageStream]:
        """All test sets by name, in the order of tables."""
        return {"test": self.test} | self.input_shifted | self.label_shifted


def roles(parameters: Parameters, part: Part | None = None) -> ShiftRoles:
    """Load the data sets of an ID set, the main one without `part`, and return their roles.

    A missing shifted set is logged and left out.  Images in folders are chosen before any is
    opened.
    """
    data_set = part.identity["data_set"] if part else parameters.data_set
    seed, download = parameters.seed, parameters.download
    train = _list(data_set, "train", parameters)
    test = _open(_list(data_set, _test_split(data_set), parameters))
    if parameters.train_per_class:
        train = train.subset(choose_of_each(train.labels, parameters.train_per_class, seed))
    train, plain, missing, drawn_from = _open(train), {}, {}, {}
    for name in parameters.input_shifted if data_set == parameters.data_set else []:
        try:
            images = _list(name, _test_split(name), parameters)
        except FileNotFoundError as error:
            missing[name] = str(error)
            continue
        chosen = _choose(len(images), parameters.input_shifted_images, seed)
        plain[name] = _open(images.subset(chosen))
        if name == "imagenet_c" and (versions := versions_of(plain[name], test)) is not None:
            drawn_from[name] = "test", versions
    shifted, unknown = {}, {}
    for name, base in ({data_set: test} | plain).items():
        if name in plain:
            shifted[name] = base
        if name in parameters.corrupted:
            called = "corrupted" if name == data_set else f"{name} corrupted"
            shifted[called], chosen = corrupt_images(base, parameters)
            drawn_from[called] = "test" if name == data_set else name, chosen
    shared = shared_classes(data_set)
    others = parameters.other_packs()
    for name in (*parameters.label_shifted, *others):
        near = name in parameters.near
        if name == data_set or (name in shared and not near and name not in plain):
            continue
        left_out = parameters.excluded.get(name, [])
        try:
            if near and name not in plain:
                images = load(name, _test_split(name), size=test.images.shape[1], download=download)
                left_out = [*left_out, *overlaps.find_related(images, data_set)]
            elif name in plain:
                images = plain[name]
            else:
                images = _list(name, _test_split(name), parameters)
        except FileNotFoundError as error:
            missing[name] = str(error)
            continue
        for one in left_out:
            known_name(f"class of {name}", one, images.class_names)
        kept = ~np.isin(images.labels, [images.class_names.index(one) for one in left_out])
        if name in plain:  # which of its images are of known classes, a model's classes say
            unknown[f"{name} others"] = images.subset(kept)
            drawn_from[f"{name} others"] = name, np.flatnonzero(kept)
        else:
            kept &= _choose(len(images), parameters.label_shifted_images, seed)
            unknown[name] = _open(images.subset(kept))
    for name, why in missing.items():
        log.warning("%s is not at hand, and left out of all means: %s", name, why)
    near, beside = (
        tuple(name for name in names if name in unknown) for names in (parameters.near, others)
    )
    own_classes = tuple(name for name in parameters.own_classes if name in shifted)
    return ShiftRoles(train, test, shifted, unknown, drawn_from, near, beside, own_classes, missing)


def corrupt_images(
    images: Images | ImageStream, parameters: Parameters
) -> tuple[Images, np.ndarray]:
    """Return images under every corruption and severity, and their indices in the set.

    Each kind corrupts other images, as long as there are enough.
    """
    if not isinstance(images, Images):
        raise ValueError(f"corrupted: {images.name} is not held in memory; give a folder of it")
    kinds = [(name, level) for name in parameters.corruptions for level in parameters.severities]
    count, seed = min(parameters.corrupted_images, len(images)), parameters.seed
    order = np.random.default_rng(seed).permutation(len(images))
    chosen = np.resize(order, (len(kinds), count))

    def make() -> np.ndarray:
        shown = zip(chosen, tqdm(kinds, desc="corrupting", disable=None), strict=True)
        return np.concatenate(
            [corrupt(images.images[which], *kind, seed=seed) for which, kind in shown]
        )

    key = cache.key(
        images=images.sha256, kinds=kinds, chosen=chosen.tolist(), seed=seed, code=CORRUPTS
    )
    found = replace(
        images.subset(chosen.ravel()),
        images=cache.array("corrupted", key, make),
        name=f"{images.name}-corrupted",
        origin=images.origin | {"corruption": f"{len(kinds)} kinds, {count} images each"},
    )
    return found, chosen.ravel()


def versions_of(images: Images | ImageStream, test: Images | ImageStream) -> np.ndarray | None:
    """Return the index of the test image of which each image is a corrupted version.

    By class and file name, as in ImageNet-C; None if one name is not found.
    """
    if not isinstance(images, ImageStream) or not isinstance(test, ImageStream):
        return None

    def names(stream: ImageStream) -> list[tuple[str, ...]]:
        return [PurePosixPath(file).parts[-2:] for file in stream.files]

    places = {name: number for number, name in enumerate(names(test))}
    found = np.array([places.get(name, -1) for name in names(images)], np.int64)
    return found if (found >= 0).all() else None


def _test_split(name: str) -> str:
    """Return the split of test images: ``test``, else ``val``, else the only one."""
    card = find(name)
    there = card.splits if card is not None and card.streamed else splits(name)
    return next(split for split in ("test", "val", *there) if split in there)


def _list(name: str, split: str, parameters: Parameters) -> Images | Listing:
    """Return a data set of which some images may be chosen before `_open` opens them."""
    card = find(name)
    if card is not None and card.streamed:
        kinds = {"corruptions": parameters.corruptions, "severities": parameters.severities}
        return list_stream(name, split, **kinds)
    return load(name, split, download=parameters.download)


def _open(images: Images | Listing) -> Images | ImageStream:
    return images if isinstance(images, Images) else ImageStream.open(images)


def _choose(count: int, most: int, seed: int) -> np.ndarray:
    """Return a mask of the first `most` images in a random order."""
    return np.random.default_rng(seed).permutation(count).argsort() < most
