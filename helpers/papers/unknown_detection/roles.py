"""The roles of the images in both benchmarks of Kim, Koo and Hwang (2023).

Some classes of each superclass are in-distribution, the other classes near-OOD; other data sets are
far-OOD.  A disjoint external set serves training with outliers and choosing hyper-parameters.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from helpers import data
from helpers.data import Images, ImageStream, overlaps, sources
from helpers.files import data_root
from helpers.papers.run import Part
from helpers.papers.unknown_detection import class_roles
from helpers.papers.unknown_detection.jpeg_copies import jpeg_copies
from helpers.papers.unknown_detection.methods import TEXTS
from helpers.papers.unknown_detection.parameters import BenchmarkParameters

#: Side in pixels that networks of small images expect; images of other sizes are resized.
SIZE = 32


@dataclass(frozen=True)
class Visible:
    """The images that selection may use: no test images."""

    train: Images | ImageStream
    validation: Images | ImageStream
    external_validation: Images | ImageStream


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Which images play which role.

    Label k of ID images is ``known[k]``, label k of near-OOD images is ``near_classes[k]``, and all
    external labels are −1.  `far` sets are part of the union of all test sets, `aside` sets are
    not.
    """

    known: tuple[str, ...]
    near_classes: tuple[str, ...]
    superclass_of: dict[str, str] = field(default_factory=dict)
    train: Images | ImageStream
    validation: Images | ImageStream
    test: Images | ImageStream
    external: Images | ImageStream
    external_validation: Images | ImageStream
    near: Images | ImageStream
    far: dict[str, Images | ImageStream]
    aside: dict[str, Images | ImageStream] = field(default_factory=dict)

    @property
    def visible(self) -> Visible:
        """Data that may be used before the test."""
        return Visible(self.train, self.validation, self.external_validation)

    @property
    def test_sets(self) -> dict[str, Images | ImageStream]:
        """All test sets by name, ID first; OOD images have the label −1."""
        unknown = {"near": self.near} | self.far | self.aside
        return {"test": self.test} | {name: images.unknown() for name, images in unknown.items()}

    @property
    def skipped(self) -> list[str]:
        """Files of any role that cannot be read as images, among the files read until now."""
        files = set()
        for images in (
            self.train,
            self.validation,
            self.external,
            self.external_validation,
            *self.test_sets.values(),
        ):
            files |= {str(file) for file in getattr(images, "skipped", ())}
        return sorted(files)


def roles(parameters: BenchmarkParameters, part: Part | None = None) -> Benchmark:
    """Return the role of each image, the same one in all parts."""
    if parameters.data_set in TEXTS["archives"]:
        benchmark = from_archive(parameters)
    elif parameters.data_set == "imagenet":
        benchmark = photographs(parameters)
    else:
        benchmark = small_images(parameters)
    if parameters.jpeg is None:
        return benchmark
    # the images of other data sets stay as they are
    return replace(
        benchmark,
        train=jpeg_copies(benchmark.train, parameters.jpeg),
        validation=jpeg_copies(benchmark.validation, parameters.jpeg),
        test=jpeg_copies(benchmark.test, parameters.jpeg),
        near=jpeg_copies(benchmark.near, parameters.jpeg),
    )


def draw_known(
    superclasses: Mapping[str, Sequence[str]], share: float, *, given: Iterable[str] = (), seed=0
) -> tuple[str, ...]:
    """Return the ID classes, given or drawn: the rounded share of each superclass.

    >>> draw_known({"animal": ["cat", "dog"], "vehicle": ["car", "ship"]}, 0.5, given=["dog"])
    ('dog', 'car')
    """
    given = set(given)
    absent = given - {name for names in superclasses.values() for name in names}
    if absent:
        raise ValueError(f"known_classes: no class {', '.join(sorted(absent))} in any superclass")
    generator = np.random.default_rng(seed)
    known: list[str] = []
    for superclass, names in superclasses.items():
        if len(names) < 2:
            raise ValueError(f"superclass '{superclass}': at least two classes expected")
        count = min(max(round(share * len(names)), 1), len(names) - 1)
        order = [names[index] for index in generator.permutation(len(names))]
        order.sort(key=lambda name: name not in given)  # stable: the given names are first
        listed = given & set(names)
        if len(listed) > count:
            raise ValueError(
                f"known_classes: at most {count} of superclass '{superclass}' expected, "
                f"which is its share; got {len(listed)}"
            )
        known += [name for name in names if name in order[:count]]
    return tuple(known)


