"""Regressions over the sets: learnt from some, tested on the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.labelfree import TAUS, fit_regression
from helpers.metrics.correlation import pearson
from helpers.papers.gscore.measuring import Measured
from helpers.papers.gscore.protocol import Protocol


def divided(sets: int, run: int, protocol: Protocol) -> tuple[np.ndarray, np.ndarray]:
    """Divide the sets at random into those that a regression learns from and those that test it.

    Parameters
    ----------
    sets : int
        How many there are.
    run : int
        The repeat.
    protocol : Protocol

    Returns
    -------
    learnt, tested : ndarray of int64
        Numbers of the sets, ascending.

    Raises
    ------
    ValueError
        Too few sets for one of the two.

    Examples
    --------
    >>> [len(part) for part in divided(60, 0, Protocol())]
    [45, 15]
    """
    count = round(protocol.meta_share * sets)
    if not 3 <= count < sets:
        raise ValueError(
            f"sets: {sets} give {count} to learn from and {sets - count} to test; name more sets, "
            "so that there are 3 and 1 at least"
        )
    order = np.random.default_rng([protocol.seed, run]).permutation(sets)
    return np.sort(order[:count]), np.sort(order[count:])


def tau_of(measured: Measured, evaluator: str, learnt: np.ndarray) -> int:
    """Return which of `helpers.labelfree.TAUS` serves an evaluator best, to predict the FPR95.

    It is found with one detector, and kept for the others and for all metrics, as in the paper.

    Parameters
    ----------
    measured : Measured
    evaluator : str
    learnt : ndarray of int64
        Sets to learn from.
    """
    found = measured.gscores[evaluator][learnt]
    if not np.ptp(found, axis=0).any() or found.shape[1] == 1:
        return 0  # no threshold to choose, or no line at any, which the regression says
    tau = fit_regression(found, measured.truths["fpr95"][learnt], TAUS).tau
    return int(np.abs(TAUS - tau).argmin())


@dataclass(frozen=True)
class Regressed:
    """One regression and its test.

    Attributes
    ----------
    pearson, spearman : float or None
        Correlations of Gscore and metric over the sets that it was learnt from; None where the
        metric is the same on all of them.
    truths, predicted, lower, upper : ndarray of float64, shape [test sets]
        The metric, what is predicted, and the ends of the prediction intervals.
    """

    pearson: float | None
    spearman: float | None
    truths: np.ndarray
    predicted: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def numbers(self) -> dict[str, float]:
        """What a results table holds of it, by name."""
        found = {
            "rmse": float(np.sqrt(np.mean((self.predicted - self.truths) ** 2))),
            "pearson": self.pearson,
            "spearman": self.spearman,
            "coverage": float(np.mean((self.lower <= self.truths) & (self.truths <= self.upper))),
            "width": float(np.mean(self.upper - self.lower)),
        }
        return {name: value for name, value in found.items() if value is not None}


def regressed(
    meta: Measured,
    test: Measured,
    evaluator: str,
    metric: str,
    place: int,
    division: tuple[np.ndarray, np.ndarray],
    level: float,
) -> Regressed:
    """Learn one regression and test it.

    Parameters
    ----------
    meta, test : Measured
        Of the same sets, mixed with the ID images of each part.
    evaluator, metric : str
    place : int
        Which of the thresholds, from `tau_of`.
    division : (ndarray, ndarray)
        From `divided`.
    level : float
        Of the prediction intervals.

    Raises
    ------
    ValueError
        As `helpers.labelfree.fit_regression`: the same Gscore for all sets, or too few of them.
    """
    from scipy.stats import rankdata  # here, since it takes long to import

    learnt, tested = division
    own, truths = meta.gscores[evaluator][learnt, place], meta.truths[metric][learnt]
    line = fit_regression(own[:, None], truths, TAUS[[place]])
    unseen = test.gscores[evaluator][tested, place]
    lower, upper = line.interval(unseen, level)
    return Regressed(
        correlation(own, truths),
        correlation(rankdata(own), rankdata(truths)),
        test.truths[metric][tested],
        line.predict(unseen),
        lower,
        upper,
    )


def correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    """Return Pearson's correlation; None where one of the two does not vary.

    Examples
    --------
    >>> correlation(np.array([1, 2, 3]), np.array([2, 4, 6])), correlation(np.ones(3), np.ones(3))
    (1.0, None)
    """
    found = float(pearson(first, second))
    return None if np.isnan(found) else found
