"""How much better predictions are than a constant."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from helpers.checks import float_array, open_share
from helpers.metrics import resample_weights

_REPLICATES = 1000


class Estimate(NamedTuple):
    """An estimate and the ends of its interval, all in the metric's range."""

    value: float
    low: float
    high: float


def skill(predicted, truths, learnt, *, level: float = 0.95) -> Estimate:
    r"""Return the skill of predictions, with an interval.

    .. math:: 1 - \frac{\sum_i (\hat y_i - y_i)^2}{\sum_i (\bar y - y_i)^2}

    with the mean :math:`\bar y` of the metric on the meta sets, the constant that is best for them.

    Examples
    --------
    >>> round(skill([0.6, 0.7, 0.9], [0.6, 0.7, 0.8], [0.7]).value, 6)
    0.5
    """
    open_share("level", level)
    truths = float_array("truths", truths)
    predicted = float_array("predicted", predicted, length=len(truths))
    if len(truths) < 3:
        raise ValueError(f"truths: at least 3 test sets expected, got {len(truths)}")
    errors = (predicted - truths) ** 2
    guessed = (float_array("learnt", learnt).mean() - truths) ** 2
    if not guessed.any():
        raise ValueError(
            "truths: the same for all test sets as the mean of the meta sets; there is nothing to "
            "be better at than guessing"
        )
    return skill_of_errors(errors, guessed, level=level)


def skill_of_errors(errors, guessed, *, level: float = 0.95) -> Estimate:
    """Return the skill of predictions from their squared errors, a number for each test set.

    Where a set is predicted several times, in several divisions of the sets or by several networks,
    its errors are added up first: what is resampled is sets.

    Examples
    --------
    >>> round(skill_of_errors([0.0, 0.0, 0.01], [0.01, 0.0, 0.01]).value, 6)
    0.5
    """
    open_share("level", level)
    errors = float_array("errors", errors)
    guessed = float_array("guessed", guessed, length=len(errors))
    if len(errors) < 3:
        raise ValueError(f"errors: those of at least 3 sets expected, got {len(errors)}")
    if not guessed.any():
        raise ValueError("guessed: the constant has no error; there is nothing to be better at")
    weights = _weights(len(errors))
    with np.errstate(divide="ignore", invalid="ignore"):
        replicates = 1 - (weights @ errors) / (weights @ guessed)
    # where a replicate draws only sets that the constant hits, nothing can be said against it
    replicates[np.isnan(replicates)] = 0.0
    tail = (1 - level) / 2
    low, high = np.quantile(replicates, [tail, 1 - tail], method="inverted_cdf")
    return Estimate(float(1 - errors.sum() / guessed.sum()), float(low), float(high))


@lru_cache(maxsize=4)  # tables ask of the same sets again and again
def _weights(sets: int) -> np.ndarray:
    return resample_weights(sets, replicates=_REPLICATES, seed=0).astype(float)


def describe_skill(found: Estimate) -> str:
    """Return in words whether a skill is one.

    Examples
    --------
    >>> describe_skill(Estimate(0.2, -0.1, 0.4))
    'no better than guessing'
    """
    if found.low > 0:
        return "better than guessing"
    return "worse than guessing" if found.high < 0 else "no better than guessing"
