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


def rowwise_product(rows: np.ndarray, matrix: np.ndarray, *, block: int = 256) -> np.ndarray:
    """Return ``rows @ matrix``, each row the same to the last bit whatever rows are beside it.

    A library for linear algebra orders its sums by the shape of the product, so the product of a
    batch and that of one of its rows differ by a rounding error.  Here all products have the
    same shape: blocks of rows, the last one filled up.

    Parameters
    ----------
    rows : ndarray, shape [N, D]
    matrix : ndarray, shape [D, M]
    block : int
        Rows of a product.

    Examples
    --------
    >>> rows, matrix = np.random.default_rng(0).normal(size=(2, 300, 300))
    >>> bool((rowwise_product(rows, matrix)[7] == rowwise_product(rows[7:8], matrix)[0]).all())
    True
    """
    found = np.empty((len(rows), matrix.shape[1]), np.result_type(rows, matrix))
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        filled = np.zeros((block, rows.shape[1]), part.dtype)
        filled[: len(part)] = part
        found[start : start + block] = (filled @ matrix)[: len(part)]
    return found
