"""The line from Gscores to a metric, with intervals of its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from helpers.checks import float_array, open_share
from helpers.metrics.inputs import share_array
from helpers.metrics.ranking import rounded_up

_COARSE = 0.1


@dataclass(frozen=True)
class Regression:
    """A line from Gscores at the threshold `tau` to a metric, with its meta-training sets."""

    slope: float
    intercept: float
    tau: float
    gscores: np.ndarray
    residuals: np.ndarray

    def predict(self, gscores) -> np.ndarray:
        """Return the predicted metric of mixtures, which may leave [0, 1]."""
        return self.intercept + self.slope * float_array("gscores", gscores)

    def interval(
        self, gscores, level: float = 0.9, *, redrawn: tuple | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        r"""Return intervals for the metric of new mixtures, by the jackknife+.

        Each meta-training set i is left out in turn: the line without it misses its metric by
        :math:`r_i`, and predicts :math:`\hat p_{-i}` for the new mixture.  The ends are the
        :math:`\lceil \gamma (S + 1) \rceil`-th smallest :math:`\hat p_{-i} + r_i`, and the
        as-many-th largest :math:`\hat p_{-i} - r_i`, for the level γ.
        """
        sets = len(self.gscores)
        needed = fewest_sets(level)
        if sets < needed:
            raise ValueError(
                f"level: an interval of {level:g} needs at least {needed} meta-training sets, got "
                f"{sets}; lower the level or add sets"
            )
        rank = rounded_up(level * (sets + 1))
        gscores = float_array("gscores", gscores)
        centred = self.gscores - self.gscores.mean()
        spread = centred @ centred
        leverages = 1 / sets + centred**2 / spread
        if leverages.max() > 1 - 1e-9:
            raise ValueError(
                "gscores: only one meta-training set differs from the others in its Gscore, and "
                "without this set there is no line; add sets"
            )
        left_out = self.residuals / (1 - leverages)
        # decrease of the line at each new Gscore if a set is left out, [M, S]
        shifts = left_out * (1 / sets + np.outer(gscores - self.gscores.mean(), centred) / spread)
        predictions = self.predict(gscores)[:, None] - shifts
        if redrawn is not None:
            new_gscores, new_truths = redrawn
            again = float_array("redrawn", new_gscores, length=sets)
            truths = float_array("redrawn", new_truths, length=sets)
            shift = 1 / sets + (again - self.gscores.mean()) * centred / spread
            left_out = truths - (self.predict(again) - left_out * shift)
        return jackknife_ends(predictions, left_out, rank)


def fit_regression(gscores, truths, taus) -> Regression:
    """Fit the line from Gscores to a metric by least squares, and choose the threshold.

    The threshold has the smallest squared residuals: first among the multiples of 0.1, then among
    all within 0.1 of the best of those.  Without multiples of 0.1, all are compared at once.
    """
    gscores = float_array("gscores", gscores, ndim=2)
    truths = share_array("truths", truths, length=len(gscores))
    taus = share_array("taus", taus, length=gscores.shape[1])
    if len(gscores) < 3:
        raise ValueError(f"gscores: at least 3 sets expected for a line, got {len(gscores)}")
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
    """Return how many meta-training sets an interval of a level needs: γ / (1 − γ), rounded up."""
    return rounded_up(level / (1 - open_share("level", level)))


def jackknife_ends(predictions, misses, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends in [0, 1] of the jackknife+ interval.

    They are the `rank`-th largest :math:`\\hat p_{-i} - |r_i|` and the `rank`-th smallest
    :math:`\\hat p_{-i} + |r_i|` along the last axis.  Barber et al. 2021.
    """
    misses = np.abs(misses)
    low = -np.sort(misses - predictions, axis=-1)[..., rank - 1]
    high = np.sort(predictions + misses, axis=-1)[..., rank - 1]
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def _argmin(losses: np.ndarray) -> int:
    """Return the index of the smallest loss; the first one if losses differ only by rounding."""
    return int(np.flatnonzero(losses <= losses.min() * (1 + 1e-9))[0])


class Estimate(NamedTuple):
    """An estimate and the ends of its interval, all in the metric's range."""

    value: float
    low: float
    high: float
