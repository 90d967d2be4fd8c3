"""ImageNot: which classes are in-domain and which out-domain, and the images of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helpers import data
from helpers.checks import float_array
from helpers.data import Images, ImageStream, class_lists
from helpers.papers.uimnet.protocol import Protocol

PUBLISHED = "imagenet"
"""The data set whose in-domain and out-domain classes are published."""


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
class Roles:
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


def roles(
    data_set: str,
    protocol: Protocol,
    data_seed: int,
    *,
    class_means: np.ndarray | None = None,
    download: bool = False,
) -> Roles:
    """Load a data set and give each image its role.

    Parameters
    ----------
    data_set : str
        ``imagenet``, whose photographs are streamed and not held in memory, or one of
        `helpers.data.names` with ``train`` and ``test`` or ``val``.
    protocol : Protocol
    data_seed : int
        Decides which training images are held out.
    class_means : ndarray of float, shape [C, D], optional
        Mean features of the training images of each class, from which the classes' roles are
        found (see `partition`).  Without, those of ImageNet are the published ones.
    download : bool
        Let torchvision download what is missing.

    Raises
    ------
    ValueError
        No class means, though roles are published for ImageNet alone; a side for images that are
        streamed; or as `partition`.
    """
    if protocol.side and data_set == PUBLISHED:
        raise ValueError("side: streamed photographs are cut to 224 pixels; leave it at 0")
    if class_means is None and data_set != PUBLISHED:
        raise ValueError(
            f"class_means: the classes of '{data_set}' have no published roles; pass the mean "
            "features of each class"
        )
    splits = data.splits(data_set)
    halves = "train", "test" if "test" in splits else splits[-1]
    if data_set == PUBLISHED:
        seen, unseen = (data.open_stream(data_set, split) for split in halves)
    else:
        seen, unseen = (
            data.load(data_set, split, size=protocol.side or None, download=download)
            for split in halves
        )
    if class_means is None:
        found = None
        in_domain, out_domain = (
            wnids[: protocol.most_classes or None] for wnids in class_lists.imagenot()
        )
    else:
        found = partition(class_means, seen.class_names, protocol.most_classes or None)
        in_domain, out_domain = found.in_domain, found.out_domain
    seen = seen.select(in_domain)
    held = _held_out(len(seen), protocol.validation_share, [protocol.seed, data_seed])
    return Roles(
        in_domain=in_domain,
        out_domain=out_domain,
        train=seen.subset(~held),
        validation=seen.subset(held),
        test=unseen.select(in_domain),
        out=unseen.select(out_domain).unknown(),
        partition=found,
    )


def _held_out(images: int, share: float, seed: list[int]) -> np.ndarray:
    """Return which images are held out, bool [N]: the first of a random order of them all."""
    held = np.zeros(images, dtype=bool)
    order = np.random.default_rng(seed).permutation(images)
    held[order[: max(round(share * images), 1)]] = True
    return held
