"""Roles of classes and images in *Evaluating Uncertainty Calibration for Open-Set Recognition*.

Lyu, Gutierrez and Beksi (2022): six classes drawn at random are known, the others unknown;
nine tenths of the known training images train, one tenth fits the temperature; the test
set has all classes.  The closed set is the ordinary problem with the same shares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from helpers import data
from helpers.checks import known_name
from helpers.data import Images, hold_out

if TYPE_CHECKING:
    from helpers.papers.openset_calibration.parameters import Parameters
    from helpers.papers.run import Part

SETTINGS = ("closed-set", "open-set")
SIZE = 32
"""Pixels: what the networks are made for; images of another size are brought to it."""


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


def roles(parameters: Parameters, part: Part) -> dict[str, Split]:
    """Return the roles of the images of one run in each of the settings."""
    data_set, run = part.identity["data_set"], part.identity["run"]
    found = {setting: split(parameters, data_set, setting, run) for setting in SETTINGS}
    return parameters.seen_by(part.identity["backbone"], found)


def split(parameters: Parameters, data_set: str, setting: str, run: int) -> Split:
    """Load a data set and give each image its role in a run.

    Parameters
    ----------
    parameters : Parameters
    data_set : str
        One of `helpers.data.names` with the splits ``train`` and ``test``.
    setting : str
        ``closed-set`` (all classes are known) or ``open-set``.
    run : int
        Decides, with the seed, the known classes and the images held out for calibration.

    Examples
    --------
    >>> from helpers.papers.parameters import load
    >>> one = split(load("openset_calibration", "mini"), "cifar10_mini", "open-set", run=0)
    >>> one.known
    ('bird', 'cat', 'deer', 'dog', 'frog', 'horse')
    >>> len(one.train), len(one.calibration), len(one.test)
    (1620, 180, 1000)
    """
    known_name("setting", setting, SETTINGS)
    options = {"size": SIZE, "download": parameters.download}
    train, test = (data.load(data_set, part, **options) for part in ("train", "test"))
    classes, seed = len(train.class_names), parameters.seed
    chosen = np.arange(classes)
    if setting == "open-set":
        chosen = draw_known(classes, parameters.known, run=run, seed=seed)
    numbering = np.full(classes + 1, -1)  # one place more, for images that have no label at all
    numbering[chosen] = np.arange(len(chosen))
    names = np.array(train.class_names)

    def relabelled(images: Images) -> Images:
        known_names = tuple(str(name) for name in names[chosen])
        return replace(images, labels=numbering[images.labels], class_names=known_names)

    seen = relabelled(train)
    seen = seen.subset(seen.labels >= 0)
    held = hold_out(seen.labels, parameters.calibration_share, run=run, seed=seed)
    return Split(
        known=seen.class_names,
        unknown=tuple(str(name) for name in np.delete(names, chosen)),
        train=seen.subset(~held),
        calibration=seen.subset(held),
        test=relabelled(test),
    )
