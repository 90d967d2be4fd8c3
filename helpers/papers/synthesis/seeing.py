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
from helpers.networks.model import Model
from helpers.outputs import Outputs
from helpers.papers.synthesis.roles import Protocol, Roles
from helpers.papers.unknown_detection.experiment import sets_of

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

    Not without what it needs: the members, the native measure or a linear head; the level of the
    logits, which the logarithms of mean probabilities have not: of an ensemble and of MIMO the
    energy is 0 for every image, and the largest logit is the score ``msp``; the images, where
    dropout is at work.  Nor any but the native one from the algorithms in `BESIDE`.

    Parameters
    ----------
    name : str
        One of `helpers.scores.names`.
    model : Model
    outputs : Outputs
        Of some images.
    """
    if model.name in BESIDE and name != "native":
        return False
    has = {
        "members": outputs.members is not None,
        "native": outputs.native is not None,
        "head": model.head is not None,
        "level of the logits": outputs.members is None or model.passes > 0,
        "images": not model.passes,
        "one network": len(model.networks) == 1,
    }
    return all(has[one] for one in has.keys() & set(scores.create(name).info.needs))


def cost(score: scores.Score, found: Seen) -> int:
    """Return the passes that an image costs with a score; one backwards counts as one forwards."""
    again = "images" in score.info.needs
    return found.model.cost * (score.passes(found.outputs["test"].num_classes) if again else 1)


def scored(score: scores.Score, found: Seen) -> dict[str, np.ndarray]:
    """Fit a score that `applies` to the training images and apply it to all images.

    Returns
    -------
    dict of str to ndarray of float64
        By the names of `Seen.outputs`; higher = more likely known.
    """
    if score.info.fits:
        score.fit(found.outputs["train"], found.model.head)
    return {
        key: scores.score(score, found.model, found.images[key], outputs)
        for key, outputs in found.outputs.items()
    }


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
        offered = {"copies": protocol.tta_copies, "seed": protocol.seed}
        values = scored(scores.create(name, offered=offered, **arguments), found)
        held = np.sort(values["validation"])
        for test_set, numbers in chosen.items():
            outputs = found.outputs[test_set]
            ranks = np.searchsorted(held, values[test_set][list(numbers)], side="right")
            for place, rank in zip(numbers, ranks, strict=True):
                rows.append(
                    {
                        "test_set": test_set,
                        "place": place,
                        "algorithm": found.model.name,
                        "score": name,
                        "percentile": rank / len(held),
                        "predicted": int(outputs.predictions[place]),
                        "correct": bool(outputs.correct[place]),
                    }
                )
    return pd.DataFrame(rows)
