"""Roles of the images in the human-centric benchmark.

Training images fit scores and give thresholds; test sets are shifted in input, in label, or not.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Self

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
from helpers.outputs import Head, Outputs
from helpers.papers.human_centric.parameters import Parameters
from helpers.papers.run import Part

# version of the code in the key of corrupted images
CORRUPTS = cache.code("helpers.data.corruptions.corrupt")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ShiftRoles:
    """Images of each role, with their own labels and class names."""

    train: Images | ImageStream
    test: Images | ImageStream
    input_shifted: dict[str, Images | ImageStream]  # known classes with another look
    label_shifted: dict[str, Images | ImageStream]  # unknown classes
    # the set from which the images of another set come, and their indices in it
    drawn_from: dict[str, tuple[str, np.ndarray]] = field(default_factory=dict)
    near: tuple[str, ...] = ()  # sets with classes like the known ones
    beside: tuple[str, ...] = ()  # sets of a variant
    own_classes: tuple[str, ...] = ()  # sets with predictions among the set's classes
    missing: dict[str, str] = field(default_factory=dict)  # unavailable sets, and the reasons

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
    seed, plain, missing, drawn_from = parameters.seed, {}, {}, {}
    training_set = parameters.training_sets.get(data_set, data_set)
    train = _list(
        training_set, "train" if training_set == data_set else _split(training_set), parameters
    )
    test = _open(_list(data_set, _split(data_set), parameters))
    if parameters.train_per_class:
        train = train.subset(choose_of_each(train.labels, parameters.train_per_class, seed))
    train = _open(train)
    for name in parameters.input_shifted if data_set == parameters.data_set else []:
        try:
            images = _list(name, _split(name), parameters)
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
    shared, others = shared_classes(data_set), parameters.other_packs()
    for name in (*parameters.label_shifted, *others):
        near, excluded = name in parameters.near, parameters.excluded.get(name, [])
        if name == data_set or (name in shared and not near and name not in plain):
            continue
        try:
            if name in plain:
                images = plain[name]
            elif near:
                size, download = test.images.shape[1], parameters.download
                images = load(name, _split(name), size=size, download=download)
                excluded = [*excluded, *overlaps.find_related(images, data_set)]
            else:
                images = _list(name, _split(name), parameters)
        except FileNotFoundError as error:
            missing[name] = str(error)
            continue
        for label in excluded:
            known_name(f"class of {name}", label, images.class_names)
        kept = ~np.isin(images.labels, [images.class_names.index(label) for label in excluded])
        if name in plain:  # a model's classes decide which of its images are of known classes
            unknown[f"{name} others"] = images.subset(kept)
            drawn_from[f"{name} others"] = name, np.flatnonzero(kept)
        else:
            kept &= _choose(len(images), parameters.label_shifted_images, seed)
            unknown[name] = _open(images.subset(kept))
    for name, why in missing.items():
        log.warning("%s is not at hand, and left out of all means: %s", name, why)
    near, beside = (tuple(n for n in names if n in unknown) for names in (parameters.near, others))
    own_classes = tuple(name for name in parameters.own_classes if name in shifted)
    return ShiftRoles(train, test, shifted, unknown, drawn_from, near, beside, own_classes, missing)


def corrupt_images(
    images: Images | ImageStream, parameters: Parameters
) -> tuple[Images, np.ndarray]:
    """Return images under every corruption and severity, and their indices in the set.

    Each kind corrupts different images, if there are enough.
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
    corrupted = replace(
        images.subset(chosen.ravel()),
        images=cache.array("corrupted", key, make),
        name=f"{images.name}-corrupted",
        origin=images.origin | {"corruption": f"{len(kinds)} kinds, {count} images each"},
    )
    return corrupted, chosen.ravel()


def versions_of(images: Images | ImageStream, test: Images | ImageStream) -> np.ndarray | None:
    """Return for each image the index of the test image that it is a corrupted version of.

    By class and file name, as in ImageNet-C; None if one name is not found.
    """
    if not isinstance(images, ImageStream) or not isinstance(test, ImageStream):
        return None

    def names(stream: ImageStream) -> list[tuple[str, ...]]:
        return [PurePosixPath(file).parts[-2:] for file in stream.files]

    places = {name: number for number, name in enumerate(names(test))}
    versions = np.array([places.get(name, -1) for name in names(images)], np.int64)
    return versions if (versions >= 0).all() else None


