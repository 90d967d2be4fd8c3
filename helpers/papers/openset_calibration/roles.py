"""Roles of classes and images in *Evaluating Uncertainty Calibration for Open-Set Recognition*.

Lyu, Gutierrez and Beksi (2022): six classes drawn at random are known, the others unknown;
nine tenths of the known training images train, one tenth fits the temperature; the test
set has all classes.  The closed set is the ordinary problem with the same shares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from helpers import data
from helpers.checks import known_name
from helpers.data import Images

SETTINGS = ("closed-set", "open-set")
DISTANCES = ("euclidean", "euclidean_cosine")
"""Of `helpers.scores.openset.OpenMax`."""
SIZE = 32
"""Pixels: what the networks are made for; images of another size are brought to it."""


@dataclass(frozen=True)
class Protocol:
    """What the evaluation is free to choose.

    Attributes
    ----------
    known : int
        Known classes in the open set.
    calibration_share : float
        Share of the training images that is held out for the temperature and the threshold.
    keep : float
        The rejection threshold keeps this share of the held-out images.
    tail, alpha, distance
        Of `openset.OpenMax`; ``alpha=0`` revises the logits of all known classes.
    bins : int
        Of the ECE.
    replicates : int
        Bootstrap replicates over the test images.
    seed : int
        Of the splits, the networks and the bootstrap.
    """

    known: int = 6
    calibration_share: float = 0.1
    keep: float = 0.95
    tail: int = 20
    alpha: int = 0
    distance: str = "euclidean"
    bins: int = 15
    replicates: int = 200
    seed: int = 0

    def __post_init__(self):
        known_name("distance", self.distance, DISTANCES)
        for name, low, high in (
            ("known", 2, None),
            ("tail", 2, None),
            ("alpha", 0, self.known),
            ("bins", 1, None),
            ("replicates", 1, None),
        ):
            value = getattr(self, name)
            if value < low or (high is not None and value > high):
                least = f"at least {low}" + ("" if high is None else f" and at most {high}")
                raise ValueError(f"{name}: {least} expected, got {value}")
        for name in ("calibration_share", "keep"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name}: between 0 and 1 expected, got {getattr(self, name)}")


@dataclass(frozen=True)
class Split:
    """One run's images, labelled as the model numbers its classes.

    Attributes
    ----------
    known, unknown : tuple of str
        Names of the classes. Label k is ``known[k]``; all unknown ones share the label −1.
    train, calibration, test : Images
        Known classes only in the first two.
    """

    known: tuple[str, ...]
    unknown: tuple[str, ...]
    train: Images
    calibration: Images
    test: Images


def draw_known(classes: int, known: int, *, run: int, seed: int) -> np.ndarray:
    """Draw which classes are known in a run.

    Parameters
    ----------
    classes, known : int
        How many there are; how many of them are known.
    run, seed : int
        Together they decide the draw.

    Returns
    -------
    ndarray of int64, shape [known]
        Indices of the known classes in ascending order, so that a model's class k is
        the k-th known class.

    Raises
    ------
    ValueError
        Fewer than two known classes, or no class left to be unknown.

    Examples
    --------
    >>> draw_known(10, 6, run=0, seed=0)
    array([2, 3, 4, 5, 6, 7])
    """
    if not 2 <= known < classes:
        raise ValueError(f"known: between 2 and {classes - 1} of {classes} classes, got {known}")
    return np.sort(np.random.default_rng([seed, run]).permutation(classes)[:known])


def hold_out(labels: np.ndarray, share: float, *, run: int, seed: int) -> np.ndarray:
    """Choose a share of the images of each class at random.

    Returns
    -------
    ndarray of bool, shape [N]
        True for the images held out; of each class the rounded share, but at least one.

    Examples
    --------
    >>> hold_out(np.repeat([0, 1], 10), 0.1, run=0, seed=0).sum()
    np.int64(2)
    """
    if not 0 < share < 1:
        raise ValueError(f"calibration_share: between 0 and 1 expected, got {share}")
    generator = np.random.default_rng([seed, run, 1])
    held = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        members = generator.permutation(np.flatnonzero(labels == label))
        held[members[: max(round(share * len(members)), 1)]] = True
    return held


def split(
    data_set: str,
    setting: str,
    run: int,
    *,
    known: int = 6,
    calibration_share: float = 0.1,
    seed: int = 0,
    download: bool = False,
) -> Split:
    """Load a data set and give each image its role in a run.

    Parameters
    ----------
    data_set : str
        One of `helpers.data.names` with the splits ``train`` and ``test``.
    setting : str
        ``closed-set`` (all classes are known) or ``open-set``.
    run, seed : int
        They decide the known classes and the images held out for calibration.
    known : int
        Number of known classes in the open set.
    calibration_share : float
        Share of the known training images that fits the temperature.
    download : bool
        Let torchvision download what is missing.

    Examples
    --------
    >>> one = split("cifar10_mini", "open-set", run=0)
    >>> one.known
    ('bird', 'cat', 'deer', 'dog', 'frog', 'horse')
    >>> len(one.train), len(one.calibration), len(one.test)
    (1620, 180, 1000)
    """
    known_name("setting", setting, SETTINGS)
    options = {"size": SIZE, "download": download}
    train, test = (data.load(data_set, part, **options) for part in ("train", "test"))
    classes = len(train.class_names)
    chosen = np.arange(classes)
    if setting == "open-set":
        chosen = draw_known(classes, known, run=run, seed=seed)
    numbering = np.full(classes + 1, -1)  # one place more, for images that have no label at all
    numbering[chosen] = np.arange(len(chosen))
    names = np.array(train.class_names)

    def relabelled(images: Images) -> Images:
        known_names = tuple(str(name) for name in names[chosen])
        return replace(images, labels=numbering[images.labels], class_names=known_names)

    seen = relabelled(train)
    seen = seen.subset(seen.labels >= 0)
    held = hold_out(seen.labels, calibration_share, run=run, seed=seed)
    return Split(
        known=seen.class_names,
        unknown=tuple(str(name) for name in np.delete(names, chosen)),
        train=seen.subset(~held),
        calibration=seen.subset(held),
        test=relabelled(test),
    )
