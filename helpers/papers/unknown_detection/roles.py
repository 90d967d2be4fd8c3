"""The roles of the images, on either of the two benchmarks.

Kim, Koo and Hwang (2023): some classes of each superclass are in-distribution, the others near-OOD;
other data sets are far-OOD; an external set, disjoint from all of these, is for training with
outliers and for choosing hyper-parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from helpers import data
from helpers.data import (
    Images,
    ImageStream,
    class_lists,
    class_roles,
    hold_out,
    overlaps,
    sources,
    subsample,
)
from helpers.papers.unknown_detection import archive
from helpers.papers.unknown_detection.parameters import BY_IMAGENET

if TYPE_CHECKING:
    from helpers.papers.run import Part
    from helpers.papers.unknown_detection.parameters import BenchmarkParameters

SIZE = 32
"""Pixels: what the networks of small images are made for; others are brought to it."""


@dataclass(frozen=True)
class Visible:
    """The images that may be looked at before the test: all that selection is given.

    Attributes
    ----------
    train, validation : Images or ImageStream
        In-distribution, labels 0 … K − 1.
    external_validation : Images or ImageStream
        Labels −1.
    """

    train: Images | ImageStream
    validation: Images | ImageStream
    external_validation: Images | ImageStream


@dataclass(frozen=True)
class Benchmark:
    """Which images play which role.

    Attributes
    ----------
    known, near_classes : tuple of str
        Names of the ID and of the near-OOD classes.
    superclass_of : dict of str to str
        Of every ID and near-OOD class.
    train, validation, test : Images or ImageStream
        In-distribution; label k is ``known[k]``.
    external, external_validation : Images or ImageStream
        Labels −1.
    near : Images or ImageStream
        Near-OOD test images, with the labels of their own classes, ``near_classes``.
    far : dict of str to Images or ImageStream
        Far-OOD test sets, with their own labels; part of the union that all methods are ranked on.
    aside : dict of str to Images or ImageStream
        Further test sets that are not part of it.
    views : tuple of Images
        Of the training images, see `BenchmarkParameters.stored_views`.
    """

    known: tuple[str, ...]
    near_classes: tuple[str, ...]
    superclass_of: dict[str, str]
    train: Images | ImageStream
    validation: Images | ImageStream
    test: Images | ImageStream
    external: Images | ImageStream
    external_validation: Images | ImageStream
    near: Images | ImageStream
    far: dict[str, Images | ImageStream]
    aside: dict[str, Images | ImageStream]
    views: tuple[Images, ...] = ()

    @property
    def visible(self) -> Visible:
        """What may be seen before the test."""
        return Visible(self.train, self.validation, self.external_validation)

    @property
    def test_sets(self) -> dict[str, Images | ImageStream]:
        """All test sets by name, ID first; OOD images have the label −1."""
        unknown = {"near": self.near} | self.far | self.aside
        return {"test": self.test} | {name: images.unknown() for name, images in unknown.items()}

    @property
    def skipped(self) -> list[str]:
        """Files of any role that cannot be read as images, as far as they have been read."""
        names = ("train", "validation", "external", "external_validation")
        sets = [*(getattr(self, name) for name in names), *self.test_sets.values()]
        return sorted({str(file) for one in sets for file in getattr(one, "skipped", ())})


def roles(parameters: BenchmarkParameters, part: Part | None = None) -> Benchmark:
    """Load the data sets and give each image its role, the same one in all parts.

    Raises
    ------
    FileNotFoundError
        Of photographs, or of the authors' archives: a folder is not there.
    ValueError
        No superclasses are known, the external set overlaps a test set, or whether it does
        cannot be told; too few photographs of a class.
    """
    if parameters.data_set in archive.ARCHIVES:
        return Benchmark(**archive.read(parameters))
    make = photographs if parameters.data_set == "imagenet" else small_images
    made = make(parameters)
    if parameters.near_by_imagenet:
        made = replace(made, aside=made.aside | by_imagenet(made.near))
    if parameters.stored_views:
        from helpers.training import views  # torch, which nothing else here needs

        made = replace(made, views=views.by_augmix(made.train, parameters.stored_views))
    return parameters.seen_by(parameters.network, made)


def by_imagenet(near: Images) -> dict[str, Images]:
    """Divide near-OOD images by whether ImageNet has their class, one below it or one above it.

    Test sets of their own, beside the others: a network that has learnt ImageNet has met the first
    ones' classes.  None where the nouns of the classes are not known.
    """
    if not class_lists.wnids_of(near.name):
        return {}
    met = set(overlaps.find_related(near, "imagenet"))
    sides = (
        [name for name in near.class_names if (name in met) == there] for there in (True, False)
    )
    named = zip(BY_IMAGENET, sides, strict=True)
    return {name: near.select(classes) for name, classes in named if classes}


def draw_known(
    superclasses: Mapping[str, Sequence[str]],
    share: float,
    *,
    given: Iterable[str] = (),
    seed: int = 0,
) -> tuple[str, ...]:
    """Draw which classes of each superclass are in-distribution.

    Parameters
    ----------
    superclasses : mapping of str to sequence of str
        The classes of each.
    share : float
        Of each superclass the rounded share, but at least one class and never all.
    given : iterable of str
        Classes that are among them in any case.
    seed : int

    Raises
    ------
    ValueError
        A superclass of one class, more given classes than its share, or a given class that
        there is not.

    Examples
    --------
    >>> draw_known({"animal": ["cat", "dog"], "vehicle": ["car", "ship"]}, 0.5, given=["dog"])
    ('dog', 'car')
    """
    given = set(given)
    absent = given - {name for names in superclasses.values() for name in names}
    if absent:
        raise ValueError(f"known_classes: no class {', '.join(sorted(absent))} in any superclass")
    generator = np.random.default_rng(seed)
    drawn = []
    for superclass, names in superclasses.items():
        if len(names) < 2:
            raise ValueError(f"superclass '{superclass}': at least two classes expected")
        count = min(max(round(share * len(names)), 1), len(names) - 1)
        order = [names[i] for i in generator.permutation(len(names))]
        order.sort(key=lambda name: name not in given)  # stable: the given ones first
        if len(given & set(names)) > count:
            raise ValueError(
                f"known_classes: {len(given & set(names))} of superclass '{superclass}', "
                f"whose share is {count}"
            )
        drawn += [name for name in names if name in order[:count]]
    return tuple(drawn)


def superclasses_of(images: Images) -> dict[str, list[str]]:
    """Return the classes of each superclass, read from the coarse labels.

    Raises
    ------
    ValueError
        The data set has no coarse labels, or images of one class in two superclasses.
    """
    if images.coarse_labels is None:
        raise ValueError(
            f"data set '{images.name}' has no coarse labels, from which superclasses are made; "
            "take one that has them (cifar100), or name the classes of each in `superclasses`"
        )
    pairs = sorted(set(zip(images.coarse_labels.tolist(), images.labels.tolist(), strict=True)))
    found: dict[str, list[str]] = {}
    for coarse, label in pairs:
        found.setdefault(images.coarse_class_names[coarse], []).append(images.class_names[label])
    if len({label for _, label in pairs}) < len(pairs):
        raise ValueError(f"data set '{images.name}': a class lies in two superclasses")
    return found


def small_images(parameters: BenchmarkParameters) -> Benchmark:
    """Make the benchmark of CIFAR-100, or of whatever has superclasses.

    Of the external and the far-OOD sets go the classes that `overlaps.find` tells.
    """
    seed, options = parameters.seed, {"size": SIZE, "download": parameters.download}
    train, test = (data.load(parameters.data_set, one, **options) for one in ("train", "test"))
    families = parameters.superclasses or superclasses_of(train)
    known = draw_known(families, parameters.known_share, given=parameters.known_classes, seed=seed)
    near = tuple(name for names in families.values() for name in names if name not in known)
    seen = train.select(known)
    held = hold_out(seen.labels, parameters.validation_share, run=0, seed=seed)

    def disjoint(
        name: str, splits: Sequence[str], external: Iterable[str] = (), keep=(), **more
    ) -> Images:
        """Load a data set without the classes that WordNet says overlap with the others."""
        parts = [data.load(name, split, **options | more) for split in splits]
        images = parts[0] if len(parts) == 1 else data.concatenate(parts, name)
        nouns = name in parameters.external and name not in sources.BUILT_IN
        overlaps.check_names(images, nouns=nouns)
        if odd := set(keep) - set(images.class_names):
            raise ValueError(f"far.{name}.keep: data set '{name}' has no class {sorted(odd)[0]!r}")
        hit = set(overlaps.find(images, parameters.data_set, external)) - set(keep)
        kept = [one for one in images.class_names if one not in hit]
        return images.select(kept) if hit else images

    outside, held_outside = (
        data.concatenate(
            [disjoint(name, [split(name)]) for name in parameters.external], "external"
        )
        for split in (lambda name: "train", _second_split)
    )
    held_outside = subsample(held_outside, parameters.external_validation, seed=seed)

    def far(name: str, **more) -> Images:
        taken = parameters.far_set(name)
        splits = taken.splits or [test_split(name)]
        images = disjoint(name, splits, outside.class_names, taken.keep, **more)
        return subsample(images, taken.images, seed=seed)

    aside = {name: far(name) for name in parameters.aside}
    if parameters.resized:
        aside["fixed"] = far(parameters.resized)
        aside["aliased"] = far(parameters.resized, antialias=False)
    made = Benchmark(
        known=known,
        near_classes=near,
        superclass_of={name: family for family, names in families.items() for name in names},
        train=seen.subset(~held),
        validation=seen.subset(held),
        test=test.select(known),
        external=outside.unknown(),
        external_validation=held_outside.unknown(),
        near=test.select(near),
        far={name: far(name) for name in parameters.far},
        aside=aside,
    )
    tests = {"ID test": made.test, "near": made.near} | made.far | made.aside
    overlaps.check_disjoint([outside, made.external_validation], tests)
    return made


def photographs(parameters: BenchmarkParameters) -> Benchmark:
    """Make the benchmark of ImageNet and others as folders of images; none is held in memory.

    In-distribution are the 200 classes of Tiny ImageNet, near-OOD 200 of those that WordNet says
    are near to them, external those that are not; training and held-out images come from
    ImageNet's training part, test images from its validation part (see
    `helpers.data.class_roles.imagenet`).  Far-OOD are the classes of ``food101``, ``caltech256``
    and ``places365`` that overlap with none of ImageNet's.
    """
    if parameters.external != ["imagenet"] or parameters.aside or parameters.resized:
        raise ValueError("external, aside, resized: ['imagenet'], none and none expected")
    some = partial(subsample, seed=parameters.seed)
    train, test = (data.open_stream("imagenet", split) for split in ("train", "val"))
    table = class_roles.imagenet(seed=parameters.seed)
    names = dict(zip(table["wnid"], table["name"], strict=True))
    known, near, others = (
        table.loc[table["role"] == role, "wnid"].tolist()
        for role in ("in-distribution", "near", "external")
    )
    seen, held = _divide(train.select(known), parameters)
    outside, held_outside = _divide(train.select(others), parameters)
    far = {}
    for name in parameters.far:
        classes = class_roles.far(name)
        left = classes.loc[classes["role"] == "far", "name"].str.replace("/", "_")  # bakery/shop
        images = data.open_stream(name, "test").select(left)
        far[name] = some(images, parameters.far_set(name).images)
    return Benchmark(
        known=tuple(names[wnid] for wnid in known),
        near_classes=tuple(names[wnid] for wnid in near),
        superclass_of={},
        train=seen,
        validation=held,
        test=test.select(known),
        external=outside.unknown(),
        external_validation=some(held_outside.unknown(), parameters.external_validation),
        near=test.select(near),
        far=far,
        aside={},
    )


def _divide(
    stream: ImageStream, parameters: BenchmarkParameters
) -> tuple[ImageStream, ImageStream]:
    """Return the images of each class that train, and those that are held out.

    Fewer train where there are fewer.
    """
    count, most = parameters.held_out_per_class, parameters.train_per_class
    generator = np.random.default_rng(parameters.seed)
    role = np.zeros(len(stream), np.int64)
    for label, name in enumerate(stream.class_names):
        members = generator.permutation(np.flatnonzero(stream.labels == label))
        if len(members) <= count:
            raise ValueError(
                f"image folder {stream.root}: more than {count} images of class {name} "
                f"expected, got {len(members)}"
            )
        role[members[:count]] = 2
        role[members[count : count + most]] = 1
    return stream.subset(role == 1), stream.subset(role == 2)


def test_split(name: str) -> str:
    """Return the split of a data set that is tested on: ``test``, else its last one."""
    splits = data.splits(name)
    return "test" if "test" in splits else splits[-1]


def _second_split(name: str) -> str:
    """Return the split of an external set that is not trained on."""
    others = [split for split in data.splits(name) if split != "train"]
    if not others:
        raise ValueError(f"external: data set '{name}' has one split; two are needed")
    return others[0]
