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

from importlib import import_module
from pkgutil import iter_modules

from helpers.checks import known_arguments, known_name
from helpers.training.objectives.erm import ERM, Batch

__all__ = ["ERM", "Batch", "create", "names"]


def names() -> list[str]:
    """Return the names of all objectives, those of the folder's files, in alphabetical order."""
    return sorted(one.name for one in iter_modules(__path__))


def create(name: str, **arguments) -> ERM:
    """Return a new objective.

    Parameters
    ----------
    name : str
        One of `names`.
    **arguments
        The objective's own.
    """
    module = import_module(f"{__name__}.{known_name('objective', name, names())}")
    kinds = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, ERM)]
    objective = next(one for one in kinds if one.__module__ == module.__name__)
    known_arguments(f"objective '{name}'", objective, arguments)
    return objective(**arguments)