def _split(name: str) -> str:
    """Return the split of a set that has one role: ``test``, else ``val``, else the only one."""
    card = find(name)
    there = card.splits if card is not None and card.streamed else splits(name)
    return next(split for split in ("test", "val", *there) if split in there)


def _list(name: str, split: str, parameters: Parameters) -> Images | Listing:
    """Return a data set from which images may be selected before `_open` opens them."""
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


@dataclass(frozen=True)
class RoleOutputs:
    """Outputs of a network on the images of each role."""

    head: Head | None
    weights: int  # of the network
    train: Outputs
    test: Outputs
    input_shifted: dict[str, Outputs]  # only known classes
    label_shifted: dict[str, Outputs]  # only unknown classes
    # of each test set: the set that its images come from, its size, and their indices in it
    sources: dict[str, tuple[str, int, np.ndarray]]
    near: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    # weights of the kinds of sets in the average; without weights, all sets count equally
    kinds: Mapping[str, float] = field(default_factory=dict)

    def averaged(self) -> Self:
        """Return the outputs without the sets of the variant `every far set`."""
        kept = {n: o for n, o in self.label_shifted.items() if n not in self.beside}
        return replace(self, label_shifted=kept, beside=())

    @property
    def groups(self) -> dict[str, list[str]]:
        """The test sets over which means are computed."""
        shifted = {"input-shifted": [*self.input_shifted], "label-shifted": [*self.label_shifted]}
        if self.near:
            far = [name for name in self.label_shifted if name not in self.near]
            shifted |= {"near": [*self.near], "far": far}
        return shifted | {"average": [*self.sets]}

    @property
    def shares(self) -> dict[str, float]:
        """The weight of each test set in the average; the sets of a kind share its weight."""
        sets = {"test": ["test"]} | self.groups
        weights = {kind: self.kinds[kind] / len(sets[kind]) for kind in self.kinds if sets[kind]}
        return {name: weight for kind, weight in weights.items() for name in sets[kind]}

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
        limited = object.__new__(cls)  # without the checks of outputs that are checked already
        limited.__dict__ |= {field.name: getattr(outputs, field.name) for field in fields(Outputs)}
        limited.__dict__["classes"] = tuple(classes)
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
    every = columns == list(range(len(model.class_names)))

    def answer(images: Images | ImageStream) -> Outputs:
        return model.outputs(images) if every else model.outputs(images).restricted(columns)

    sets, sources = {}, {}
    for name, images in roles.sets.items():
        outputs, known = answer(images), name not in roles.label_shifted
        chosen = np.flatnonzero((outputs.labels >= 0) == known)
        if known and not len(chosen):
            raise ValueError(f"{name}: '{model.name}' knows none of its classes by name")
        if len(chosen):  # else all of its images are of classes that are known
            sets[name] = _subset(outputs, chosen)
            if name in roles.own_classes:
                shown = [class_names.index(n) for n in images.class_names if n in class_names]
                sets[name] = OwnClasses.of(sets[name], shown)
            base, where = roles.drawn_from.get(name, (name, np.arange(len(images))))
            sources[name] = base, len(roles.sets[base]), where[chosen]
    train = answer(roles.train)
    return RoleOutputs(
        model.head.restricted(columns) if model.head and not every else model.head,
        model.parameters,
        _subset(train, np.flatnonzero(train.labels >= 0)),
        sets["test"],
        {name: sets[name] for name in roles.input_shifted},
        {name: sets[name] for name in roles.label_shifted if name in sets},
        sources,
        *(tuple(n for n in names if n in sets) for names in (roles.near, roles.beside)),
    )


def _subset(outputs: Outputs, chosen: np.ndarray) -> Outputs:
    """Return the outputs of some images; without a copy, if these are all images."""
    return outputs if len(chosen) == len(outputs) else outputs.subset(chosen)
