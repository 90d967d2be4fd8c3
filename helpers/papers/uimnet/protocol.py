"""What the test-bed is made of: algorithms, measures, and what is free to choose."""

from __future__ import annotations

from dataclasses import dataclass

from helpers.checks import known_name

ALGORITHMS = {
    "erm": "ERM",
    "mixup": "Mixup",
    "rnd": "RND",
    "oc": "OC",
    "mc_dropout": "MC-Dropout",
    "mimo": "MIMO",
    "rbf": "RBF",
    "soft_labels": "Soft labeler",
}
"""The paper's eight algorithms, and how they are called."""

MEASURES = {
    "msp": "Largest",
    "gap": "Gap",
    "entropy": "Entropy",
    "jacobian": "Jacobian",
    "gmm": "GMM",
    "tta": "Augmentations",
    "native": "Native",
}
"""The paper's measures by the names of their scores, and how they are called."""

_WITH_NATIVE = ("mixup", "rnd", "oc", "soft_labels")


def score_of(measure: str, algorithm: str, *, ensemble: bool = False) -> str | None:
    """Return the name of the score that a measure is, for networks of an algorithm.

    They differ for Native alone: of an ensemble, and of MC-Dropout, it is the Jensen-Shannon
    divergence, and some algorithms have none.

    Parameters
    ----------
    measure : str
        One of `MEASURES`.
    algorithm : str
        One of `ALGORITHMS`.
    ensemble : bool
        Whether several networks answer together.

    Returns
    -------
    str or None
        One of `helpers.scores.names`; None where there is no such measure.

    Raises
    ------
    ValueError
        Unknown `measure` or `algorithm`.

    Examples
    --------
    >>> score_of("native", "erm"), score_of("native", "erm", ensemble=True)
    (None, 'jsd')
    >>> score_of("native", "rnd"), score_of("gap", "rnd")
    ('native', 'gap')
    """
    known_name("measure", measure, MEASURES)
    known_name("algorithm", algorithm, ALGORITHMS)
    if measure != "native":
        return measure
    if ensemble or algorithm == "mc_dropout":
        return "jsd"
    return "native" if algorithm in _WITH_NATIVE else None


@dataclass(frozen=True)
class Protocol:
    """What the test-bed and its evaluation are free to choose.

    Attributes
    ----------
    validation_share : float
        Share of the in-domain training images that is held out.
    most_classes : int
        In-domain classes, and out-domain classes, at most; 0 takes all.
    side : int
        Pixels that the sides of images are brought to, of sets that fit in memory; 0 leaves them.
    trials : int
        Draws of hyper-parameters, the defaults among them; the networks of an ensemble.
    passes : int
        Of MC-Dropout.
    tta_copies : int
        Augmented copies of an image.
    jacobian_images : int
        Images of each set that Jacobians are computed of, at most, spread over the set.
    keep : float
        The threshold keeps this share of the in-domain validation images.
    bins : int
        Of the ECE.
    replicates : int
        Bootstrap replicates over the test images.
    seed : int
        Of the splits, the draws, the networks and the bootstrap.

    Raises
    ------
    ValueError
        A value out of range.
    """

    validation_share: float = 0.1
    most_classes: int = 0
    side: int = 0
    trials: int = 5
    passes: int = 10
    tta_copies: int = 10
    jacobian_images: int = 1000
    keep: float = 0.95
    bins: int = 15
    replicates: int = 200
    seed: int = 0

    def __post_init__(self):
        for name in ("validation_share", "keep"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name}: between 0 and 1 expected, got {getattr(self, name)}")
        for name, least in (
            ("trials", 1),
            ("passes", 1),
            ("tta_copies", 1),
            ("jacobian_images", 2),
            ("bins", 1),
            ("replicates", 1),
            ("seed", 0),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: at least {least} expected, got {getattr(self, name)}")
        for name, least in (("most_classes", 2), ("side", 8)):
            if getattr(self, name) and getattr(self, name) < least:
                value = getattr(self, name)
                raise ValueError(f"{name}: 0 or at least {least} expected, got {value}")
