"""What the evaluation without labels is made of: detectors, and what is free to choose."""

from __future__ import annotations

from dataclasses import dataclass, field

from helpers.checks import known_name
from helpers.data.corruptions import NAMES, SEVERITIES

DETECTORS = {"msp": "MSP", "odin": "ODIN", "energy": "ENERGY", "max_logit": "MLS"}
"""The paper's four detectors by the names of their scores, and how they are called."""


@dataclass(frozen=True)
class Protocol:
    """What the suite and its evaluation are free to choose.

    Attributes
    ----------
    fold_share : float
        Share of the ID training images that is mixed with the sets which the regression learns
        from; the network never sees them.
    validation_images : int
        ID training images that one-sided density estimation learns from, likewise unseen.
    set_images : int
        Images of each set, at most.
    held_out : tuple of str
        Classes of the ID set that are left out of it, each a set of its own.
    meta_share : float
        Share of the sets that the regression learns from; the others test it.
    repeats : int
        Random divisions of the sets into these two.
    ratios : tuple of (int, int)
        Of ID to OOD images, as variants.
    sizes : tuple of int
        Images of a mixture, ID and OOD together, as variants.
    validations : tuple of int
        Validation images, as variants; at most `validation_images`.
    least_images : int
        Of ID, and of OOD images, where their numbers are drawn at random; fewer where a set has
        fewer.
    shifts : tuple of str
        Corruptions of the ID test images, as variants: ``NAME/SEVERITY``.
    level : float
        Share of the truths that the prediction intervals should hold.
    score_arguments : dict of str to dict of str to float
        Hyper-parameters of detectors, where they are not the defaults.
    seed : int
        Of the divisions, of what is drawn, and of the network.

    Raises
    ------
    ValueError
        A value out of range, or an unknown name.
    """

    fold_share: float = 0.2
    validation_images: int = 500
    set_images: int = 10_000
    held_out: tuple[str, ...] = ()
    meta_share: float = 0.75
    repeats: int = 5
    ratios: tuple[tuple[int, int], ...] = ()
    sizes: tuple[int, ...] = ()
    validations: tuple[int, ...] = ()
    least_images: int = 100
    shifts: tuple[str, ...] = ()
    level: float = 0.9
    score_arguments: dict[str, dict[str, float]] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self):
        for name in ("held_out", "sizes", "validations", "shifts"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "ratios", tuple(tuple(ratio) for ratio in self.ratios))
        for name in ("fold_share", "meta_share", "level"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name}: between 0 and 1 expected, got {getattr(self, name)}")
        for name, least in (
            ("validation_images", 2),
            ("set_images", 2),
            ("repeats", 1),
            ("least_images", 1),
            ("seed", 0),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: at least {least} expected, got {getattr(self, name)}")
        for ratio in self.ratios:
            if len(ratio) != 2 or min(ratio) < 1:
                raise ValueError(f"ratios: pairs of positive numbers expected, got {list(ratio)}")
        for size in self.sizes:
            if size < 4:
                raise ValueError(f"sizes: at least 4 images expected, got {size}")
        for count in self.validations:
            if not 2 <= count <= self.validation_images:
                raise ValueError(
                    f"validations: 2 to validation_images ({self.validation_images}) expected, "
                    f"got {count}"
                )
        for shift in self.shifts:
            kind, _, severity = shift.partition("/")
            known_name("corruption", kind, NAMES)
            known_name("severity of a shift", severity, [str(level) for level in SEVERITIES])
