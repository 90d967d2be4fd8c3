"""ImageNot: which classes are in-domain and which out-domain, and the images of both.

Belghazi and Lopez-Paz (2021): the features of a network divide the classes of one data set into
two branches; a random tenth of the in-domain training images, by data seed, is for validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helpers import data
from helpers.checks import float_array
from helpers.data import Images, ImageStream, class_lists
from helpers.papers.uimnet.parameters import PUBLISHED

if TYPE_CHECKING:
    from helpers.papers.run import Part
    from helpers.papers.uimnet.parameters import Parameters


@dataclass(frozen=True)
class Partition:
    """How classes fall into two branches.

    Attributes
    ----------
    class_names : tuple of str
        All C of them.
    linkage : ndarray of float64, shape [C - 1, 4]
        The merges, as SciPy has them: two clusters, their distance, and the number of classes.
        The last row's first cluster is the left branch.
    in_domain, out_domain : tuple of str
        Classes of the left and of the right branch, in the order of `class_names`.
    """

    class_names: tuple[str, ...]
    linkage: np.ndarray
    in_domain: tuple[str, ...]
    out_domain: tuple[str, ...]


@dataclass(frozen=True)
class DomainSplit:
    """One data seed's images.

    Attributes
    ----------
    in_domain, out_domain : tuple of str
        Names of the classes; label k is ``in_domain[k]``.
    train, validation, test : Images or ImageStream
        In-domain.
    out : Images or ImageStream
        Test images of the out-domain classes; labels −1.
    partition : Partition, optional
        How the classes were found; None for the published ones.
    """

    in_domain: tuple[str, ...]
    out_domain: tuple[str, ...]
    train: Images | ImageStream
    validation: Images | ImageStream
    test: Images | ImageStream
    out: Images | ImageStream
    partition: Partition | None


def partition(
    class_means: np.ndarray, class_names: Sequence[str], most: int | None = None
) -> Partition:
    """Divide classes into two branches that look different to a network.

    The means of the classes' features are merged by Ward's criterion until two clusters are left.
    The left one, whose classes are in-domain, is here the smaller, and of two of the same size
    that of the first class.  Of the right one, the first classes are out-domain, as many as are
    in-domain.

    Parameters
    ----------
    class_means : ndarray of float, shape [C, D]
        Mean features of the training images of each class.
    class_names : sequence of str, length C
    most : int, optional
        Take only the first of the in-domain classes, so many, and as many out-domain.

    Raises
    ------
    ValueError
        `class_means` is no array [C, D] of finite numbers, or the left branch is a single class,
        which nothing can be told from; names it.

    Notes
    -----
    Belghazi and Lopez-Paz 2021.  Their text does not say what "left" is; of the 1,000 classes of
    ImageNet it has 266, and "first" is by wnid.

    Examples
    --------
    >>> found = partition(np.array([[0.0], [9], [1], [8], [2]]), ["a", "b", "c", "d", "e"])
    >>> found.in_domain, found.out_domain
    (('b', 'd'), ('a', 'c'))
    """
    from scipy.cluster import hierarchy  # here, since SciPy takes long to import

    means = float_array("class_means", class_means, ndim=2, length=len(class_names))
    if len(means) < 4:
        raise ValueError(f"class_means: at least 4 classes expected, got {len(means)}")
    merges = hierarchy.linkage(means, "ward")
    root = hierarchy.to_tree(merges)
    branches = [sorted(branch.pre_order()) for branch in (root.left, root.right)]
    left, right = sorted(branches, key=lambda classes: (len(classes), classes))
    if len(left) < 2:
        raise ValueError(
            f"class_means: a left branch of two classes or more expected, got "
            f"'{class_names[left[0]]}' alone; leave that class out"
        )
    if left is branches[1]:
        merges[-1, :2] = merges[-1, 1::-1]
    left = left[:most]
    in_domain, out_domain = (
        tuple(class_names[one] for one in some) for some in (left, right[: len(left)])
    )
    return Partition(tuple(class_names), merges, in_domain, out_domain)


def roles(parameters: Parameters, part: Part | None = None) -> dict[int, DomainSplit]:
    """Return the roles of the images by data seed; parts of one network have the same ones."""
    network, found = part.identity["backbone"] if part else next(iter(parameters.sizes)), None
    if parameters.featuriser:
        if parameters.data_set == PUBLISHED:
            images = data.open_stream(parameters.data_set, "train")
        else:
            images = data.load(parameters.data_set, "train", download=parameters.download)
        means = class_means(parameters, images)
        found = partition(means, images.class_names, parameters.most_classes or None)
    splits = {seed: split(parameters, seed, found) for seed in range(parameters.runs)}
    return parameters.seen_by(network, splits)


def class_means(parameters: Parameters, images: Images | ImageStream) -> np.ndarray:
    """Return the mean features of each class, float64 [C, D], by the featuriser.

    Parameters
    ----------
    parameters : Parameters
    images : Images or ImageStream
        Training images of all classes, in-domain and out-domain; the featuriser is trained on
        these if it is one of the parameters' sizes.

    Raises
    ------
    ValueError
        A class has no images, or timm has no such network.
    """
    name, device = parameters.featuriser, parameters.device
    if name in parameters.features:
        from helpers.data.features import decode

        seen = parameters.seen_by(name, images)
        features = decode(seen.images.reshape(len(seen), -1), parameters.features[name].top)
    elif name in parameters.sizes:
        from helpers.training.fitted import fit

        recipe = parameters.recipe(parameters.sizes[name])
        features = fit(images, recipe, seed=parameters.seed, device=device).outputs(images).features
    else:
        from helpers.networks import zoo

        source = zoo.load(name, download=parameters.download, device=device)
        features = source.outputs(images).features
    classes = range(len(images.class_names))
    counts = np.bincount(images.labels, minlength=len(classes))
    if not counts.all():
        missing = images.class_names[int(counts.argmin())]
        raise ValueError(f"images: at least one of each class expected, got none of '{missing}'")
    return np.array([features[images.labels == k].mean(axis=0, dtype=float) for k in classes])


def halves(parameters: Parameters) -> Iterator[Images | ImageStream]:
    """Yield the images of all classes that training is about, and those that test."""
    data_set, splits = parameters.data_set, data.splits(parameters.data_set)
    for half in ("train", "test" if "test" in splits else splits[-1]):
        if data_set == PUBLISHED:
            yield data.open_stream(data_set, half)
        else:
            options = {"size": parameters.side or None, "download": parameters.download}
            yield data.load(data_set, half, **options)


def split(parameters: Parameters, data_seed: int, found: Partition | None) -> DomainSplit:
    """Load the data set and give each image its role.

    Parameters
    ----------
    parameters : Parameters
        Their data set has ``train``, and ``test`` or ``val``.
    data_seed : int
        Decides which training images are held out.
    found : Partition or None
        The classes' roles; None for the published ones.
    """
    most = parameters.most_classes or None
    seen, unseen = halves(parameters)
    in_domain, out_domain = (wnids[:most] for wnids in class_lists.imagenot())
    if found:
        in_domain, out_domain = found.in_domain, found.out_domain
    seen = seen.select(in_domain)
    order = np.random.default_rng([parameters.seed, data_seed]).permutation(len(seen))
    # the first of a random order of all images, whatever their classes
    held = order.argsort() < max(round(parameters.validation_share * len(seen)), 1)
    return DomainSplit(
        in_domain=in_domain,
        out_domain=out_domain,
        train=seen.subset(~held),
        validation=seen.subset(held),
        test=unseen.select(in_domain),
        out=unseen.select(out_domain).unknown(),
        partition=found,
    )
