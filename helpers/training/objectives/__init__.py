"""What training minimises: one small class per algorithm, one file each.

An objective is named by a recipe (`Recipe.objective`) and made anew for each training.  None
of them counts the size of the weights: their decay is the optimiser's, on every parameter.  The
code of Belghazi and Lopez-Paz 2021 has it in the loss instead, of the weights of layers alone and
at twice the strength for the same number.

Examples
--------
>>> names()
['adversarial', 'augmix', 'autoaugment', 'crl', 'distillation', 'edl', 'erm', 'mimo', 'mixup', \
'noise', 'oc', 'outlier_exposure', 'rbf', 'rnd', 'soft_labels', 'stylised']
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
from helpers.training.objectives.mimo import MIMO
from helpers.training.objectives.mixup import Mixup
from helpers.training.objectives.noise import NoiseTraining
from helpers.training.objectives.oc import OC
from helpers.training.objectives.outlier_exposure import OutlierExposure
from helpers.training.objectives.rbf import RBF
from helpers.training.objectives.rnd import RND
from helpers.training.objectives.soft_labels import SoftLabels
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
    "mimo": MIMO,
    "mixup": Mixup,
    "noise": NoiseTraining,
    "oc": OC,
    "outlier_exposure": OutlierExposure,
    "rbf": RBF,
    "rnd": RND,
    "soft_labels": SoftLabels,
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
