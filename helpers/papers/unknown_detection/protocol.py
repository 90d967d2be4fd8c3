"""What the benchmark is made of: methods, protocol, and the roles that images play."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from helpers.checks import known_name
from helpers.data import Images, ImageStream
from helpers.papers.parameters import DISTANCES

MOST_MEMBERS = 100  # of an ensemble: the seeds of two runs are as far apart

METHODS = {
    "baseline": "Baseline",
    "crl": "CRL",
    "edl": "EDL",
    "mc_dropout": "MC dropout",
    "ensemble": "Deep Ensemble",
    "augmix": "AugMix",
    "odin": "ODIN",
    "outlier_exposure": "Outlier Exposure",
    "openmax": "OpenMax",
}
"""The paper's nine methods in the order of its tables, and how they are called."""


@dataclass(frozen=True)
class Protocol:
    """What the benchmark and its evaluation are free to choose.

    Attributes
    ----------
    known_share : float
        Share of the classes of each superclass that are in-distribution.
    known_classes : tuple of str
        Classes that are in-distribution in any case; the others are drawn.
    superclasses : dict of str to list of str
        The classes of each superclass; empty where the data set has coarse labels.
    validation_share : float
        Share of the ID training images that is held out.
    external_validation : int
        External images that hyper-parameters are chosen on, at most.
    far_images : int
        Images of each far-OOD set, at most; the first ones in a random order.
    members : int
        Networks of a Deep Ensemble.
    passes : int
        Passes of MC dropout.
    temperatures, epsilons : tuple of float
        Of ODIN; the pairs among which it is chosen.
    alphas, tails : tuple of int
        Of OpenMax, likewise.
    distance : str
        Of OpenMax.
    replicates : int
        Bootstrap replicates over the test images.
    seed : int
        Of the classes, the held-out images, the networks and the bootstrap.
    """

    known_share: float = 0.4
    known_classes: tuple[str, ...] = ()
    superclasses: dict[str, list[str]] = field(default_factory=dict)
    validation_share: float = 0.1
    external_validation: int = 2000
    far_images: int = 10_000
    members: int = 5
    passes: int = 50
    temperatures: tuple[float, ...] = (1, 10, 100, 1000)
    epsilons: tuple[float, ...] = (
        0, 0.0005, 0.001, 0.0014, 0.002, 0.0024, 0.005, 0.01, 0.05, 0.1, 0.2,
    )  # fmt: skip
    alphas: tuple[int, ...] = (1, 5, 10, 20, 30, 40)
    tails: tuple[int, ...] = (2, 5, 10, 20, 30, 40)
    distance: str = "euclidean_cosine"
    replicates: int = 200
    seed: int = 0

    def __post_init__(self):
        for name in ("known_share", "validation_share"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name}: between 0 and 1 expected, got {getattr(self, name)}")
        for name, least in (
            ("external_validation", 1),
            ("far_images", 1),
            ("members", 2),
            ("passes", 1),
            ("replicates", 1),
            ("seed", 0),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: at least {least} expected, got {getattr(self, name)}")
        if self.members > MOST_MEMBERS:
            raise ValueError(f"members: at most {MOST_MEMBERS} expected, got {self.members}")
        known_name("distance", self.distance, DISTANCES)
        for name, least in (("temperatures", 0), ("epsilons", 0), ("alphas", 1), ("tails", 2)):
            values = getattr(self, name)
            if not values or min(values) < least or (name == "temperatures" and min(values) == 0):
                how = f"above {least}" if name == "temperatures" else f"of at least {least}"
                raise ValueError(f"{name}: one value or more, {how}, expected, got {list(values)}")


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
class Roles:
    """The benchmark: which images play which role.

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
    removed : dict of str to tuple of str
        For each data set the classes left out, since they are among those of another role.
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
    removed: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def visible(self) -> Visible:
        """What may be seen before the test."""
        return Visible(self.train, self.validation, self.external_validation)


def limited(images: Images | ImageStream, most: int, *, seed: int) -> Images | ImageStream:
    """Return at most so many images, chosen at random, in their order."""
    if len(images) <= most:
        return images
    return images.subset(np.sort(np.random.default_rng(seed).permutation(len(images))[:most]))
