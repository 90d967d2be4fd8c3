"""What training minimises: one small class per algorithm, one file each.

An objective is named by a recipe (`Recipe.objective`) and made anew for each training.

Examples
--------
>>> names()
['adversarial', 'augmix', 'autoaugment', 'crl', 'distillation', 'edl', 'erm', 'noise', \
'outlier_exposure', 'stylised']
>>> create("outlier_exposure", weight=0.5).needs_outliers
True
"""

from __future__ import annotations

from helpers.checks import known_arguments, known_name
from helpers.training.objectives.adversarial import AdversarialTraining
from helpers.training.objectives.augmix import AugMix
from helpers.training.objectives.autoaugment import AutoAugment
from helpers.training.objectives.base import ERM, Batch
from helpers.training.objectives.crl import CRL
from helpers.training.objectives.distillation import Distillation
from helpers.training.objectives.edl import EDL
from helpers.training.objectives.noise import NoiseTraining
from helpers.training.objectives.outlier_exposure import OutlierExposure
from helpers.training.objectives.stylised import Stylised

__all__ = ["ERM", "Batch", "create", "names"]

_OBJECTIVES = {
    "adversarial": AdversarialTraining,
    "augmix": AugMix,
    "autoaugment": AutoAugment,
    "crl": CRL,
    "distillation": Distillation,
    "edl": EDL,
    "erm": ERM,
    "noise": NoiseTraining,
    "outlier_exposure": OutlierExposure,
    "stylised": Stylised,
}


def names() -> list[str]:
    """Return the names of all objectives, in alphabetical order."""
    return sorted(_OBJECTIVES)


def create(name: str, **arguments) -> ERM:
    """Return a new objective.

    Parameters
    ----------
    name : str
        One of `names`.
    **arguments
        The objective's own.

    Raises
    ------
    ValueError
        There is no such objective, or it has no such argument; says which is nearest.
    """
    objective = _OBJECTIVES[known_name("objective", name, _OBJECTIVES)]
    known_arguments(f"objective '{name}'", objective, arguments)
    return objective(**arguments)
