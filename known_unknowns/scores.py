"""Names for a file with your score: `score` for a function, else `BlockwiseScore` and `register`.

>>> def gap(logits):
...     "The largest logit minus the mean."
...     return logits.max(axis=1) - logits.mean(axis=1)
>>> of_function(gap)().score_samples(Outputs(np.eye(2), np.empty((2, 0)), np.zeros(2, int)))
array([0.5, 0.5])

`known-unknowns bench my_score.py` compares such a score with the scores of the project.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import TypeGuard

import numpy as np

from helpers.outputs import Outputs
from helpers.scores import create
from helpers.scores.base import BlockwiseScore, register
from helpers.scores.calibration import fit_temperature, softmax
from helpers.scores.info import Info

__all__ = [
    "BlockwiseScore",
    "Info",
    "Outputs",
    "create",
    "fit_temperature",
    "of_function",
    "register",
    "score",
    "softmax",
]

#: Names of the arguments of a function that is a score.
ARGUMENTS = ("logits", "features")
LEVEL = "level of the logits"


class FunctionScore(BlockwiseScore):
    """A score that is a function of logits, of features, or of both; see `of_function`."""

    function: Callable[..., np.ndarray]

    def _scores(self, block: Outputs) -> np.ndarray:
        """Return the values of the function for a block of images."""
        arrays = {name: getattr(block, name) for name in self.info.needs if name in ARGUMENTS}
        return np.asarray(self.function(**arrays), dtype=np.float64)


def is_score(function: object) -> TypeGuard[Callable[..., np.ndarray]]:
    """Return whether a function needs arguments called ``logits`` and ``features``, or one of them.

    >>> is_score(lambda logits: 0), is_score(lambda: 0)
    (True, False)
    """
    if not inspect.isfunction(function):
        return False
    needed = [
        name
        for name, argument in inspect.signature(function).parameters.items()
        if argument.default is argument.empty
    ]
    return bool(needed) and {*needed} <= {*ARGUMENTS}


def of_function(function: Callable[..., np.ndarray]) -> type[FunctionScore]:
    """Return the class of a score that is a function; its name is the function's name.

    Parameters
    ----------
    function : callable
        Function of the arrays ``logits`` [N, K] and ``features`` [N, D], or of one of them, by
        these names, that returns one number for each image, higher = more likely known.

    Raises
    ------
    TypeError
        Arguments with other names.
    """
    if not is_score(function):
        raise TypeError(f"score: a function of logits or features expected, got {function!r}")
    taken = inspect.signature(function).parameters
    needs = tuple(name for name in ARGUMENTS if name in taken)
    if _depends_on_level(function, needs):
        needs = (*needs, LEVEL)
    name = function.__name__
    summary = (inspect.getdoc(function) or "").partition("\n")[0]
    info = Info(
        name=name,
        title=name,
        paper="",
        key="",
        equation="",
        needs=needs,
        summary=summary,
    )
    return type(name, (FunctionScore,), {"function": staticmethod(function), "info": info})


def _depends_on_level(function: Callable[..., np.ndarray], needs: Collection[str]) -> bool:
    """Return whether a number that is added to all logits of an image changes its score."""
    generator = np.random.default_rng(0)
    made_up = {name: generator.normal(size=(8, 20)) for name in needs}
    if "logits" not in made_up:
        return False
    try:
        before = function(**made_up)
        made_up["logits"] = made_up["logits"] + 3
        return not np.allclose(before, function(**made_up))
    except (IndexError, ValueError):  # it expects a certain number of classes or features
        return False


def score(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Register a function as a score (a decorator); see `of_function`."""
    register(of_function(function))
    return function
