"""The line from Gscores to a metric, fitted to mixtures whose metric is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.checks import float_array, open_share
from helpers.labelfree.parts import tau_array

_COARSE = 0.1


@dataclass(frozen=True)
class Regression:
    """A line from the Gscore of a mixture to a metric of the detector on it.

    Attributes
    ----------
    slope, intercept : float
        Of the line.
    tau : float
        The threshold that the Gscores were taken at; of an evaluator without one, the first.
    gscores, residuals : ndarray of float64, shape [S]
        Of the meta-training sets: their Gscores at `tau`, and their metric less what the line
        says.
    """

    slope: float
    intercept: float
    tau: float
    gscores: np.ndarray
    residuals: np.ndarray

    def predict(self, gscores) -> np.ndarray:
        """Return what the line says of mixtures, which may leave [0, 1].

        Examples
        --------
        >>> line = fit_regression([[1.0], [2.0], [3.0]], [0.5, 0.7, 0.9], [0.5])
        >>> line.predict([1.5, 4.0]).round(3)
        array([0.6, 1.1])
        """
        return self.intercept + self.slope * float_array("gscores", gscores)

    def interval(
        self, gscores, level: float = 0.9, *, redrawn: tuple | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        r"""Return intervals that the metric of new mixtures lies in, by the jackknife+.

        Each meta-training set i is left out in turn: the line without it misses its metric by
        :math:`r_i`, and says :math:`\hat p_{-i}` of the new mixture.  The ends are the
        :math:`\lceil \gamma (S + 1) \rceil`-th smallest :math:`\hat p_{-i} + r_i`, and the
        as-many-th largest :math:`\hat p_{-i} - r_i`, for the level γ.

        Examples
        --------
        >>> x = np.arange(9.0)
        >>> line = fit_regression(x[:, None], 0.5 + 0.01 * (-1) ** x, [0.5])
        >>> low, high = line.interval([4.0])
        >>> low.round(3), high.round(3)
        (array([0.485]), array([0.518]))
        """
        open_share("level", level)
        rank, sets = int(np.ceil(np.round(level * (len(self.gscores) + 1), 9))), len(self.gscores)
        if sets < (needed := fewest_sets(level)):
            raise ValueError(
                f"level: an interval of {level:g} needs at least {needed} meta-training sets, got "
                f"{sets}; lower the level or add sets"
            )
        gscores = float_array("gscores", gscores)
        centred = self.gscores - self.gscores.mean()
        spread = centred @ centred
        leverages = 1 / sets + centred**2 / spread
        if leverages.max() > 1 - 1e-9:
            raise ValueError(
                "gscores: all meta-training sets but one have the same Gscore, and without that "
                "one there is no line; add sets"
            )
        left_out = self.residuals / (1 - leverages)
        # what leaving a set out takes from the line at each new Gscore, [M, S]
        shifts = left_out * (1 / sets + np.outer(gscores - self.gscores.mean(), centred) / spread)
        predictions = self.predict(gscores)[:, None] - shifts
        if redrawn is not None:
            there, truths = (float_array("redrawn", one, length=sets) for one in redrawn)
            own = 1 / sets + (there - self.gscores.mean()) * centred / spread
            left_out = truths - (self.predict(there) - left_out * own)
        low = np.sort(predictions - np.abs(left_out), axis=1)[:, sets - rank]
        high = np.sort(predictions + np.abs(left_out), axis=1)[:, rank - 1]
        return np.clip(low, 0, 1), np.clip(high, 0, 1)


def fit_regression(gscores, truths, taus) -> Regression:
    """Fit the line from Gscores to a metric by least squares, and choose the threshold.

    The threshold is sought in two steps, each by the squared residuals of the line: among the
    multiples of 0.1, and then among all that lie at most 0.1 from the best of those.  Of equals
    the smallest is taken.  Where no threshold is a multiple of 0.1, all are compared at once.

    Examples
    --------
    >>> line = fit_regression([[0, 1], [0, 2], [1, 3]], [0.5, 0.7, 0.9], [0.1, 0.2])
    >>> line.tau, round(line.slope, 3), round(line.intercept, 3)
    (0.2, 0.2, 0.3)
    """
    gscores = float_array("gscores", gscores, ndim=2)
    truths = float_array("truths", truths, length=len(gscores))
    taus = tau_array(taus)
    if gscores.shape[1] != len(taus):
        raise ValueError(
            f"gscores: {len(taus)} columns expected, one a tau, got {gscores.shape[1]}"
        )
    if len(gscores) < 3:
        raise ValueError(f"gscores: at least 3 sets expected for a line, got {len(gscores)}")
    if truths.min() < 0 or truths.max() > 1:
        raise ValueError(
            f"truths: values in [0, 1] expected, got {truths.min():g} to {truths.max():g}; shares, "
            "not percent"
        )
    flat = np.ptp(gscores, axis=0) <= 1e-12 * np.abs(gscores).max(axis=0)
    if flat.all():
        raise ValueError("gscores: the same for all sets at every threshold, so there is no line")
    centred = np.where(flat, 0, gscores - gscores.mean(axis=0))
    rest = truths - truths.mean()
    slopes = (rest @ centred) / np.where(flat, 1, (centred**2).sum(axis=0))
    residuals = rest[:, None] - slopes * centred
    losses = np.where(flat, np.inf, (residuals**2).sum(axis=0))
    coarse = np.isclose(taus / _COARSE, np.round(taus / _COARSE))
    if np.isfinite(losses[coarse]).any():
        centre = taus[coarse][_argmin(losses[coarse])]
        losses = np.where(np.abs(taus - centre) <= _COARSE + 1e-9, losses, np.inf)
    best = _argmin(losses)
    return Regression(
        slope=float(slopes[best]),
        intercept=float(truths.mean() - slopes[best] * gscores[:, best].mean()),
        tau=float(taus[best]),
        gscores=gscores[:, best],
        residuals=residuals[:, best],
    )


def fewest_sets(level: float) -> int:
    """Return how many meta-training sets an interval of a level needs: γ / (1 − γ), rounded up.

    Examples
    --------
    >>> fewest_sets(0.9), fewest_sets(0.95)
    (9, 19)
    """
    return int(np.ceil(np.round(level / (1 - open_share("level", level)), 9)))


def _argmin(losses: np.ndarray) -> int:
    """Return where losses are smallest, the first of those that differ by rounding alone."""
    return int(np.flatnonzero(losses <= losses.min() * (1 + 1e-9))[0])
