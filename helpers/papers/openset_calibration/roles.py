"""Roles of classes and images in *Evaluating Uncertainty Calibration for Open-Set Recognition*.

Six random classes are known, the others unknown.  Nine tenths of the training images of known
classes train the network, and one tenth fits the temperature; the test set has all classes.  All
classes of the closed set are known.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from helpers import data
from helpers.checks import known_name
from helpers.papers.openset_calibration.parameters import Parameters
from helpers.papers.run import Part

SETTINGS = ("closed-set", "open-set")
#: Side of the images in pixels; other images are resized.
SIZE = 32


@dataclass(frozen=True)
class Split:
    """The images of one run; only the test set has unknown classes, with label −1.

    Label k is the class ``known[k]``.
    """

    known: tuple[str, ...]
    unknown: tuple[str, ...]
    train: data.Images
    calibration: data.Images
    test: data.Images


def draw_known(classes: int, known: int, *, run: int, seed: int) -> np.ndarray:
    """Return the ascending indices of the known classes, drawn by `seed` and `run`.

    >>> draw_known(10, 6, run=0, seed=0)
    array([2, 3, 4, 5, 6, 7])
    """
    if not 2 <= known < classes:
        raise ValueError(
            f"known: between 2 and {classes - 1} of {classes} classes expected, got {known}"
        )
    order = np.random.default_rng([seed, run]).permutation(classes)
    return np.sort(order[:known])


def roles(parameters: Parameters, part: Part) -> dict[str, Split]:
    """Return the roles of the images of one run in each setting."""
    data_set = part.identity["data_set"]
    run = part.identity["run"]
    return {setting: split(parameters, data_set, setting, run) for setting in SETTINGS}


def split(parameters: Parameters, data_set: str, setting: str, run: int) -> Split:
    """Return the images of a data set with their roles in a run.

    The data set has the splits ``train`` and ``test``, `setting` is one of `SETTINGS`.  The run
    decides, with the seed, the known classes and the held-out images.

    >>> from helpers.papers.parameters import load
    >>> roles = split(load("openset_calibration", "mini"), "cifar10_mini", "open-set", run=0)
    >>> len(roles.known), len(roles.train), len(roles.calibration), len(roles.test)
    (6, 1620, 180, 1000)
    """
    known_name("setting", setting, SETTINGS)
    load = partial(data.load, data_set, size=SIZE, download=parameters.download)
    train = load("train")
    classes = len(train.class_names)
    known = np.arange(classes)
    if setting == "open-set":
        known = draw_known(classes, parameters.known, run=run, seed=parameters.seed)
    new_labels = np.full(classes + 1, -1)  # the last one is of images without a label
    new_labels[known] = np.arange(len(known))
    names = np.array(train.class_names)

    def relabelled(images: data.Images) -> data.Images:
        known_names = tuple(str(name) for name in names[known])
        return replace(images, labels=new_labels[images.labels], class_names=known_names)

    seen = relabelled(train)
    seen = seen.subset(seen.labels >= 0)
    share = parameters.calibration_share
    held_out = data.hold_out(seen.labels, share, run=run, seed=parameters.seed)
    return Split(
        known=seen.class_names,
        unknown=tuple(str(name) for name in np.delete(names, known)),
        train=seen.subset(~held_out),
        calibration=seen.subset(held_out),
        test=relabelled(load("test")),
    )
