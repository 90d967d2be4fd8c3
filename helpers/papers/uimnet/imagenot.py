"""ImageNot's rule: the features of a network divide the classes of a data set into two branches."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helpers.checks import float_array
from helpers.data import Images, ImageStream
from helpers.papers.uimnet.parameters import Parameters


@dataclass(frozen=True)
class Partition:
    """Two branches of classes."""

    class_names: tuple[str, ...]  # of all C classes
    # merges as in SciPy, float64 [C - 1, 4]: two clusters, their distance, the number of classes;
    # the first cluster of the last row is the left branch
    linkage: np.ndarray
    in_domain: tuple[str, ...]  # classes of the left branch
    out_domain: tuple[str, ...]  # classes of the right branch


def partition(
    class_means: np.ndarray, class_names: Sequence[str], most: int | None = None
) -> Partition:
    """Return a division of classes into two branches that look different to a network.

    The means of the classes' features are merged by Ward's criterion until two clusters are left.
    The smaller cluster is the left one, whose classes are in-domain; of two equal clusters it is
    the cluster of the first class.  An equal number of the first classes of the right cluster are
    out-domain.  The paper's text does not define "left"; for the 1,000 classes
    of ImageNet it has 266, and "first" is by wnid.

    `class_means` are the mean features of the training images of each class [C, D], `most` is the
    largest number of in-domain classes, and of out-domain classes: the first ones.

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
    left = left[:most]
    right = right[: len(left)]
    return Partition(
        class_names=tuple(class_names),
        linkage=merges,
        in_domain=tuple(class_names[label] for label in left),
        out_domain=tuple(class_names[label] for label in right),
    )


def class_means(parameters: Parameters, images: Images | ImageStream) -> np.ndarray:
    """Return the mean features of each class by the featuriser, float64 [C, D].

    `images` are the training images of all classes, in-domain and out-domain.
    """
    name = parameters.featuriser
    device = parameters.device
    if name in parameters.sizes:
        from helpers.training.fitted import fit

        recipe = parameters.recipe(parameters.sizes[name])
        outputs = fit(images, recipe, seed=parameters.seed, device=device).outputs(images)
    else:
        from helpers.networks import zoo

        network = zoo.load(name, download=parameters.download, device=device)
        outputs = network.outputs(images)
    features = outputs.features
    classes = range(len(images.class_names))
    counts = np.bincount(images.labels, minlength=len(classes))
    if not counts.all():
        missing = images.class_names[int(counts.argmin())]
        raise ValueError(f"images: at least one of each class expected, got none of '{missing}'")
    return np.array([features[images.labels == k].mean(axis=0, dtype=float) for k in classes])
