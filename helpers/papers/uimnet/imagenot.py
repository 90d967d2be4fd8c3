"""ImageNot's rule: the features of a network divide the classes of a data set into two branches."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helpers.checks import float_array


@dataclass(frozen=True)
class Partition:
    """Two branches of classes."""

    # merges as in SciPy, float64 [C - 1, 4]: two clusters, their distance, the number of classes;
    # the first cluster of the last row is the left branch
    linkage: np.ndarray
    in_domain: tuple[str, ...]  # classes of the left branch
    out_domain: tuple[str, ...]  # classes of the right branch


def partition(class_means: np.ndarray, class_names: Sequence[str]) -> Partition:
    """Return a division of classes into two branches that look different to a network.

    The means of the classes' features are merged by Ward's criterion until two clusters are left.
    The smaller cluster is the left one, whose classes are in-domain; of two equal clusters it is
    the cluster of the first class.  An equal number of the first classes of the right cluster are
    out-domain.  The paper's text does not define "left"; for the 1,000 classes
    of ImageNet it has 266, and "first" is by wnid.

    `class_means` are the mean features of the training images of each class [C, D].

    >>> domains = partition(np.array([[0.0], [9], [1], [8], [2]]), ["a", "b", "c", "d", "e"])
    >>> domains.in_domain, domains.out_domain
    (('b', 'd'), ('a', 'c'))
    """
    from scipy.cluster import hierarchy  # its import takes long

    means = float_array("class_means", class_means, ndim=2, length=len(class_names))
    if len(means) < 4:
        raise ValueError(f"class_means: at least 4 classes expected, got {len(means)}")
    merges = hierarchy.linkage(means, "ward")
    root = hierarchy.to_tree(merges)
    branches = [sorted(root.left.pre_order()), sorted(root.right.pre_order())]
    left, right = sorted(branches, key=lambda classes: (len(classes), classes))
    if len(left) < 2:
        raise ValueError(
            f"class_means: a left branch of two classes or more expected, got "
            f"'{class_names[left[0]]}' alone; leave that class out"
        )
    if left is branches[1]:
        merges[-1, :2] = merges[-1, 1::-1]
    right = right[: len(left)]
    return Partition(
        linkage=merges,
        in_domain=tuple(class_names[label] for label in left),
        out_domain=tuple(class_names[label] for label in right),
    )
