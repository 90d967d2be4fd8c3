"""Roles of the images in the human-centric benchmark.

Training images fit scores and give thresholds; test sets are shifted in input, in label, or not.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Self

import numpy as np
from tqdm import tqdm

from helpers import cache
from helpers.checks import known_name
from helpers.data import Images, ImageStream, list_stream, load, overlaps, split_for_tests
from helpers.data.cards import find
from helpers.data.class_lists import shared_classes
from helpers.data.corruptions import corrupt
from helpers.data.draws import choose_of_each
from helpers.data.listing import Listing
from helpers.outputs import Head, Outputs
from helpers.papers.human_centric.parameters import Parameters
from helpers.papers.run import Part

# versions of the code in the keys of corrupted images and of related classes
CORRUPTS = cache.code("helpers.data.corruptions.corrupt")
RELATES = cache.code("helpers.data.overlaps.find_related")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ShiftRoles:
    """Images of each role, with their own labels and class names."""

    train: Images | ImageStream
    test: Images | ImageStream
    input_shifted: dict[str, Images | ImageStream]  # known classes with another look
    label_shifted: dict[str, Images | ImageStream]  # unknown classes
    # of a set of corrupted test images: the index of the test image that each one shows
    versions: dict[str, np.ndarray] = field(default_factory=dict)
    near: tuple[str, ...] = ()  # sets with classes like the known ones
    beside: tuple[str, ...] = ()  # sets of a variant
    own_classes: tuple[str, ...] = ()  # sets with predictions among the set's classes
    # unavailable sets, and the reasons: `run` makes rows ``failed`` of them
    missing: dict[str, str] = field(default_factory=dict, compare=False)

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
    train = _training_images(data_set, parameters)
    test = _open(_list(data_set, split_for_tests(data_set), parameters))
    missing: dict[str, str] = {}
    versions: dict[str, np.ndarray] = {}
    shifted: dict[str, Images | ImageStream] = {}
    if data_set in parameters.corrupted:
        shifted["corrupted"], versions["corrupted"] = corrupt_images(test, parameters)
    if data_set == parameters.data_set:
        shifted |= _input_shifted(parameters, missing)
    if "imagenet_c" in shifted:
        originals = versions_of(shifted["imagenet_c"], test)
        if originals is not None:
            versions["imagenet_c"] = originals
    unknown: dict[str, Images | ImageStream] = {}
    shared = shared_classes(data_set)
    packs = parameters.other_packs()
    for name in (*parameters.label_shifted, *packs):
        excluded = parameters.excluded.get(name, [])
        if name == data_set or (name in shared and name not in parameters.near):
            continue
        try:
            images, related = _label_shifted(name, data_set, test, parameters)
        except FileNotFoundError as error:
            missing[name] = str(error)
            continue
        selected = _without(images, [*excluded, *related])
        selected &= _choose(len(images), parameters.label_shifted_images, parameters.seed)
        unknown[name] = _open(images.subset(selected))
    for name, why in missing.items():
        log.warning("%s is not available, and left out of all means: %s", name, why)
    return ShiftRoles(
        train=train,
        test=test,
        input_shifted=shifted,
        label_shifted=unknown,
        versions=versions,
        near=tuple(name for name in parameters.near if name in unknown),
        beside=tuple(name for name in packs if name in unknown),
        own_classes=tuple(name for name in parameters.own_classes if name in shifted),
        missing=missing,
    )


def _training_images(data_set: str, parameters: Parameters) -> Images | ImageStream:
    """Return the images that fit scores, or train the networks of an ID set."""
    name = parameters.training_sets.get(data_set, data_set)
    images = _list(name, "train" if name == data_set else split_for_tests(name), parameters)
    if parameters.train_per_class:
        few = choose_of_each(images.labels, parameters.train_per_class, parameters.seed)
        images = images.subset(few)
    return _open(images)


def _input_shifted(
    parameters: Parameters, missing: dict[str, str]
) -> dict[str, Images | ImageStream]:
    """Return random images of the input-shifted sets; add the reasons of `missing` sets."""
    sets = {}
    for name in parameters.input_shifted:
        try:
            images = _list(name, split_for_tests(name), parameters)
        except FileNotFoundError as error:
            missing[name] = str(error)
            continue
        selected = _choose(len(images), parameters.input_shifted_images, parameters.seed)
        sets[name] = _open(images.subset(selected))
    return sets


def _label_shifted(
    name: str, data_set: str, test: Images | ImageStream, parameters: Parameters
) -> tuple[Images | Listing, Sequence[str]]:
    """Return a label-shifted set, and its classes that WordNet finds in the ID set."""
    if name not in parameters.near:
        return _list(name, split_for_tests(name), parameters), ()
    if not isinstance(test, Images):
        raise ValueError(f"near: test images in memory expected, got the stream {test.name}")
    images = load(
        name, split_for_tests(name), size=test.images.shape[1], download=parameters.download
    )
    key = cache.key(
        name=images.name,
        classes=images.class_names,
        data_set=data_set,
        code=RELATES,
    )
    related = cache.value("related", key, lambda: overlaps.find_related(images, data_set))
    return images, related


def _without(images: Images | ImageStream | Listing, excluded: Sequence[str]) -> np.ndarray:
    """Return a mask of the images that are not of these classes, bool [N]."""
    for label in excluded:
        known_name(f"class of {images.name}", label, images.class_names)
    labels = [images.class_names.index(label) for label in excluded]
    return ~np.isin(images.labels, labels)


def corrupt_images(
    images: Images | ImageStream, parameters: Parameters
) -> tuple[Images, np.ndarray]:
    """Return images under every corruption and severity, and their indices in the set.

    Each kind corrupts different images, if there are enough.
    """
    if not isinstance(images, Images):
        raise ValueError(f"corrupted: {images.name} is a stream; name a folder of its images")
    kinds = [(name, level) for name in parameters.corruptions for level in parameters.severities]
    count = min(parameters.corrupted_images, len(images))
    seed = parameters.seed
    order = np.random.default_rng(seed).permutation(len(images))
    of_kind = np.resize(order, (len(kinds), count))

    def make() -> np.ndarray:
        versions = []
        for number, kind in enumerate(tqdm(kinds, desc="corrupting", disable=None)):
            versions.append(corrupt(images.images[of_kind[number]], *kind, seed=seed))
        return np.concatenate(versions)

    key = cache.key(
        images=images.sha256,
        kinds=kinds,
        chosen=of_kind.tolist(),
        seed=seed,
        code=CORRUPTS,
        **{each: version(each) for each in ("numpy", "pillow", "scipy")},
    )
    indices = of_kind.ravel()
    corrupted = replace(
        images.subset(indices),
        images=cache.array("corrupted", key, make),
        name=f"{images.name}-corrupted",
        origin=images.origin | {"corruption": f"{len(kinds)} kinds, {count} images each"},
    )
    return corrupted, indices


def versions_of(images: Images | ImageStream, test: Images | ImageStream) -> np.ndarray | None:
    """Return for each image the index of the test image that it is a corrupted version of.

    By class and file name, as in ImageNet-C; None if one name is not found.
    """
    if not isinstance(images, ImageStream) or not isinstance(test, ImageStream):
        return None

    def names(stream: ImageStream) -> list[tuple[str, ...]]:
        return [PurePosixPath(file).parts[-2:] for file in stream.files]

    index_of = {name: index for index, name in enumerate(names(test))}
    versions = np.array([index_of.get(name, -1) for name in names(images)], np.int64)
    return versions if (versions >= 0).all() else None


def _list(name: str, split: str, parameters: Parameters) -> Images | Listing:
    """Return a data set from which images may be selected before `_open` opens them."""
    card = find(name)
    if card is not None and card.streamed:
        return list_stream(
            name,
            split,
            corruptions=parameters.corruptions,
            severities=parameters.severities,
        )
    return load(name, split, download=parameters.download)


def _open(images: Images | Listing) -> Images | ImageStream:
    return images if isinstance(images, Images) else ImageStream.open(images)


def _choose(count: int, most: int, seed: int) -> np.ndarray:
    """Return a mask of the first `most` images in a random order."""
    return np.random.default_rng(seed).permutation(count).argsort() < most


@dataclass(frozen=True)
class RoleOutputs:
    """Outputs of a network on the images of each role."""

    head: Head | None
    weights: int  # of the network
    train: Outputs
    test: Outputs
    input_shifted: dict[str, Outputs]  # only known classes
    label_shifted: dict[str, Outputs]  # only unknown classes
    # of each test set: the set from which its images are, the size of that set, and the indices
    sources: dict[str, tuple[str, int, np.ndarray]]
    near: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    compared: bool = False  # whether the rows of single sets have intervals

    def averaged(self) -> Self:
        """Return the outputs without the sets of the variant `every far set`."""
        names = [name for name in self.label_shifted if name not in self.beside]
        label_shifted = {name: self.label_shifted[name] for name in names}
        return replace(self, label_shifted=label_shifted, beside=())

    @property
    def groups(self) -> dict[str, list[str]]:
        """The test sets over which means are computed."""
        groups = {
            "input-shifted": list(self.input_shifted),
            "label-shifted": list(self.label_shifted),
        }
        if self.near:
            groups["near"] = list(self.near)
            groups["far"] = [name for name in self.label_shifted if name not in self.near]
        groups["average"] = list(self.sets)
        return groups

    @property
    def sets(self) -> dict[str, Outputs]:
        """All test sets by name."""
        return {"test": self.test} | self.input_shifted | self.label_shifted


class OwnClasses(Outputs):
    """Outputs whose prediction is the most probable class of a data set's own classes.

    Only `correct` depends on these classes, as in the evaluation on ImageNet-R.  Scores read
    logits, probabilities and predictions of all classes.

    >>> outputs = Outputs(np.array([[1.0, 9.0, 2.0]]), np.ones((1, 4)), np.array([2]))
    >>> answers = OwnClasses.of(outputs, [0, 2])
    >>> answers.correct.tolist(), answers.predictions.tolist(), outputs.correct.tolist()
    ([True], [1], [False])
    """

    classes: tuple[int, ...]

    @classmethod
    def of(cls, outputs: Outputs, classes: Sequence[int]) -> Self:
        """Return outputs whose predictions are among these classes."""
        values = {field.name: getattr(outputs, field.name) for field in fields(Outputs)}
        limited = object.__new__(cls)  # without the checks of outputs that are checked already
        limited.__dict__.update(values, classes=tuple(classes))
        return limited

    @cached_property
    def correct(self) -> np.ndarray:
        """Whether the most probable of the classes is the label, bool [N]."""
        values = self.logits if self.members is None else self.probabilities
        classes = np.asarray(self.classes)
        return classes[values[:, classes].argmax(axis=1)] == self.labels

    def subset(self, indices) -> Self:
        """Return the outputs of some images: an index array, a mask or a slice."""
        return self.of(super().subset(indices), self.classes)


def outputs_with(model, roles: ShiftRoles, class_names: Sequence[str]) -> RoleOutputs:
    """Return the outputs of a network that predicts only these of its classes."""
    for name in class_names:
        known_name(f"class of {model.name}", name, model.class_names)
    columns = [model.class_names.index(name) for name in class_names]
    all_classes = columns == list(range(len(model.class_names)))

    def answer(images: Images | ImageStream) -> Outputs:
        outputs = model.outputs(images)
        return outputs if all_classes else outputs.restricted(columns)

    sets: dict[str, Outputs] = {}
    sources: dict[str, tuple[str, int, np.ndarray]] = {}
    for name, images in roles.sets.items():
        outputs = answer(images)
        known = name not in roles.label_shifted
        indices = np.flatnonzero((outputs.labels >= 0) == known)
        if known and not len(indices):
            raise ValueError(f"{name}: '{model.name}' has no class with the name of a class there")
        if not len(indices):  # all images of an unknown set are of classes that are known
            continue
        sets[name] = _subset(outputs, indices)
        if name in roles.own_classes:
            shared = [label for label in images.class_names if label in class_names]
            classes = [class_names.index(label) for label in shared]
            sets[name] = OwnClasses.of(sets[name], classes)
        base = "test" if name in roles.versions else name
        indices_in_base = roles.versions.get(name, np.arange(len(images)))
        sources[name] = base, len(roles.sets[base]), indices_in_base[indices]
    train = answer(roles.train)
    head = model.head
    return RoleOutputs(
        head=head.restricted(columns) if head and not all_classes else head,
        weights=model.parameters,
        train=_subset(train, np.flatnonzero(train.labels >= 0)),
        test=sets["test"],
        input_shifted={name: sets[name] for name in roles.input_shifted},
        label_shifted={name: sets[name] for name in roles.label_shifted if name in sets},
        sources=sources,
        near=tuple(name for name in roles.near if name in sets),
        beside=tuple(name for name in roles.beside if name in sets),
    )


def _subset(outputs: Outputs, indices: np.ndarray) -> Outputs:
    """Return the outputs of some images; without a copy, if these are all images."""
    return outputs if len(indices) == len(outputs) else outputs.subset(indices)
