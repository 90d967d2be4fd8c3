"""What a score is, and the registry in which scores are looked up by name."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Protocol

import numpy as np

from helpers.checks import known_name
from helpers.info import Info

if TYPE_CHECKING:
    from helpers.outputs import Head, Outputs

_REGISTRY: dict[str, type[Score]] = {}


class Score(Protocol):
    """One number per image, higher = more likely known, whatever the sign in its paper.

    Attributes
    ----------
    info : Info
        Name, source, equation and needs.
    """

    info: Info

    def fit(self, train_outputs: Outputs, head: Head) -> Score:
        """Learn from the outputs of the training images, and return itself.

        A no-op for a score that fits nothing.
        """

    def score_samples(self, outputs: Outputs) -> np.ndarray:
        """Return float64 [N]; the score of a batch is the scores of its images one by one."""


def register(score: type[Score]) -> type[Score]:
    """Make a score available to `create`, under the name in its `info` (a class decorator).

    Raises
    ------
    ValueError
        The name is taken.
    """
    name = score.info.name
    if name in _REGISTRY:
        raise ValueError(f"score '{name}' is registered already, by {_REGISTRY[name].__name__}")
    _REGISTRY[name] = score
    return score


def names() -> list[str]:
    """Return the names of all scores, in alphabetical order."""
    return sorted(_REGISTRY)


def create(name: str, **arguments) -> Score:
    """Return a new score.

    Parameters
    ----------
    name : str
        One of `names`.
    **arguments
        The score's own, see its ``info.hyper_parameters``.

    Raises
    ------
    ValueError
        There is no such score, or it has no such argument; says which is nearest.

    Examples
    --------
    >>> create("openmax", tial=10)
    Traceback (most recent call last):
        ...
    ValueError: unknown argument of score 'openmax' 'tial'; did you mean 'tail'? There are: alpha, \
distance, tail
    """
    score = _REGISTRY[known_name("score", name, _REGISTRY)]
    parameters = inspect.signature(score).parameters
    for argument in arguments:
        if not parameters:
            raise ValueError(f"score '{name}' has no arguments, got '{argument}'")
        known_name(f"argument of score '{name}'", argument, parameters)
    return score(**arguments)