def superclasses_of(images: Images) -> dict[str, list[str]]:
    """Return the classes of each superclass, read from the coarse labels."""
    titles = images.coarse_class_names
    if images.coarse_labels is None or titles is None:
        raise ValueError(
            f"data set '{images.name}': coarse labels expected, which give the superclasses; "
            "choose a data set with them (cifar100), or list the classes of each in `superclasses`"
        )
    pairs = sorted(set(zip(images.coarse_labels.tolist(), images.labels.tolist(), strict=True)))
    families: dict[str, list[str]] = {}
    for coarse, label in pairs:
        family = families.setdefault(titles[coarse], [])
        family.append(images.class_names[label])
    if len({label for _, label in pairs}) < len(pairs):
        raise ValueError(f"data set '{images.name}': a class belongs to two superclasses")
    return families


def small_images(parameters: BenchmarkParameters) -> Benchmark:
    """Return the benchmark of CIFAR-100 or another data set of small images with superclasses.

    External and far-OOD sets lose the classes that `overlaps.find` returns.
    """
    seed = parameters.seed
    data_set = parameters.data_set
    load = partial(data.load, size=SIZE, download=parameters.download)
    train = load(data_set, "train")
    test = load(data_set, "test")
    families = parameters.superclasses or superclasses_of(train)
    known = draw_known(families, parameters.known_share, given=parameters.known_classes, seed=seed)
    near = tuple(name for names in families.values() for name in names if name not in known)
    seen = train.select(known)
    held_out = data.hold_out(seen.labels, parameters.validation_share, run=0, seed=seed)

    outside, held_outside = _external(parameters)
    far = partial(_far_set, parameters, external=outside.class_names)
    aside = {name: far(name) for name in parameters.aside}
    if parameters.resized:
        aside["fixed"] = far(parameters.resized)
        original = far(parameters.resized, size=None)
        aside["aliased"] = original.resize(SIZE, antialias=False)
    far_sets = {name: far(name) for name in parameters.far}
    known_test = test.select(known)
    near_test = test.select(near)
    tests = {"ID test": known_test, "near": near_test} | far_sets | aside
    overlaps.check_disjoint([outside, held_outside.unknown()], tests)
    return Benchmark(
        known=known,
        near_classes=near,
        superclass_of={name: family for family, names in families.items() for name in names},
        train=seen.subset(~held_out),
        validation=seen.subset(held_out),
        test=known_test,
        external=outside.unknown(),
        external_validation=held_outside.unknown(),
        near=near_test,
        far={**far_sets},
        aside={**aside},
    )


def _external(parameters: BenchmarkParameters) -> tuple[Images, Images]:
    """Return the external images for training, and the held-out ones, resized with their kernel."""
    kernel = parameters.external_kernel
    size = SIZE if kernel == "bicubic" else None

    def resized(name: str, split: str) -> Images:
        images = _disjoint(parameters, name, [split], size=size)
        return replace(images, images=data.resize(images.images, SIZE, kernel=kernel))

    sets = [resized(name, "train") for name in parameters.external]
    held_out = [resized(name, _second_split(name)) for name in parameters.external]
    held_outside = data.concatenate(held_out, "external")
    held_outside = data.subsample(
        held_outside, parameters.external_validation, seed=parameters.seed
    )
    return data.concatenate(sets, "external"), held_outside


def _far_set(
    parameters: BenchmarkParameters, name: str, *, external: Iterable[str], **more
) -> Images:
    """Return a far-OOD set without the classes that overlap with other roles."""
    far_set = parameters.far_set(name)
    splits = far_set.splits or [data.split_for_tests(name)]
    images = _disjoint(parameters, name, splits, external, far_set.keep, **more)
    return data.subsample(images, parameters.most_images(name), seed=parameters.seed)


def _disjoint(
    parameters: BenchmarkParameters,
    name: str,
    splits: Sequence[str],
    external: Iterable[str] = (),
    keep: Iterable[str] = (),
    **more,
) -> Images:
    """Return a data set without the classes that overlap with other roles by WordNet.

    `more` are arguments of `helpers.data.load`.
    """
    load = partial(data.load, size=SIZE, download=parameters.download)
    sets = [load(name, split, **more) for split in splits]
    images = sets[0] if len(sets) == 1 else data.concatenate(sets, name)
    nouns = name in parameters.external and name not in sources.BUILT_IN
    overlaps.check_names(images, nouns=nouns)
    if odd := set(keep) - set(images.class_names):
        raise ValueError(
            f"far.{name}.keep: classes of the data set '{name}' expected, got {min(odd)!r}"
        )
    shared = set(overlaps.find(images, parameters.data_set, external)) - set(keep)
    if not shared:
        return images
    return images.select([label for label in images.class_names if label not in shared])


