"""What a network and a detector say about mixtures, with labels and without."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from helpers import scores
from helpers.labelfree import (
    METRICS,
    TAUS,
    FeatureMoments,
    SortedScores,
    confidence_metrics,
    frechet_distance,
    gscores,
    true_metrics,
)
from helpers.metrics import aupr
from helpers.networks.model import Model
from helpers.papers.gscore.mixtures import drawn_sizes, in_ratio, places
from helpers.papers.gscore.protocol import Protocol
from helpers.papers.gscore.suite import Roles
from helpers.training.fitted import Fitted

PARTS = ("meta", "test")
"""ID images that a set is mixed with: those of the regression's sets, and those of its test."""

Places = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""By set, which of the ID and which of its own images make its mixture."""


@dataclass(frozen=True)
class Variant:
    """How mixtures are made, and what the evaluators are given.

    Attributes
    ----------
    name : str
    ratio : (int, int)
        Of ID to OOD images.
    size : int, optional
        Images of a mixture, at most.
    drawn : bool
        Whether the numbers of ID and OOD images are drawn at random instead, for each set anew.
    validation : int, optional
        Validation images; all of them if not given.
    shift : str
        The corruption under which the ID images of the test's mixtures are shown.
    """

    name: str = "primary"
    ratio: tuple[int, int] = (1, 1)
    size: int | None = None
    drawn: bool = False
    validation: int | None = None
    shift: str = ""


def variants(protocol: Protocol) -> list[Variant]:
    """Return the variants of a protocol, without the primary one.

    Examples
    --------
    >>> [one.name for one in variants(Protocol(ratios=[[1, 10]], sizes=[50]))]
    ['ratio 1:10', 'size 50', 'mixed']
    """
    return [
        *(Variant(f"ratio {a}:{b}", ratio=(a, b)) for a, b in protocol.ratios),
        *(Variant(f"size {size}", size=size) for size in protocol.sizes),
        *(Variant(f"validation {n}", validation=n) for n in protocol.validations),
        Variant("mixed", drawn=True),
        *(Variant(f"shift {shift}", shift=shift) for shift in protocol.shifts),
    ]


def mixed(roles: Roles, part: str, variant: Variant, protocol: Protocol) -> Places:
    """Choose the images of every set's mixture.

    Parameters
    ----------
    roles : Roles
    part : str
        One of `PARTS`.
    variant : Variant
    protocol : Protocol

    Returns
    -------
    dict of str to (ndarray of int64, ndarray of int64)
        Places of ID and of OOD images.
    """
    known, found = len(getattr(roles, part)), {}
    for name, images in roles.sets.items():
        if variant.drawn:
            own = [protocol.seed, PARTS.index(part), zlib.crc32(name.encode())]
            generator = np.random.default_rng(own)
            counts = drawn_sizes(known, len(images), protocol.least_images, generator)
        else:
            counts = in_ratio(known, len(images), variant.ratio, variant.size)
        found[name] = (
            places(f"ID for {name}", known, counts[0], protocol.seed),
            places(name, len(images), counts[1], protocol.seed),
        )
    return found


@dataclass(frozen=True)
class Scores:
    """What one detector says of the images of each role.

    Attributes
    ----------
    known : dict of str to ndarray of float64
        Of the ID images ``meta`` and ``test``, and of the latter by corruption.
    validation : ndarray of float64
    sets : dict of str to ndarray of float64
    """

    known: dict[str, np.ndarray]
    validation: np.ndarray
    sets: dict[str, np.ndarray]

    def mixtures(self, part: str, chosen: Places) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the scores of the ID and of the OOD images of each mixture."""
        for name, (known, unknown) in chosen.items():
            yield self.known[part][known], self.sets[name][unknown]


def scores_of(fitted: Fitted, roles: Roles, detector: str, protocol: Protocol) -> Scores:
    """Return the scores of a detector.

    Parameters
    ----------
    fitted : Fitted
    roles : Roles
    detector : str
        One of `helpers.scores.names` that asks for the outputs of one pass, or the images.
    protocol : Protocol

    Raises
    ------
    ValueError
        An unknown detector, or one that asks for more.
    """
    score = scores.create(detector, **protocol.score_arguments.get(detector, {}))
    more = {"members", "native"} & set(score.info.needs)
    if more:
        raise ValueError(
            f"detector '{detector}' needs {', '.join(sorted(more))}, but here there are outputs of "
            "one pass of a plain network; take another"
        )
    model = Model(detector, (fitted,))
    if score.info.fits:
        score.fit(model.outputs(roles.train), model.head)

    def of(images) -> np.ndarray:
        return scores.score(score, model, images)

    return Scores(
        {"meta": of(roles.meta), "test": of(roles.test)}
        | {name: of(images) for name, images in roles.shifted.items()},
        of(roles.validation),
        {name: of(images) for name, images in roles.sets.items()},
    )


