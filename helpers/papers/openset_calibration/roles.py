"""Roles of classes and images in *Evaluating Uncertainty Calibration for Open-Set Recognition*.

Six random classes are known, the others unknown.  Of the training images of known classes, nine
tenths train the network and one tenth fits the temperature; the test set has all classes.  In the
closed set all classes are known.
"""

from dataclasses import dataclass, replace

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
        raise ValueError(f"known: between 2 and {classes - 1} of {classes} classes, got {known}")
    return np.sort(np.random.default_rng([seed, run]).permutation(classes)[:known])


def roles(parameters: Parameters, part: Part) -> dict[str, Split]:
    """Return the roles of the images of one run in each setting."""
    data_set, run = part.identity["data_set"], part.identity["run"]
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
    options = {"size": SIZE, "download": parameters.download}
    train, test = (data.load(data_set, part, **options) for part in ("train", "test"))
    classes, seed = len(train.class_names), parameters.seed
    chosen = np.arange(classes)
    if setting == "open-set":
        chosen = draw_known(classes, parameters.known, run=run, seed=seed)
    numbering = np.full(classes + 1, -1)  # and one place for images without a label
    numbering[chosen] = np.arange(len(chosen))
    names = np.array(train.class_names)

    def relabelled(images: data.Images) -> data.Images:
        known_names = tuple(str(name) for name in names[chosen])
        return replace(images, labels=numbering[images.labels], class_names=known_names)

    seen = relabelled(train)
    seen = seen.subset(seen.labels >= 0)
    held = data.hold_out(seen.labels, parameters.calibration_share, run=run, seed=seed)
    return Split(
        known=seen.class_names,
        unknown=tuple(str(name) for name in np.delete(names, chosen)),
        train=seen.subset(~held),
        calibration=seen.subset(held),
        test=relabelled(test),
    )
