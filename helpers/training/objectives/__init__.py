"""Objectives of training: one small class per algorithm, one file each.

A recipe names its objective (`Recipe.objective`); each training creates a new object.  No
objective contains a penalty on the size of weights: the optimiser applies weight decay to every
parameter.  In the code of Belghazi and Lopez-Paz 2021 the penalty is part of the loss, applies
only to the weights of layers, and is twice as strong for an equal number.

Examples
--------
>>> names()
('adversarial', 'augmix', 'autoaugment', 'crl', 'distillation', 'edl', 'erm', 'mimo', 'mixup', \
'noise', 'oc', 'outlier_exposure', 'rbf', 'rnd', 'soft_labels', 'stylised')
>>> create("outlier_exposure", weight=0.5).needs_outliers
True
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from helpers.checks import known_arguments, known_name
from helpers.training.objectives.erm import ERM, Batch

__all__ = ["ERM", "Batch", "create", "names"]


@cache  # a check of parameters makes thousands of objectives
def names() -> tuple[str, ...]:
    """Return the names of all objectives, from the files of the folder, in alphabetical order."""
    return tuple(sorted(module.name for module in iter_modules(__path__)))


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
    kinds = [cls for cls in vars(module).values() if isinstance(cls, type) and issubclass(cls, ERM)]
    objective = next(cls for cls in kinds if cls.__module__ == module.__name__)
    known_arguments(f"objective '{name}'", objective, arguments)
    return objective(**arguments)