def from_archive(parameters: BenchmarkParameters) -> Benchmark:
    """Return the benchmark of the authors' archive; no image is left out.

    Archives (github.com/daintlab/unknown-detection-benchmarks) are folders of pictures:
    ``PART/SET/labels/CLASS/``, or ``PART/SET/no-labels/ANY/`` without labels.  Parts are ``train``,
    ``valid`` and ``test``.  The folders name the known classes.
    """
    archive = TEXTS["archives"][parameters.data_set]
    root = data_root() / parameters.data_set
    known = archive["known"]
    size = archive["size"]

    def load(split: str, name: str, title: str, kind: str = "no-labels") -> Images | ImageStream:
        folder = root / split / name
        folder = folder / kind if (folder / kind).is_dir() else folder
        if not folder.is_dir():
            raise FileNotFoundError(
                f"{folder}: no such folder of the authors' archive; unpack it whole below DATA_ROOT"
            )
        if size:
            images = sources.folder(folder, "test", size=size)
            return replace(images, name=title, split=split)
        return replace(ImageStream.scan(folder), name=title, split=split)

    train = load("train", known, known, "labels")
    validation = load("valid", known, known, "labels")
    test = load("test", known, known, "labels")
    for images in (validation, test):
        if odd := sorted(set(images.class_names) ^ set(train.class_names)):
            raise ValueError(
                f"{root}: class {odd[0]!r} of {known} is in one of its parts train and "
                f"{images.split} alone; unpack the archive again"
            )
    held_outside = load("valid", archive["external"], "external").unknown()
    near = load("test", archive["near"], "near")
    return Benchmark(
        known=train.class_names,
        near_classes=near.class_names,
        train=train,
        validation=validation,
        test=test,
        external=load("train", archive["external"], "external").unknown(),
        external_validation=data.subsample(
            held_outside, parameters.external_validation, seed=parameters.seed
        ),
        near=near,
        far={title: load("test", name, title) for title, name in archive["far"].items()},
    )


def photographs(parameters: BenchmarkParameters) -> Benchmark:
    """Return the benchmark of ImageNet and other streamed folders of images.

    In-distribution are the 200 classes of Tiny ImageNet, near-OOD 200 classes near to them in
    WordNet, external all others (`class_roles.imagenet`).  Training and held-out
    images are in ImageNet's training split, test images in its validation split.
    """
    if parameters.external != ["imagenet"] or parameters.aside or parameters.resized:
        raise ValueError("external, aside, resized: ['imagenet'], none and none expected")
    sample = partial(data.subsample, seed=parameters.seed)
    train = data.open_stream("imagenet", "train")
    test = data.open_stream("imagenet", "val")
    table = class_roles.imagenet(seed=parameters.seed)
    names = dict(zip(table["wnid"], table["name"], strict=True))
    wnids = {role: rows["wnid"].tolist() for role, rows in table.groupby("role")}
    known = wnids["in-distribution"]
    near = wnids["near"]
    seen, held_out = _divide(train.select(known), parameters)
    outside, held_outside = _divide(train.select(wnids["external"]), parameters)
    far: dict[str, Images | ImageStream] = {}
    for name in parameters.far:
        classes = class_roles.far(name)
        disjoint = classes.loc[classes["role"] == "far", "name"].str.replace(
            "/", "_"
        )  # bakery/shop
        images = data.open_stream(name, "test").select(disjoint)
        far[name] = sample(images, parameters.most_images(name))
    return Benchmark(
        known=tuple(names[wnid] for wnid in known),
        near_classes=tuple(names[wnid] for wnid in near),
        train=seen,
        validation=held_out,
        test=test.select(known),
        external=outside.unknown(),
        external_validation=sample(held_outside.unknown(), parameters.external_validation),
        near=test.select(near),
        far=far,
    )


def _divide(
    stream: ImageStream, parameters: BenchmarkParameters
) -> tuple[ImageStream, ImageStream]:
    """Return a limited number of training images of each class, and the held-out images."""
    count = parameters.held_out_per_class or 0  # parameters of photographs have both numbers
    most = parameters.train_per_class or 0
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


def _second_split(name: str) -> str:
    """Return the split of an external set for held-out images."""
    others = [split for split in data.splits(name) if split != "train"]
    if not others:
        raise ValueError(f"external: data set '{name}' has one split; two are needed")
    return others[0]
