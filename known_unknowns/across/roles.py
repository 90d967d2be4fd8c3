"""The roles of the images in the comparison of all papers.

For the networks that are trained they are those of the benchmark of unknown detection, whose
networks are among those that are compared.  A published network knows all classes of its ID set and
has learnt all training images: half of the ID test images take the place of those that are held
out, and near are other data sets.  Either way families that are none of the test sets teach the
regression that predicts an AUROC without labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helpers import data
from helpers.data import Images, ImageStream, class_lists, hold_out, overlaps, subsample
from helpers.papers.unknown_detection import roles as unknown_detection
from helpers.papers.unknown_detection.roles import SIZE, test_split

if TYPE_CHECKING:
    from helpers.papers.run import Part
    from known_unknowns.across.parameters import Parameters


@dataclass(frozen=True, kw_only=True)
class ComparisonRoles:
    """The images of each role."""

    known: tuple[str, ...]
    train: Images | ImageStream
    thresholds: np.ndarray
    validation: Images | ImageStream
    test: Images | ImageStream
    external: Images | ImageStream | None
    external_validation: Images | ImageStream
    near: dict[str, Images | ImageStream]
    far: dict[str, Images | ImageStream]
    families: dict[str, Images]


def roles(parameters: Parameters, part: Part | None = None) -> ComparisonRoles:
    """Return the roles of the images: the same ones in all parts that have an ID set in common."""
    return of_published(parameters, part.roles) if part and part.roles else of_trained(parameters)


def of_trained(parameters: Parameters) -> ComparisonRoles:
    """Return the roles of the benchmark, and of the families."""
    base = unknown_detection.roles(parameters)
    taken = {"external": base.external} | base.test_sets
    return ComparisonRoles(
        known=base.known,
        train=base.train,
        thresholds=np.arange(len(base.train)),
        validation=base.validation,
        test=base.test,
        external=base.external,
        external_validation=base.external_validation,
        near={"near": base.near},
        far=base.far,
        families=load_families(parameters, parameters.families, taken, len(base.validation)),
    )


def of_published(parameters: Parameters, id_set: str) -> ComparisonRoles:
    """Return the roles for published networks, whose ID set is a data set or a part of it."""
    seed, most = parameters.seed, parameters.published_images
    train, test = (
        data.load(id_set, one, size=SIZE, download=parameters.download) for one in ("train", "test")
    )
    held = hold_out(test.labels, 0.5, run=0, seed=seed)
    shared = class_lists.shared_classes(id_set)

    def unknown(names: Iterable[str]) -> dict[str, Images]:
        return {name: _some(parameters, name) for name in names if name not in shared}

    outside = data.concatenate([*unknown(parameters.external).values()], "external")
    far, near = unknown(parameters.far), {}
    for name in parameters.near:
        if not f"{id_set}_".startswith(f"{name}_"):
            near[name] = _some(parameters, name, id_set)
    held_outside = subsample(outside, parameters.external_validation, seed=seed)
    overlaps.check_disjoint([outside, held_outside], near | far)
    validation, test = (subsample(test.subset(one), most, seed=seed) for one in (held, ~held))
    families = [name for name in parameters.families if name not in shared]
    taken = {"external": outside} | near | far
    return ComparisonRoles(
        known=train.class_names,
        train=train,
        thresholds=np.sort(np.random.default_rng(seed).permutation(len(train))[:most]),
        validation=validation,
        test=test,
        external=None,
        external_validation=held_outside.unknown(),
        near=near,
        far=far,
        families=load_families(
            parameters, families, taken, min(len(validation), parameters.far_images)
        ),
    )


def _some(parameters: Parameters, name: str, id_set: str = "") -> Images:
    """Return some test images of a set, without classes that overlap with those of an ID set."""
    images = data.load(name, test_split(name), size=SIZE, download=parameters.download)
    if id_set:
        hit = overlaps.find_related(images, id_set)
        images = images.select([one for one in images.class_names if one not in hit])
    return subsample(images, parameters.far_images, seed=parameters.seed)


def load_families(
    parameters: Parameters, names: Iterable[str], taken: Mapping[str, Images], most: int
) -> dict[str, Images]:
    """Load the sets that the prediction of an AUROC learns from; see `ComparisonRoles`."""
    found = {}
    for name in names:
        images = data.load(name, "test", size=SIZE, download=parameters.download)
        for role, other in taken.items():
            if shared := set(images.class_names) & set(other.class_names):
                raise ValueError(
                    f"families: '{name}' shares the class {min(shared)} with the images that are "
                    f"'{role}'; take another set"
                )
        found[name] = subsample(images.unknown(), most, seed=parameters.seed)
    return found
