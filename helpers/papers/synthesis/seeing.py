"""What a model and a score say about the images of each role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from helpers import scores
from helpers.checks import known_name
from helpers.data import Images, ImageStream
from helpers.outputs import Outputs
from helpers.papers.synthesis.networks import Model
from helpers.papers.synthesis.roles import Protocol, Roles
from helpers.papers.uimnet.measuring import OF_IMAGES, of_images
from helpers.papers.unknown_detection.experiment import sets_of
from helpers.papers.unknown_detection.selection import odin_logits
from helpers.scores.calibration import softmax

OF_FREE_LOGITS = ("energy", "max_logit", "nnguide", "openmax")
"""Scores for which a number added to all logits makes a difference.

Of the logarithm of mean probabilities, which is what an ensemble and MIMO have for logits, the
energy is 0 for every image, and the largest one is the score ``msp``.
"""


BESIDE = ("rnd", "oc")
"""Algorithms that learn beside the baseline's classifier, from its seeds.

All but the native measure would be the baseline's numbers a second time, and would count as much
as another algorithm's in what is said of all of them.
"""


@dataclass(frozen=True)
class Seen:
    """The images of each role, and what a model says about them.

    Attributes
    ----------
    model : Model
    images, outputs : dict of str to Images and to Outputs
        By name: ``train``, ``validation``, ``external_validation``, ``test``, ``near``, and each
        set of `far` and of `families`.
    far, families : tuple of str
    """

    model: Model
    images: dict[str, Images | ImageStream]
    outputs: dict[str, Outputs]
    far: tuple[str, ...]
    families: tuple[str, ...]

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of all sets of unknown images that are tested."""
        return ("near", *self.far)

    @cached_property
    def correct(self) -> dict[str, np.ndarray]:
        """Which images of each test set are classified correctly, bool."""
        return {name: self.outputs[name].correct for name in ("test", *self.unknown)}


def seen(model: Model, roles: Roles, families: Mapping[str, Images]) -> Seen:
    """Show every image to a model once; what it has seen before comes from the cache."""
    tested = sets_of(roles)
    images = {name: getattr(roles, name) for name in ("train", "validation")}
    images["external_validation"] = roles.external_validation
    images |= {name: tested[name] for name in ("test", "near", *roles.far)} | families
    outputs = {name: model.outputs(one) for name, one in images.items()}
    return Seen(model, images, outputs, tuple(roles.far), tuple(families))


def applies(name: str, model: Model, outputs: Outputs) -> bool:
    """Tell whether a score can be had from a model, and says something of its own there.

    Not without the members, the native measure or the linear head that it needs; nor those of
    `OF_FREE_LOGITS` from mean probabilities; nor those that show images again to a network with
    dropout at work, or, for ODIN, to several networks; nor any but the native one from the
    algorithms in `BESIDE`.

    Parameters
    ----------
    name : str
        One of `helpers.scores.names`.
    model : Model
    outputs : Outputs
        Of some images.
    """
    if model.algorithm in BESIDE and name != "native":
        return False
    needs = set(scores.create(name).info.needs)
    if "images" in needs:
        return not model.passes and (name in OF_IMAGES or len(model.networks) == 1)
    has = {
        "members": outputs.members is not None,
        "native": outputs.native is not None,
        "head": model.head is not None,
    }
    averaged = outputs.members is not None and not model.passes
    return all(has[one] for one in has.keys() & needs) and not (averaged and name in OF_FREE_LOGITS)


def cost(name: str, model: Model, protocol: Protocol) -> int:
    """Return the passes that an image costs with a score; one backwards counts as one forwards."""
    classes = model.networks[0].num_classes
    again = {"odin": 3, "tta": protocol.tta_copies, "jacobian": classes}  # K − 1 gradients
    return model.cost * again.get(name, 1)


def scored(
    name: str, found: Seen, protocol: Protocol, arguments: Mapping[str, float]
) -> dict[str, np.ndarray]:
    """Fit a score to the training images and apply it to all images.

    Parameters
    ----------
    name : str
        Of a score that `applies`.
    found : Seen
    protocol : Protocol
    arguments : mapping of str to float
        The score's own.

    Returns
    -------
    dict of str to ndarray of float64
        By the names of `Seen.outputs`; higher = more likely known.
    """
    networks = found.model.networks
    score = scores.create(name, **arguments)
    if name in OF_IMAGES:
        return {
            key: of_images(name, networks, one, [1.0], protocol)[0]
            for key, one in found.images.items()
        }
    if name == "odin" and score.epsilon:
        at = score.temperature
        return {
            key: softmax(odin_logits(networks[0], one, at, [score.epsilon])[0], at).max(axis=1)
            for key, one in found.images.items()
        }
    score.fit(found.outputs["train"], found.model.head)
    return {key: score.score_samples(one) for key, one in found.outputs.items()}


def percentiles(
    found: Seen,
    detectors: Mapping[str, Mapping],
    chosen: Mapping[str, Sequence[int]],
    protocol: Protocol,
) -> pd.DataFrame:
    """Return what a model says of single test images, by every score that applies to it.

    Parameters
    ----------
    found : Seen
    detectors : mapping of str to mapping
        Scores, and the arguments of each that are not its defaults.
    chosen : mapping of str to sequence of int
        By test set, which of its images.
    protocol : Protocol

    Returns
    -------
    DataFrame
        One row per image and score: ``test_set``, ``place``, ``algorithm``, ``score``,
        ``percentile`` (the share of the ID validation images whose score is not higher, in
        [0, 1]: low = more likely unknown), ``predicted`` (the number of the class that the model
        takes it for) and ``correct``.

    Raises
    ------
    ValueError
        An unknown test set.
    """
    for test_set in chosen:
        known_name("test set", test_set, found.correct)
    rows = []
    for name, arguments in detectors.items():
        if not applies(name, found.model, found.outputs["test"]):
            continue
        values = scored(name, found, protocol, arguments)
        held = np.sort(values["validation"])
        for test_set, numbers in chosen.items():
            outputs = found.outputs[test_set]
            ranks = np.searchsorted(held, values[test_set][list(numbers)], side="right")
            for place, rank in zip(numbers, ranks, strict=True):
                rows.append(
                    {
                        "test_set": test_set,
                        "place": place,
                        "algorithm": found.model.algorithm,
                        "score": name,
                        "percentile": rank / len(held),
                        "predicted": int(outputs.predictions[place]),
                        "correct": bool(outputs.correct[place]),
                    }
                )
    return pd.DataFrame(rows)