@dataclass(frozen=True)
class Measured:
    """What is known of the mixtures of S sets, in the order of the sets.

    Attributes
    ----------
    images : ndarray of int64, shape [S]
        Of each mixture.
    truths : dict of str to ndarray of float64, shape [S]
        By metric: what labels say, see `truths_of`.
    gscores : dict of str to ndarray of float64, shape [S, T]
        By evaluator, at `helpers.labelfree.TAUS`; without labels.
    """

    images: np.ndarray
    truths: dict[str, np.ndarray]
    gscores: dict[str, np.ndarray]


def truths_of(found: Scores, part: str, chosen: Places) -> dict[str, np.ndarray]:
    """Return what labels say of each set, float64 [S] by metric.

    Of all ID images and all of the set's: how good a detector is there does not depend on which
    few of them a mixture has, and on few images it is not known.  With 25 images on each side
    even the FPR95 of the same detector, measured twice, agrees poorly with itself.  Only the AUPR
    is that of the mixture, since it depends on the ratio.

    Parameters
    ----------
    found : Scores
    part : str
        One of `PARTS`, or a corruption.
    chosen : mapping
        From `mixed`.
    """
    rows = [
        true_metrics(found.known[part], found.sets[name])
        | {"aupr": aupr(known, unknown, positive="known")}
        for name, (known, unknown) in zip(chosen, found.mixtures(part, chosen), strict=True)
    ]
    return {metric: np.array([one[metric] for one in rows]) for metric in METRICS}


def measured(
    found: Scores,
    part: str,
    chosen: Places,
    evaluators: Sequence[str],
    *,
    truths: Mapping[str, np.ndarray] | None = None,
    validation: int | None = None,
) -> Measured:
    """Evaluate every mixture without labels, beside what labels say.

    Parameters
    ----------
    found : Scores
    part : str
        One of `PARTS`, or a corruption.
    chosen : mapping
        From `mixed`.
    evaluators : sequence of str
        Of `helpers.labelfree.EVALUATORS`.
    truths : mapping, optional
        From `truths_of`, where another mixture of the same images has had them.
    validation : int, optional
        Take the first so many of the validation images only.
    """
    images, without = [], []
    for known, unknown in found.mixtures(part, chosen):
        together = SortedScores.of(np.concatenate([known, unknown]))
        images.append(len(together.values))
        without.append(
            gscores(together, evaluators, taus=TAUS, validation=found.validation[:validation])
        )
    return Measured(
        np.array(images),
        dict(truths or truths_of(found, part, chosen)),
        {name: np.array([one[name] for one in without]) for name in evaluators},
    )


def by_confidence(
    found: Scores, confidence: Scores, part: str, chosen: Places
) -> dict[str, np.ndarray]:
    """Return the metrics of each mixture with labels by confidence, float64 [S] by metric."""
    rows = [
        confidence_metrics(np.concatenate(sure), np.concatenate(one))
        for sure, one in zip(
            confidence.mixtures(part, chosen), found.mixtures(part, chosen), strict=True
        )
    ]
    return {metric: np.array([row[metric] for row in rows]) for metric in METRICS}


def distances(fitted: Fitted, roles: Roles, part: str, chosen: Places) -> np.ndarray:
    """Return how far the features of each mixture lie from those of the training images, [S].

    The Fréchet distance of automatic evaluation (Deng and Zheng 2021), which needs no detector.
    """
    known = fitted.outputs(getattr(roles, part)).features
    train = FeatureMoments.of(fitted.outputs(roles.train).features)
    return np.array(
        [
            frechet_distance(
                train,
                np.concatenate([known[own], fitted.outputs(roles.sets[name]).features[others]]),
            )
            for name, (own, others) in chosen.items()
        ]
    )
