"""The roles of the images in the comparison of all papers.

Trained networks have the roles of the benchmark of unknown detection.  A finished network of it may
have learned from every training image of a slice, so half of the ID test images are held out.  A
published network was trained on all classes and all training images of its ID set: half of the ID
test images are held out, and near images come from other data sets.  Families that are not test
sets are the training data of the regression that predicts an AUROC without labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import data
from helpers.data import Images, ImageStream, class_lists, hold_out, overlaps, subsample
from helpers.papers.unknown_detection import roles as unknown_detection
from helpers.papers.unknown_detection.roles import SIZE

if TYPE_CHECKING:
    from helpers.papers.run import Part
    from synthesis.across.parameters import Parameters


@dataclass(frozen=True, kw_only=True)
class ComparisonRoles:
    """The images of each role.

    If there are `held_out` images among the test images, they are the validation images, and not
    tested.
    """

    known: tuple[str, ...]
    train: Images | ImageStream
    thresholds: np.ndarray
    validation: Images | ImageStream
    test: Images | ImageStream
    held_out: np.ndarray | None = None
    external: Images | ImageStream | None
    external_validation: Images | ImageStream
    near: Mapping[str, Images | ImageStream]
    far: Mapping[str, Images | ImageStream]
    families: dict[str, Images]


def roles(parameters: Parameters, part: Part | None = None) -> ComparisonRoles:
    """Return the roles of the images, the same roles in all parts with the same ID set."""
    if part and part.roles:
        return of_published(parameters, part.roles)
    base = unknown_detection.roles(parameters)
    taken = {"external": base.external, **base.test_sets}
    shared = ("known", "train", "validation", "test", "external", "external_validation", "far")
    comparison = ComparisonRoles(
        **{name: getattr(base, name) for name in shared},
        thresholds=np.arange(len(base.train)),
        near={"near": base.near},
        families=load_families(parameters, parameters.families, taken, len(base.validation)),
    )
    if not parameters.finished:
        return comparison
    # all test images together, as in unknown detection: their outputs are computed once
    held_out = hold_out(base.test.labels, 0.5, run=0, seed=parameters.seed)
    return replace(comparison, validation=base.test.subset(held_out), held_out=held_out)


def of_published(parameters: Parameters, id_set: str) -> ComparisonRoles:
    """Return the roles for published networks; their ID set is a data set or a part of one."""
    most = parameters.published_images
    draw: Any = partial(subsample, seed=parameters.seed)  # returns images of the given type
    load = partial(data.load, size=SIZE, download=parameters.download)
    train = load(id_set, "train")
    every_test = load(id_set, "test")
    held = hold_out(every_test.labels, 0.5, run=0, seed=parameters.seed)
    shared = class_lists.shared_classes(id_set)

    def unknown(names: Iterable[str], related: bool = True) -> dict[str, Images]:
        """Load some test images of sets without overlap, or only of their unrelated classes."""
        sets = {}
        for name in names:
            images = load(name, data.split_for_tests(name))
            if not related:
                related_classes = overlaps.find_related(images, id_set)
                unrelated = [each for each in images.class_names if each not in related_classes]
                images = images.select(unrelated)
            sets[name] = draw(images, parameters.far_images)
        return sets

    external = unknown(name for name in parameters.external if name not in shared)
    far = unknown(name for name in parameters.far if name not in shared)
    others = (name for name in parameters.near if not f"{id_set}_".startswith(f"{name}_"))
    near = unknown(others, related=False)
    outside = data.concatenate([*external.values()], "external")
    held_outside = draw(outside, parameters.external_validation)
    overlaps.check_disjoint([outside, held_outside], near | far)
    validation = draw(every_test.subset(held), most)
    families = [name for name in parameters.families if name not in shared]
    count = min(len(validation), parameters.far_images)
    order = np.random.default_rng(parameters.seed).permutation(len(train))
    return ComparisonRoles(
        known=train.class_names,
        train=train,
        thresholds=np.sort(order[:most]),
        validation=validation,
        test=draw(every_test.subset(~held), most),
        external=None,
        external_validation=held_outside.unknown(),
        near=near,
        far=far,
        families=load_families(parameters, families, {"external": outside, **near, **far}, count),
    )


def load_families(
    parameters: Parameters,
    names: Iterable[str],
    taken: Mapping[str, Images | ImageStream],
    most: int,
) -> dict[str, Images]:
    """Load the sets from which the prediction of an AUROC learns; see `ComparisonRoles`."""
    families: dict[str, Any] = {}
    for name in names:
        images = data.load(name, "test", size=SIZE, download=parameters.download)
        for role, other in taken.items():
            if shared := set(images.class_names) & set(other.class_names):
                raise ValueError(
                    f"families: '{name}' shares the class {min(shared)} with the images that are "
                    f"'{role}'; take another set"
                )
        families[name] = subsample(images.unknown(), most, seed=parameters.seed)
    return families
